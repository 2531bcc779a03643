# SPDX-License-Identifier: MIT
"""A library that was written for a system before this one, with what its files do not say: formats, language, memory."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import cast

import numpy

from aidge_build.compat.export_lib import ExportLib, Registration
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.compat.inherited import AS_INHERITED, HAS_PADS, NO_PADS
from aidge_build.contract.mem_info import MemInfo
from aidge_build.contract.node import KernelClass
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
    said = {"__doc__": library.__doc__, "__module__": library.__module__, "_name": library._name, "language": language}
    made = cast(type[ExportLib], type(library.__name__, (ExportLib,), {**said, "static_files": dict(library.static_files)}))
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


def _adopted_class(node_class: KernelClass, data_format: DFormat, memory_name: str) -> KernelClass:
    if not issubclass(node_class, ExportNodeCpp):
        return node_class
    said = {"__module__": node_class.__module__, "__doc__": node_class.__doc__}
    return type(
        node_class.__name__, (_Adopted, node_class), {**said, "parameter_format": data_format, "memory_name": memory_name}
    )


class _Adopted(ExportNodeCpp):
    """Stands before the library's own class: gives it a bias, and puts the clamp of the operator behind its forward text."""

    def __init__(self, aidge_node: NodeView, mem_info: Sequence[MemInfo] | None = None):
        super().__init__(_with_bias(aidge_node), mem_info)

    def forward(self) -> str:
        text = super().forward()
        lowest, highest = getattr(self.operator, "minimum", -math.inf), getattr(self.operator, "maximum", math.inf)
        bounds = [(sign, limit) for sign, limit in (("<", lowest), (">", highest)) if math.isfinite(limit)]
        if not bounds:
            return text
        output = self.outputs[0]
        name, kind = self.attributes["out_name"][0], self._c_type(output)
        lines = [f"    if ({name}[i] {sign} ({kind}){limit!r}) {name}[i] = ({kind}){limit!r};" for sign, limit in bounds]
        return "\n".join([text.rstrip("\n"), f"for (int i = 0; i < {output.elements}; i++) {{", *lines, "}", ""])


def _with_bias(view: NodeView) -> NodeView:
    """A convolution or FC without bias gets one of zeros: the inherited operators always have that input."""
    has_none = len(view.inputs) <= _BIAS or view.inputs[_BIAS] is None
    if not (isinstance(view.operator, Convolution) or view.node.type == "FC") or not has_none:
        return view
    channels = view.outputs[0].dims[1] if isinstance(view.operator, Convolution) else view.outputs[0].dims[-1]
    zeros = constant(f"{view.node.name}_no_bias", numpy.zeros(channels, view.outputs[0].dtype.numpy))
    node = view.node.with_(inputs=(*view.node.inputs[:_BIAS], zeros.name))
    return replace(view, node=node, inputs=(*view.inputs[:_BIAS], zeros))
