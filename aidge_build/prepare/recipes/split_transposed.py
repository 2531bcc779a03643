# SPDX-License-Identifier: MIT
"""Turns a transposed convolution into a convolution that computes blocks of the output, and DepthToSpace."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Operator
from aidge_build.operators.blocks import DepthToSpace
from aidge_build.operators.conv import Conv, is_depthwise
from aidge_build.operators.conv_transpose import ConvTranspose
from aidge_build.operators.rearrange import Slice
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.operators.window import Window
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=False)
def split_transposed(view: GraphView) -> GraphView:
    """DequantizeLinear, ConvTranspose of one or two axes, QuantizeLinear become Conv, QuantizeLinear, DepthToSpace, Slice.

    Along an axis with stride s, output place q * s + p (p < s: its phase) reads the taps p + s * t of the inputs q - t. So each
    phase is a convolution without strides, with taps of its own, and the new convolution has the channels of all phases. A kernel
    that is no multiple of s gets taps of weight 0. The Slice cuts the pads off; it is left out if there is nothing to cut. If
    strides differ, or if there is one axis, Reshape, Transpose, Reshape replace DepthToSpace; strides of 1 need nothing. With
    groups the phases of a channel are neighbours, so that the channels of a group are neighbours, too. A float32 ConvTranspose is
    also split, without the QuantizeLinear, if weights of 0 do not double its work.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type not in ("ConvTranspose1D", "ConvTranspose2D") or not _is_plain(view, node):
            continue
        reader = view.only_consumer(node.output)
        if view.tensor(node.inputs[1]).quantization is None:
            if _is_float(view, node):
                _split(view, rewrite, node, None)
        elif reader is not None and _is_island(view, node, reader):
            _split(view, rewrite, node, reader)
    return rewrite.finish()


def _is_plain(view: GraphView, node: Node) -> bool:
    operator, (data, *parameters) = node.operator, view.input_tensors(node)
    constants = all(tensor is None or tensor.is_constant for tensor in parameters)
    return constants and set(operator.dilations) == {1} and min(_pads_end(operator, data)) >= 0


def _is_float(view: GraphView, node: Node) -> bool:
    operator = node.operator
    padded = math.prod(stride * taps for stride, taps in zip(operator.strides, _taps(operator)))
    is_float = all(tensor.dtype is DType.float32 for tensor in view.input_tensors(node) if tensor is not None)
    return is_float and padded < 2 * math.prod(operator.kernel)


def _is_island(view: GraphView, node: Node, reader: Node) -> bool:
    source, weights = view.producer(node.input), view.tensor(node.inputs[1])
    if reader.type != "QuantizeLinear" or view.tensor(reader.inputs[1]).elements != 1:
        return False
    return source is not None and source.type == "DequantizeLinear" and weights.quantization.axis in (None, 1)


