# SPDX-License-Identifier: MIT
"""A quantized transposed convolution becomes a convolution that computes blocks of the output, and DepthToSpace."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.blocks import DepthToSpace
from aidge_build.operators.conv import Conv
from aidge_build.operators.conv_transpose import ConvTranspose
from aidge_build.operators.rearrange import Slice
from aidge_build.operators.window import Window
from aidge_build.recipes.recipe import recipe


@recipe(exact=False)
def split_transposed(view: GraphView) -> GraphView:
    """DequantizeLinear, ConvTranspose (two axes, one stride s), QuantizeLinear: Conv, QuantizeLinear, DepthToSpace, Slice.

    Output place q * s + p (p < s: its phase) takes the taps p + s * t of the inputs q - t. So each phase is a convolution without
    strides, of the taps of its own, and s * s phases are so many times the channels of one. Kernels that are no multiple of s get
    taps of weight 0. The Slice, which cuts the pads off, is left out where it takes everything, DepthToSpace for s = 1.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        reader = view.only_consumer(node.outputs[0]) if node.type == "ConvTranspose2D" else None
        if reader is not None and _applies(view, node, reader):
            _split(view, rewrite, node, reader)
    return rewrite.finish()


def _applies(view: GraphView, node: Node, reader: Node) -> bool:
    operator, (data, weights, *bias) = node.operator, view.input_tensors(node)
    source = view.producer(data.name)
    if reader.type != "QuantizeLinear" or view.tensor(reader.inputs[1]).elements != 1:
        return False
    if source is None or source.type != "DequantizeLinear" or not weights.is_constant or weights.quantization is None:
        return False
    is_plain = operator.groups == 1 and set(operator.dilations) == {1} and len(set(operator.strides)) == 1
    constants = all(tensor is None or tensor.is_constant for tensor in bias)
    return is_plain and constants and weights.quantization.axis in (None, 1) and min(_pads_end(operator, data)) >= 0


def _blocks(operator: ConvTranspose) -> tuple[int, ...]:
    """Of the output and the pads before it, along each axis; the last one may reach over the end."""
    return tuple(-(-(pad + size) // stride) for pad, size, stride in zip(operator.pads_begin, operator.spatial, operator.strides))


def _pads_end(operator: ConvTranspose, data: Tensor) -> tuple[int, ...]:
    return tuple(blocks - size for blocks, size in zip(_blocks(operator), data.dims[2:]))


def _split(view: GraphView, rewrite: Rewrite, node: Node, reader: Node) -> None:
    operator, (data, weights, *bias) = node.operator, view.input_tensors(node)
    (result,), stride = view.output_tensors(reader), operator.strides[0]
    taps = tuple(-(-size // stride) for size in operator.kernel)
    window = Window(taps, (1, 1), (1, 1), tuple(count - 1 for count in taps), _pads_end(operator, data))
    convolution = Conv(minimum=operator.minimum, maximum=operator.maximum, window=window)
    inputs = [data.name, rewrite.add_tensor(_phases(weights, stride, taps))]
    inputs += ["" if tensor is None else rewrite.add_tensor(_repeated(tensor, stride * stride)) for tensor in bias]
    channels, batch, blocks = weights.dims[1], data.dims[0], _blocks(operator)
    dims = (batch, channels * stride * stride, *blocks)
    sums = rewrite.add_tensor(Tensor(f"{node.outputs[0]}_blocks", dims, view.tensor(node.outputs[0]).dtype))
    stored = rewrite.add_tensor(Tensor(f"{result.name}_blocks", dims, result.dtype))
    whole = (batch, channels, *(stride * count for count in blocks))
    steps = [
        Node(f"{node.name}_blocks", convolution, tuple(inputs), (sums,), node.origin),
        reader.with_(inputs=(sums, *reader.inputs[1:]), outputs=(stored,)),
    ]
    if stride > 1:
        joined = rewrite.add_tensor(Tensor(f"{result.name}_whole", whole, result.dtype))
        steps.append(Node(f"{node.name}_places", DepthToSpace(stride, True), (stored,), (joined,), node.origin))
    if whole != result.dims:
        cut = Slice((0, 0, *operator.pads_begin), result.dims, (1,) * 4)
        steps.append(Node(f"{node.name}_cut", cut, steps[-1].outputs, (result.name,), node.origin))
    steps[-1] = steps[-1].with_(outputs=(result.name,))
    rewrite.replace_node(node, *steps)
    rewrite.remove_node(reader)


def _phases(weights: Tensor, stride: int, taps: tuple[int, ...]) -> Tensor:
    """Weights [C, M, kernel...] as [phases * M, C, taps...]: the last tap of a window is the first of its phase."""
    inner, outer = weights.dims[:2]
    zero_points = weights.quantization.along(weights.quantization.zero_points, weights.rank, weights.data.dtype)
    padded = numpy.broadcast_to(zero_points, (inner, outer, *(stride * count for count in taps))).copy()
    padded[:, :, : weights.dims[2], : weights.dims[3]] = weights.data
    parts = padded.reshape(inner, outer, taps[0], stride, taps[1], stride)[:, :, ::-1, :, ::-1]
    values = numpy.ascontiguousarray(parts.transpose(3, 5, 1, 0, 2, 4)).reshape(-1, inner, *taps)
    quantization = weights.quantization
    if quantization.axis is not None:
        quantization = Quantization(quantization.scales * stride**2, quantization.zero_points * stride**2, 0)
    return replace(weights, name=f"{weights.name}_phases", dims=values.shape, data=values, quantization=quantization)


def _repeated(bias: Tensor, count: int) -> Tensor:
    quantization = bias.quantization
    if quantization is not None and quantization.axis is not None:
        quantization = Quantization(quantization.scales * count, quantization.zero_points * count, 0)
    values = numpy.tile(bias.data, count)
    return replace(bias, name=f"{bias.name}_phases", dims=values.shape, data=values, quantization=quantization)
