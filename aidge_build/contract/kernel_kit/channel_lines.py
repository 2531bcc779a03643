# SPDX-License-Identifier: MIT
"""Batch normalization, two sums or products with a constant of each channel, and PReLU, in linear integer form.

Both requantizations stay. The numpy backend computes the result for all 256 values of every channel and layer, and the forms are
proved equal to it. A library declares one kernel with the pattern `CHANNEL_LINES`, one for `CHANNEL_LINE`, and one for PReLU.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy

from aidge_build.contract.call import Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import QUANTIZED
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.channel_lines import VALUES, ChannelLines, channel_lines, two_sided_lines
from aidge_build.operators.base import Operator

CHANNEL_LINES_TYPE = "ChannelLines"
CHANNEL_LINE = "BatchNormalization"
NOTE = "lines proved equal on all 256 values of every channel"
CHANNEL_LINES = "((Mul|Add|Sub)->(Mul|Add|Sub)|BatchNormalization->(Clip|ReLU))"


class ChannelLinesInt8(ElementWise):
    """The base of kernels for `CHANNEL_LINES_TYPE` and `CHANNEL_LINE`."""

    def lines(self) -> tuple[ChannelLines, ...]:
        """The linear integer forms of the layers, in order: one or two."""
        return tuple(_lines_of(layer) for layer in _layers(self.view))

    @property
    def shifts(self) -> tuple[int, ...]:
        """The shift of each linear integer form, in bits."""
        return tuple(line.shift for line in self.lines())

    def numbers(self) -> numpy.ndarray:
        """Returns {multiplier, start} of each linear integer form, channel by channel, int32."""
        numbers = [part for line in self.lines() for part in (line.multipliers, line.starts)]
        return numpy.stack(numbers, axis=1).astype(numpy.int32)

    def pointers(self) -> tuple[Input, Output, Constant]:
        """The first arguments of every function of this kind."""
        return Input(0), Output(0), Constant("lines", self.numbers())

    def sizes(self) -> tuple[Literal, Literal]:
        """The numbers of channels and of pixels."""
        (output,) = self.outputs
        return Literal(output.dims[1]), Literal(output.elements // output.dims[1])


class PReluInt8(ChannelLinesInt8):
    """The base of kernels for PReLU: one linear integer form below zero and one from zero on; their shifts are equal."""

    def lines(self) -> tuple[ChannelLines, ...]:
        return _prelu_lines(self.view)

    @property
    def zero(self) -> int:
        """The stored value of zero."""
        return self.inputs[0].quantization.zero_point


@dataclass(frozen=True)
class _Layer:
    """One node between stored values."""

    operator: Operator
    inputs: tuple[Tensor, ...]
    output: Tensor
    where: str

    @property
    def constants(self) -> tuple[Tensor, ...]:
        return tuple(tensor for tensor in self.inputs if tensor.is_constant)


def _layers(view: NodeView) -> list[_Layer]:
    operator = view.operator
    if operator.type != CHANNEL_LINES_TYPE:
        return [_Layer(operator, view.inputs, view.outputs[0], view.node.where())]
    graph = operator.graph
    return [_Layer(node.operator, graph.input_tensors(node), graph.output_tensors(node)[0], node.where()) for node in graph.nodes]


def _rejection(view: NodeView) -> str:
    if view.inputs[0].is_constant or view.inputs[0].dims != view.outputs[0].dims or view.outputs[0].rank < 2:
        return f"no data of the dims {list(view.outputs[0].dims)}"
    for layer in _layers(view):
        if len(layer.inputs) != 1 + len(layer.constants) or not all(_beside(layer, tensor) for tensor in layer.constants):
            return f"{layer.where} has no constant of one number, or of one for each channel"
    for layer in _layers(view):
        if _lines_of(layer) is None:
            return f"no line in int32 is proved for every channel of {layer.where}"
    return ""


def _beside(layer: _Layer, constant: Tensor) -> tuple[int, ...] | None:
    """Returns dims with which a constant broadcasts to [1, channels, 256]; None if it differs along another axis."""
    if layer.operator.type == CHANNEL_LINE:
        return constant.dims
    spread = (1,) * (layer.output.rank - constant.rank) + constant.dims
    differs = [axis for axis, size in enumerate(spread) if size != 1]
    return None if len(spread) != layer.output.rank or any(axis != 1 for axis in differs) else (1, spread[1], 1)


def _lines_of(layer: _Layer) -> ChannelLines | None:
    channels = layer.output.dims[1]
    dims = (1, channels, len(VALUES))
    levels = numpy.broadcast_to(VALUES.astype(numpy.int8), dims)
    given = [tensor.data.reshape(_beside(layer, tensor)) if tensor.is_constant else levels for tensor in layer.inputs]
    inputs = [tensor.with_(dims=values.shape, format=None, data=None) for tensor, values in zip(layer.inputs, given)]
    (results,) = evaluate(layer.operator, given, inputs, [layer.output.with_(dims=dims, format=None)])
    return _proved(results.tobytes(), channels)


@lru_cache(maxsize=256)
def _proved(results: bytes, channels: int) -> ChannelLines | None:
    return channel_lines(numpy.frombuffer(results, numpy.int8).reshape(channels, len(VALUES)))


def channel_lines_spec(features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of int8 with channels last, for cores with these features."""
    data = IOSpec(DType.int8, CHANNELS_LAST)
    proved = Predicate("constants of each channel, proved as lines", _rejection)
    return ImplSpec((data, IOSpec()), (data,), (QUANTIZED, proved), features=features)


def _prelu_rejection(view: NodeView) -> str:
    (data, slope), (output,) = view.inputs, view.outputs
    if data.is_constant or output.rank < 2:
        return f"no data of the dims {list(output.dims)}"
    spread = (1,) * (output.rank - slope.rank) + slope.dims
    if not slope.is_constant or any(size != 1 for axis, size in enumerate(spread) if axis != 1):
        return "no constant slope for all channels, or for each"
    return "" if _prelu_lines(view) else "no lines in int32 are proved for every channel"


def _prelu_lines(view: NodeView) -> tuple[ChannelLines, ChannelLines] | None:
    (data, slope), (output,) = view.inputs, view.outputs
    levels = numpy.broadcast_to(VALUES.astype(numpy.int8), (output.dims[1], len(VALUES)))
    slopes = slope.data.reshape(-1, 1)
    inputs = [data.with_(dims=levels.shape, format=None), slope.with_(dims=slopes.shape, format=None, data=None)]
    (results,) = evaluate(view.operator, [levels, slopes], inputs, [output.with_(dims=levels.shape, format=None)])
    return _proved_prelu(results.tobytes(), len(levels), data.quantization.zero_point)


@lru_cache(maxsize=256)
def _proved_prelu(results: bytes, channels: int, zero: int) -> tuple[ChannelLines, ChannelLines] | None:
    return two_sided_lines(numpy.frombuffer(results, numpy.int8).reshape(channels, len(VALUES)), zero)


def prelu_spec(features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of PReLU of int8 with channels last, for cores with these features."""
    data = IOSpec(DType.int8, CHANNELS_LAST)
    proved = Predicate("a slope for each channel, proved as lines", _prelu_rejection)
    return ImplSpec((data, IOSpec()), (data,), (QUANTIZED, proved), features=features)
