# SPDX-License-Identifier: MIT
"""Batch normalization, or two sums or products with a constant of each channel, in linear integer form.

Both requantizations stay. The numpy backend computes the result for all 256 values of every channel and layer, and the forms are
proved equal to it. A library declares one kernel with the pattern `CHANNEL_LINES`, and one for `CHANNEL_LINE`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.channel_lines_text import channel_lines_text
from aidge_build.contract.kernel_kit.channel_pixels import TOGETHER
from aidge_build.contract.kernel_kit.conditions import QUANTIZED
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.routine import Routine
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.channel_lines import VALUES, ChannelLines, channel_lines
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

    def assembled(self, make: Callable[[], Routine], library: str) -> Call:
        """Returns the call of the Thumb-2 function that the library's emitter prints."""
        name = "_".join(("aidge", library, "channel_lines", *map(str, self.shifts)))
        return Call(
            name,
            ("target.h",),
            (*self.pointers(), Literal(self.channels), Literal(self.pixels)),
            texts=(channel_lines_text(make, name, self.shifts),),
            note=NOTE,
            facts=computed(f"{TOGETHER} pixels", 1),
        )

    def pointers(self) -> tuple[Input, Output, Constant]:
        """The first arguments of every function of this kind."""
        return Input(0), Output(0), Constant("lines", self.numbers())

    @property
    def channels(self) -> int:
        """The number of channels of the output, its axis 1."""
        return self.outputs[0].dims[1]

    @property
    def pixels(self) -> int:
        """The number of pixels."""
        return self.outputs[0].elements // self.channels


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