def _taps(operator: ConvTranspose) -> tuple[int, ...]:
    """Returns the number of taps of the largest phase, along each axis."""
    return tuple(-(-size // stride) for size, stride in zip(operator.kernel, operator.strides))


def _blocks(operator: ConvTranspose) -> tuple[int, ...]:
    """Returns the number of blocks in the output and the pads before it, along each axis; the last may be partial."""
    return tuple(-(-(pad + size) // stride) for pad, size, stride in zip(operator.pads_begin, operator.spatial, operator.strides))


def _pads_end(operator: ConvTranspose, data: Tensor) -> tuple[int, ...]:
    return tuple(blocks - size for blocks, size in zip(_blocks(operator), data.dims[2:]))


def _split(view: GraphView, rewrite: Rewrite, node: Node, reader: Node | None) -> None:
    operator, (data, weights, *bias) = node.operator, view.input_tensors(node)
    (result,), ones = view.output_tensors(reader or node), (1,) * len(operator.kernel)
    taps = _taps(operator)
    window = Window(taps, ones, ones, tuple(count - 1 for count in taps), _pads_end(operator, data))
    phases, groups = math.prod(operator.strides), operator.groups
    inputs = [data.name, rewrite.add_tensor(_phases(weights, operator.strides, taps, groups))]
    inputs += ["" if tensor is None else rewrite.add_tensor(_repeated(tensor, phases, groups)) for tensor in bias]
    dims = (data.dims[0], weights.dims[1] * groups * phases, *_blocks(operator))
    sums = rewrite.add_tensor(Tensor(f"{node.output}_blocks", dims, view.tensor(node.output).dtype))
    convolution = Conv(
        minimum=operator.minimum,
        maximum=operator.maximum,
        window=window,
        groups=groups,
        depthwise=is_depthwise(groups, data.dims[1], dims[1]),
        single_product=operator.single_product,
    )
    steps = [Node(f"{node.name}_blocks", convolution, tuple(inputs), (sums,), node.origin)]
    if reader is not None:
        stored = rewrite.add_tensor(Tensor(f"{result.name}_blocks", dims, result.dtype, quantization=result.quantization))
        steps.append(reader.with_(inputs=(sums, *reader.inputs[1:]), outputs=(stored,)))
    moves = _moves(operator.strides, dims, groups == 1)
    if tuple(moves[-1][1] if moves else dims) != result.dims:
        moves.append((Slice((0, 0, *operator.pads_begin), result.dims, (1, 1, *ones)), result.dims))
    for number, (move, moved) in enumerate(moves):
        name = rewrite.add_tensor(Tensor(f"{result.name}_moved", moved, result.dtype, quantization=result.quantization))
        steps.append(Node(f"{node.name}_moves_{number}", move, steps[-1].outputs, (name,), node.origin))
    steps[-1] = steps[-1].with_(outputs=(result.name,))
    rewrite.replace_node(node, *steps)
    if reader is not None:
        rewrite.remove_node(reader)


def _moves(strides: tuple[int, ...], dims: tuple[int, ...], is_phase_first: bool) -> list[tuple[Operator, tuple[int, ...]]]:
    """Returns the operators that bring the phases, channels of a tensor with these dims, to their places, with their dims."""
    batch, channels, *blocks = dims
    outer, rank = channels // math.prod(strides), len(strides)
    whole = (batch, outer, *(stride * count for stride, count in zip(strides, blocks)))
    if set(strides) == {1}:
        return []
    if rank == 2 and strides[0] == strides[1]:
        return [(DepthToSpace(strides[0], is_phase_first), whole)]
    channel, phase = (1 + rank, 1) if is_phase_first else (1, 2)
    apart = (batch, *((*strides, outer) if is_phase_first else (outer, *strides)), *blocks)
    order = (0, channel, *(axis for pair in range(rank) for axis in (2 + rank + pair, phase + pair)))
    return [
        (Reshape(apart), apart),
        (Transpose(order), tuple(apart[axis] for axis in order)),
        (Reshape(whole), whole),
    ]


def _phases(weights: Tensor, strides: tuple[int, ...], taps: tuple[int, ...], groups: int) -> Tensor:
    """Returns weights [C, M / groups, kernel...] as [phases * M, C / groups, taps...], with groups as [M * phases, ...]: the last
    tap of a window is the first of its phase."""
    (channels, outer, *kernel), rank = weights.dims, len(taps)
    quantization = weights.quantization
    zero_points = quantization.along(quantization.zero_points, weights.rank, weights.data.dtype) if quantization else 0
    padded = numpy.full((channels, outer, *map(math.prod, zip(strides, taps))), zero_points, weights.data.dtype)
    padded[(slice(None), slice(None), *map(slice, kernel))] = weights.data
    parts = padded.reshape(groups, channels // groups, outer, *(size for pair in zip(taps, strides) for size in pair))
    tap_axes, phase_axes = range(3, 3 + 2 * rank, 2), range(4, 3 + 2 * rank, 2)
    channel_axes = (*phase_axes, 0, 2) if groups == 1 else (0, 2, *phase_axes)
    values = numpy.flip(parts, tuple(tap_axes)).transpose(*channel_axes, 1, *tap_axes)
    values = numpy.ascontiguousarray(values).reshape(-1, channels // groups, *taps)
    if quantization is not None and quantization.axis is not None:
        quantization = _of_phases(quantization, math.prod(strides), groups)
        quantization = Quantization(quantization.scales * groups, quantization.zero_points * groups, 0)
    return replace(weights, name=f"{weights.name}_phases", dims=values.shape, data=values, quantization=quantization)


def _repeated(bias: Tensor, phases: int, groups: int) -> Tensor:
    quantization = bias.quantization
    if quantization is not None and quantization.axis is not None:
        quantization = _of_phases(quantization, phases, groups)
    values = numpy.tile(bias.data, phases) if groups == 1 else numpy.repeat(bias.data, phases)
    return replace(bias, name=f"{bias.name}_phases", dims=values.shape, data=values, quantization=quantization)


def _of_phases(quantization: Quantization, phases: int, groups: int) -> Quantization:
    """Returns scales and zero points for each phase of each channel: phase after phase, or with groups channel after channel."""
    if groups == 1:
        return Quantization(quantization.scales * phases, quantization.zero_points * phases, 0)
    scales = tuple(scale for scale in quantization.scales for _ in range(phases))
    return Quantization(scales, tuple(zero_point for zero_point in quantization.zero_points for _ in range(phases)), 0)
