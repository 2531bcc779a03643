# SPDX-License-Identifier: MIT
"""Fuses dynamic quantization: ConvInteger or MatMulInteger, Cast, Mul and Add become one layer with a float result."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.pattern import find
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.ranges import fits_int32
from aidge_build.operators.dynamic import DynamicConv, DynamicFC
from aidge_build.operators.integer import ConvInteger
from aidge_build.prepare.recipes.recipe import recipe

_LARGEST = 255  # |byte - zero point|


@recipe(exact=True)
def fuse_dynamic(view: GraphView) -> GraphView:
    """1. The weights and their zero points are constant, the data's zero point and scale one number each, computed at run time.
    2. The product of both scales multiplies the Cast of the sums. 3. An Add of a constant for each channel is the bias.
    """
    rewrite = Rewrite(view)
    for found in find(view, "(ConvInteger|MatMulInteger)->Cast->Mul"):
        sums, cast, scaled = found.nodes
        weights = _weights(view, sums)
        scale, factors = _scales(view, cast, scaled, weights)
        if weights is None or not scale or not _has_run_time_zero_point(view, sums):
            continue
        last, bias = scaled, None
        add = view.only_consumer(scaled.output)
        if add is not None and add.type == "Add" and not add.operator.clamps:
            bias = _per_channel(view, add, scaled.output, sums, len(weights))
        if bias is not None:
            last = add
        names = [
            rewrite.add_tensor(constant(f"{sums.inputs[1]}_centred", weights)),
            sums.inputs[2],
            scale,
            rewrite.add_tensor(constant(f"{scaled.name}_factors", factors)),
        ]
        if bias is not None:
            names.append(rewrite.add_tensor(constant(f"{add.name}_bias", bias)))
        is_conv = isinstance(sums.operator, ConvInteger)
        operator = DynamicConv(window=sums.operator.window, groups=sums.operator.groups) if is_conv else DynamicFC()
        nodes = (sums, cast, scaled, *((add,) if bias is not None else ()))
        for node in nodes[:-1]:
            rewrite.remove_node(node)
        origin = tuple(part for node in nodes for part in node.origin)
        rewrite.replace_node(last, Node(sums.name, operator, (sums.input, *names), last.outputs, origin))
    return rewrite.finish()


def _weights(view: GraphView, node: Node) -> numpy.ndarray | None:
    """Returns the weights less their zero points, [outputs, ...], int8 or int16; None if computed, or if sums exceed int32."""
    given = [*view.input_tensors(node), None, None][:4]
    weights, points = given[1], given[3]
    if weights is None or not weights.is_constant or (points is not None and not points.is_constant):
        return None
    is_conv = isinstance(node.operator, ConvInteger)
    if not is_conv and weights.rank != 2:
        return None
    values = weights.data.astype(numpy.int16) if is_conv else weights.data.astype(numpy.int16).T
    if points is not None:
        values = values - points.data.astype(numpy.int16).reshape(-1, *(1,) * (values.ndim - 1))
    if not fits_int32(values, _LARGEST):
        return None
    return numpy.ascontiguousarray(values.astype(numpy.int8 if DType.int8.holds(values) else numpy.int16))


def _has_run_time_zero_point(view: GraphView, node: Node) -> bool:
    zero_point = view.tensor(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
    return zero_point is not None and zero_point.elements == 1 and not zero_point.is_constant


def _scales(view: GraphView, cast: Node, scaled: Node, weights: numpy.ndarray | None) -> tuple[str, numpy.ndarray]:
    """Returns the name of the data's scale and the weights' scale of each output; ("", []) if the Mul does anything else."""
    nothing = "", numpy.zeros(0, numpy.float32)
    product = _product_of_scales(view, cast, scaled)
    if weights is None or product is None:
        return nothing
    constants = [view.tensor(name) for name in product.inputs if view.tensor(name).is_constant]
    computed = [view.tensor(name) for name in product.inputs if not view.tensor(name).is_constant]
    if len(constants) != 1 or len(computed) != 1 or computed[0].elements != 1 or computed[0].dtype is not DType.float32:
        return nothing
    factors = _by_channel(constants[0], view.tensor(scaled.output).rank, _axis(view, scaled, weights), len(weights))
    return (computed[0].name, factors) if factors is not None else nothing


def _product_of_scales(view: GraphView, cast: Node, scaled: Node) -> Node | None:
    """Returns the Mul that `scaled` multiplies the float32 sums by; None if it is another node, or if one of both clamps."""
    others = [name for name in scaled.inputs if name != cast.output]
    product = view.producer(others[0]) if len(others) == 1 else None
    if product is None or product.type != "Mul" or product.operator.clamps or scaled.operator.clamps:
        return None
    return product if cast.operator.to is DType.float32 else None


def _axis(view: GraphView, node: Node, weights: numpy.ndarray) -> int:
    """Returns the axis of the channels in the output of the node."""
    return 1 if weights.ndim > 2 else view.tensor(node.output).rank - 1


def _per_channel(view: GraphView, add: Node, sums: str, node: Node, count: int) -> numpy.ndarray | None:
    other = add.inputs[1] if add.input == sums else add.input
    tensor, result = view.tensor(other), view.tensor(add.output)
    if other == sums or not tensor.is_constant or tensor.quantization is not None or result.dims != view.tensor(sums).dims:
        return None
    return _by_channel(tensor, result.rank, 1 if isinstance(node.operator, ConvInteger) else result.rank - 1, count)


def _by_channel(tensor: Tensor, rank: int, axis: int, count: int) -> numpy.ndarray | None:
    """Returns the constant as one number for each channel, if it broadcasts so."""
    dims = (1,) * (rank - tensor.rank) + tensor.dims
    if tensor.dtype is not DType.float32 or tensor.rank > rank or tensor.elements not in (1, count):
        return None
    if tensor.elements == count and dims[axis] != count:
        return None
    return numpy.ascontiguousarray(numpy.broadcast_to(tensor.data.reshape(-1), (count,)))
