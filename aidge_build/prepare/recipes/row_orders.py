# SPDX-License-Identifier: MIT
"""How the order of a cache's rows reaches other tensors: which axis has it, and where a sum over all rows ends it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy

from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.axes import counted_axes, counted_axis
from aidge_build.operators.binary import Variadic, Where
from aidge_build.operators.cast import Cast
from aidge_build.operators.kinds import Broadcast, ElementWise, ForAxis, ReduceAxis
from aidge_build.operators.matmul import MatMul
from aidge_build.operators.rearrange import Slice
from aidge_build.operators.view import Transpose


class Mixed(Exception):
    """A node for which the result depends on the order of the rows in another way."""


def without_order(view: GraphView, sources: Mapping[str, int]) -> bool:
    """Whether no output depends on the order of the rows of the tensors `sources`, which have it along these axes; in all of them
    the rows change places together."""
    axes = dict(sources)
    try:
        for node in view.nodes:
            if any(name in axes for name in node.inputs) and not any(name in sources for name in node.outputs):
                axes |= dict.fromkeys(node.outputs, axis) if (axis := _axis_after(view, node, axes)) is not None else {}
    except Mixed:
        return False
    written = {state.written for state in view.states}
    return not any(name in axes and name not in (sources.keys() & written) for name in view.outputs)


def _axis_after(view: GraphView, node: Node, axes: Mapping[str, int]) -> int | None:
    """Returns the axis of the outputs that has the order; None if they do not depend on it."""
    operator, inputs = node.operator, view.input_tensors(node)
    if len(node.outputs) != 1 or any(tensor is None or tensor.quantization is not None for tensor in inputs):
        raise Mixed
    (result,), (first, *others) = view.output_tensors(node), inputs
    if isinstance(operator, ElementWise | Broadcast | Variadic | Where | Cast) or node.type == "Expand":
        return _of_elements(inputs if node.type != "Expand" else inputs[:1], result, axes)
    if isinstance(operator, MatMul):
        return _of_product(first, others[0], result, axes)
    if any(tensor.name in axes for tensor in others) or first.name not in axes:
        raise Mixed
    return _of_one(node, first, axes[first.name], others, result)


def _of_one(node: Node, first: Tensor, axis: int, others: Sequence[Tensor], result: Tensor) -> int | None:
    """The first input alone has the order."""
    operator = node.operator
    if isinstance(operator, Transpose):
        return operator.permutation.index(axis)
    if operator.views:
        return _after_view(first, axis, result)
    if isinstance(operator, ForAxis) and not operator.until_end:
        return axis
    if isinstance(operator, ReduceAxis):
        return _after_reduction(operator, first, axis)
    if isinstance(operator, Slice) and first.dims[axis] == result.dims[axis] and operator.steps[axis] == 1:
        return axis
    if node.type == "Gather" and others[0].is_constant and counted_axis(operator.axis, first.rank) == axis:
        return _after_gather(first, axis, others[0])
    raise Mixed


def _of_elements(inputs: Sequence[Tensor], result: Tensor, axes: Mapping[str, int]) -> int:
    """Elements at equal places: all that have the order have it along one axis, and the others are alike along it."""
    from_end = {tensor.rank - axes[tensor.name] for tensor in inputs if tensor.name in axes}
    if len(from_end) != 1:
        raise Mixed
    (place,) = from_end
    for tensor in inputs:
        if tensor.name in axes or place > tensor.rank or tensor.dims[-place] == 1:
            continue
        values = numpy.moveaxis(tensor.data, -place, 0) if tensor.data is not None else None
        if values is None or not (values == values[:1]).all():
            raise Mixed
    return result.rank - place


def _of_product(first: Tensor, second: Tensor, result: Tensor, axes: Mapping[str, int]) -> int | None:
    """Columns of the second operand, rows of the first one, or the sum over both."""
    if min(first.rank, second.rank) < 2:
        raise Mixed
    places = tuple(axes[tensor.name] - tensor.rank if tensor.name in axes else None for tensor in (first, second))
    if places == (None, -1):
        return result.rank - 1
    if places == (-2, None):
        return result.rank - 2
    if places == (-1, -2):
        return None
    raise Mixed


def _after_view(tensor: Tensor, axis: int, result: Tensor) -> int:
    before = math.prod(tensor.dims[:axis])
    for place, size in enumerate(result.dims):
        if size == tensor.dims[axis] and math.prod(result.dims[:place]) == before:
            return place
    raise Mixed


def _after_reduction(operator: ReduceAxis, tensor: Tensor, axis: int) -> int | None:
    reduced = counted_axes(operator.axes, tensor.rank)
    if axis in reduced:
        return None
    return axis if operator.keep else axis - sum(one < axis for one in reduced)


def _after_gather(tensor: Tensor, axis: int, indices: Tensor) -> int:
    """A Gather of all rows in their order."""
    rows = tensor.dims[axis]
    if rows not in indices.dims or not numpy.array_equal(indices.data.reshape(-1), numpy.arange(rows)):
        raise Mixed
    return axis + indices.dims.index(rows)
