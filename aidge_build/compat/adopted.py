# SPDX-License-Identifier: MIT
"""A library that was written for a system before this one, with what its files do not say: formats, language, memory."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy

from aidge_build.compat.export_lib import ExportLib, Registration
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.compat.inherited import AS_INHERITED, HAS_PADS, NO_PADS
from aidge_build.contract.call import Call
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, DFormat, ImplSpec, IOSpec, NodeView
from aidge_build.errors import AidgeError
from aidge_build.graph.tensor import constant
from aidge_build.operators.conv import Convolution

_BIAS = 2  # the input of a convolution or fully connected layer that may be missing


def adopted(
    library: type[ExportLib],
    *,
    data_format: DFormat = ANY,
    language: str = "c++",
    memory_name: str = "",
    without: Collection[str] = (),
) -> type[ExportLib]:
    """The library as one of this system: an ExportLib with the same name, static files and kernels.

    Where a spec leaves the format open it becomes `data_format`, also for constants; `memory_name` is what its forward texts call
    the memory that they take their output from; `without` are types of operators whose kernels are left out. A kernel gets only
    nodes that say no more than the operator of the same name where the library comes from (no groups, no broadcasting, no scales;
    pads only under the name Padded...); zeros where a convolution or FC has no bias; the clamp that a recipe put into an operator
    is computed behind its text.
    """
    unknown = sorted(set(without) - {entry.type for entry in library.registry})
    if unknown:
        raise AidgeError(f"{library.__name__} has no kernel for {unknown[0]}", where="without", code="LIBRARY")
    made = type(
        library.__name__,
        (ExportLib,),
        {
            "__doc__": library.__doc__,
            "__module__": library.__module__,
            "_name": library._name,
            "language": language,
            "static_files": dict(library.static_files),
        },
    )
    made.generic_operators = dict(library.generic_operators)
    for entry in library.registry:
        if entry.type not in without:
            node_class = _adopted_class(entry.node_class, data_format, memory_name)
            made._add(Registration(entry.type, _adopted_spec(entry, data_format), node_class, entry.pattern))
    return made


def _adopted_spec(entry: Registration, data_format: DFormat) -> ImplSpec:
    spec = entry.spec
    pads = () if entry.pattern or HAS_PADS in spec.predicates else (NO_PADS,)
    return replace(
        spec,
        inputs=tuple(_in_format(side, data_format) for side in spec.inputs),
        outputs=tuple(_in_format(side, data_format) for side in spec.outputs),
        predicates=(*spec.predicates, *pads, AS_INHERITED),
    )


def _in_format(side: IOSpec, data_format: DFormat) -> IOSpec:
    return replace(side, format=data_format) if side.format is ANY else side


def _adopted_class(node_class: type[KernelNode], data_format: DFormat, memory_name: str) -> type[KernelNode]:
    if not issubclass(node_class, ExportNodeCpp):
        return node_class

    class Adopted(_Adopted, node_class):
        def __init__(self, node: NodeView, mem_info=None):
            super().__init__(_with_bias(node), mem_info)

    Adopted.__name__ = Adopted.__qualname__ = node_class.__name__
    Adopted.__module__, Adopted.__doc__ = node_class.__module__, node_class.__doc__
    Adopted.parameter_format, Adopted.memory_name = data_format, memory_name
    return Adopted


class _Adopted:
    """Puts the clamp of the operator behind the forward text."""

    def forward(self) -> str:
        text = super().forward()
        bounds = [
            (sign, limit)
            for sign, limit in (
                ("<", getattr(self.view.operator, "minimum", -math.inf)),
                (">", getattr(self.view.operator, "maximum", math.inf)),
            )
            if math.isfinite(limit)
        ]
        if not bounds:
            return text
        output = self.outputs[0]
        name, kind = self.attributes["out_name"][0], self._c_type(output)
        lines = [f"    if ({name}[i] {sign} ({kind}){limit!r}) {name}[i] = ({kind}){limit!r};" for sign, limit in bounds]
        return "\n".join([text.rstrip("\n"), f"for (int i = 0; i < {output.elements}; i++) {{", *lines, "}", ""])

    def call(self) -> Call:
        call = super().call()
        return replace(call, note="; ".join(filter(None, (call.note, "adopted"))))


def _with_bias(view: NodeView) -> NodeView:
    """A convolution or FC without bias gets one of zeros: the inherited operators always have that input."""
    has_none = len(view.inputs) <= _BIAS or view.inputs[_BIAS] is None
    if not (isinstance(view.operator, Convolution) or view.node.type == "FC") or not has_none:
        return view
    channels = view.outputs[0].dims[1] if isinstance(view.operator, Convolution) else view.outputs[0].dims[-1]
    zeros = constant(f"{view.node.name}_no_bias", numpy.zeros(channels, view.outputs[0].dtype.numpy))
    node = view.node.with_(inputs=(*view.node.inputs[:_BIAS], zeros.name))
    return replace(view, node=node, inputs=(*view.inputs[:_BIAS], zeros))
