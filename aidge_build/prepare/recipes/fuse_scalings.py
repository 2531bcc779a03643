# SPDX-License-Identifier: MIT
"""Folds a factor or summand of each channel after a convolution or FC with constant weights into the weights and the bias."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.binary import Add, Div, Mul, Sub
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.prepare.recipes.recipe import recipe
from aidge_build.prepare.recipes.scaled_layer import real_values, scaled_layer

CHANNELS = 1  # their axis
Scaling = tuple[numpy.ndarray, numpy.ndarray]  # y = x * factors + summands, one each for every channel


@recipe(exact=False)
def fuse_scalings(view: GraphView) -> GraphView:
    """Mul, Div, Add and Sub by a constant that differs along channels at most, as some exporters write batch normalization: w' =
    w * f, b' = b * f + s in float64, rounded once. A chain is folded from its first node on. A quantized result stays, because
    its rounding between the layer and the node is part of the model.
    """
    changed = True
    while changed:
        rewrite = Rewrite(view)
        for node in view.nodes:
            behind = _layer_before(view, node)
            if behind is None:
                continue
            scaling = channel_scaling(view, node, view.output_tensors(behind)[0])
            made = scaled_layer(view, behind, *scaling) if scaling is not None else None
            if made is not None:
                _fold(view, rewrite, behind, node, made)
        changed, view = rewrite.changed, rewrite.finish()
    return view


def _layer_before(view: GraphView, node: Node) -> Node | None:
    """Returns the convolution or FC with a result that only this node reads, once."""
    if not isinstance(node.operator, Mul | Div | Add | Sub):
        return None
    for name in node.inputs:
        found = view.producer(name)
        if found is None or not isinstance(found.operator, Conv | FC) or found.operator.clamps:
            continue
        if view.tensor(name).quantization is not None:
            continue
        if view.only_consumer(name) is node and node.inputs.count(name) == 1:
            return found
    return None


def channel_scaling(view: GraphView, node: Node, result: Tensor, axis: int = CHANNELS) -> Scaling | None:
    """Returns the factors and summands that the node applies along an axis of its operand `result`; None if it does more."""
    first = node.input == result.name
    other = along_channels(view.tensor(node.other_input(result.name)), result, axis)
    if other is None or view.tensor(node.output).dims != result.dims:
        return None
    ones, zeros = numpy.ones_like(other), numpy.zeros_like(other)
    if isinstance(node.operator, Mul):
        return other, zeros
    if isinstance(node.operator, Add):
        return ones, other
    if isinstance(node.operator, Sub):
        return (ones, -other) if first else (-ones, other)
    return (ones / other, zeros) if first and other.all() else None


def along_channels(tensor: Tensor, result: Tensor, channels: int) -> numpy.ndarray | None:
    """Returns a constant as one real number for each place of the axis `channels`; None if it differs along another axis."""
    if tensor.data is None or tensor.rank > result.rank or not tensor.dtype.is_float and tensor.quantization is None:
        return None
    dims = (1,) * (result.rank - tensor.rank) + tensor.dims
    if any(size != 1 for axis, size in enumerate(dims) if axis != channels):
        return None
    return numpy.broadcast_to(real_values(tensor).reshape(-1), (result.dims[channels],))


def _fold(view: GraphView, rewrite: Rewrite, behind: Node, node: Node, made: tuple[Tensor, Tensor]) -> None:
    weights, bias = made
    names = (
        weights.name if weights is view.tensor(behind.inputs[1]) else rewrite.add_tensor(weights),
        rewrite.add_tensor(bias.with_(name=f"{node.output}_bias")),
    )
    operator = replace(behind.operator, minimum=node.operator.minimum, maximum=node.operator.maximum)
    folded = behind.with_(operator=operator, inputs=(behind.input, *names), outputs=node.outputs)
    rewrite.replace_node(behind, folded.with_(origin=(*behind.origin, *node.origin)))
    rewrite.remove_node(node)
