# SPDX-License-Identifier: MIT
"""Storage orders that specs of the inherited style leave open, though the kernel takes one.

`any` in such a spec means: whatever order the export has. A kernel of the template style cannot look at each tensor's own order:
its text reads channels, rows and columns in the one that its author had in mind. So an order that is left open becomes

* for element-wise operators any order, the same for all tensors;
* for windows and other operators with channels the library's order (`order_of`), for constants, too;
* for every other operator, which counts axes, row-major.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy

from aidge_build.contract.node import KernelNode
from aidge_build.contract.node_view import NodeView
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ROW_MAJOR, SAME, DFormat, ImplSpec
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import Node, graph_view
from aidge_build.operators import operator_classes
from aidge_build.operators.constant import Constant

CHANNELS_BEHIND = (DFormat.nwc, DFormat.nhwc, DFormat.ndhwc, CHANNELS_LAST)
_KINDS = ("ElementWise", "ElementWiseBinary")
_SHAPE_KEPT = ("Cast", "Clip", "Identity")  # operators of no kind that map each element to one
_WITH_CHANNELS = re.compile(
    r"\b(?:(?:Conv|ConvDepthWise|ConvTranspose|MaxPooling|AvgPooling)[123]D|Global(?:Average|Max)Pooling|"
    r"(?:Batch|Instance)Normalization|Resize)\b"
)


def opened(spec: ImplSpec, operator_type: str, order: DFormat) -> ImplSpec:
    """Returns the spec of a kernel of the template style with the orders that it leaves open: `order` is the library's order;
    for a meta-operator the type is its pattern."""
    if _WITH_CHANNELS.search(operator_type):
        wanted = order
    else:
        wanted = SAME if operator_type in _element_wise() else ROW_MAJOR
    inputs, outputs = (
        tuple(replace(side, format=wanted) if side.format is ANY else side for side in sides)
        for sides in (spec.inputs, spec.outputs)
    )
    return replace(spec, inputs=inputs, outputs=outputs)


def parameter_order(spec: ImplSpec, operator_type: str, order: DFormat) -> DFormat:
    """The order in which the kernel reads its constants."""
    said = spec.input_spec(1).format
    if said is not ANY:
        return CHANNELS_LAST if said in CHANNELS_BEHIND else ROW_MAJOR
    return order if _WITH_CHANNELS.search(operator_type) else ROW_MAJOR


def order_of(specs: Iterable[ImplSpec], constants: type[KernelNode] | None) -> DFormat:
    """Returns the order of images in a library that does not say it: channels last if a spec names such an order, or if its class
    for constants (`constants`, registered for Producer) stores constants of four axes so; else row-major, as constants are
    stored."""
    named = any(side.format in CHANNELS_BEHIND for spec in specs for side in (*spec.inputs, *spec.outputs))
    return CHANNELS_LAST if named or constants is not None and _stores_channels_last(constants) else ROW_MAJOR


@cache
def _element_wise() -> frozenset[str]:
    """The types of the operators that map each element, or pair of elements, to one."""
    known = {cls.__name__ for cls in operator_classes() if set(_KINDS) & set(cls.kinds())}
    return frozenset(known | set(_KINDS) | set(_SHAPE_KEPT))


def _stores_channels_last(constants: type[KernelNode]) -> bool:
    """Whether the class stores axis 1, the channels, of a constant of four axes as the last axis."""
    values = constant("probe_output_0", numpy.zeros((2, 3, 4, 5), numpy.float32))
    node = Node("probe", Constant(values.data), (), (values.name,))
    graph = graph_view("probe", [node], {values.name: values}, (), (values.name,))
    try:
        made = constants(NodeView.of(graph, node), None)
        return getattr(made, "values", numpy.zeros(())).shape == (2, 4, 5, 3)
    except Exception:  # a class of strangers that asks for more than there is: it says nothing of an order
        return False


def in_one_order(view: NodeView) -> NodeView:
    """The node with the first storage order that each tensor may get, as constructors see it."""

    def ordered(tensor: Tensor) -> Tensor:
        return tensor if tensor.is_constant else tensor.with_(format=tensor.orders[0])

    inputs = tuple(None if tensor is None else ordered(tensor) for tensor in view.inputs)
    return replace(view, inputs=inputs, outputs=tuple(map(ordered, view.outputs)))
