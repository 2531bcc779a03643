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
from aidge_build.prepare.recipes.fuse_scalings import CHANNELS, along_channels
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
        if weights is None or not _has_run_time_zero_point(view, sums):
            continue
        scale, factors = _scales(view, cast, scaled, weights)
        if not scale:
            continue
        last, bias = scaled, None
        add = view.only_consumer(scaled.output)
        if add is not None and add.type == "Add" and not add.operator.clamps:
            bias = _per_channel(view, add, scaled.output, sums)
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
    _, weights, _, points, *_ = *view.input_tensors(node), None, None
    if any(tensor is not None and not tensor.is_constant for tensor in (weights, points)):
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
    _, _, zero_point, *_ = *view.input_tensors(node), None
    return zero_point is not None and zero_point.elements == 1 and not zero_point.is_constant


def _scales(view: GraphView, cast: Node, scaled: Node, weights: numpy.ndarray) -> tuple[str, numpy.ndarray]:
    """Returns the name of the data's scale and the weights' scale of each output; ("", []) if the Mul does anything else."""
    nothing = "", numpy.zeros(0, numpy.float32)
    product = _product_of_scales(view, cast, scaled)
    if product is None:
        return nothing
    scale, factors = sorted(map(view.tensor, product.inputs), key=lambda tensor: tensor.is_constant)
    if scale.is_constant or scale.elements != 1 or scale.dtype is not DType.float32:
        return nothing
    found = _by_channel(factors, view.tensor(scaled.output), is_conv=weights.ndim > 2)
    return (scale.name, found) if found is not None else nothing


def _product_of_scales(view: GraphView, cast: Node, scaled: Node) -> Node | None:
    """Returns the Mul that `scaled` multiplies the float32 sums by; None if it is another node, or if one of both clamps."""
    others = [name for name in scaled.inputs if name != cast.output]
    product = view.producer(others[0]) if len(others) == 1 else None
    if product is None or product.type != "Mul" or product.operator.clamps or scaled.operator.clamps:
        return None
    return product if cast.operator.to is DType.float32 else None


def _per_channel(view: GraphView, add: Node, sums: str, node: Node) -> numpy.ndarray | None:
    other = add.other_input(sums)
    tensor, result = view.tensor(other), view.tensor(add.output)
    if other == sums or tensor.quantization is not None or result.dims != view.tensor(sums).dims:
        return None
    return _by_channel(tensor, result, isinstance(node.operator, ConvInteger))


def _by_channel(tensor: Tensor, result: Tensor, is_conv: bool) -> numpy.ndarray | None:
    """Returns the constant as one float32 number for each channel of the result, if it broadcasts so."""
    found = along_channels(tensor, result, CHANNELS if is_conv else result.rank - 1)
    return None if found is None or tensor.dtype is not DType.float32 else found.astype(numpy.float32)
