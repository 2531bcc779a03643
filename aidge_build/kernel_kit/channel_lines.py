# SPDX-License-Identifier: MIT
"""Two sums or products with a constant of each channel, as exporters write batch normalization, as two lines in integers.

Both requantizations stay: of each layer the result for all 256 values of every channel is computed as the numpy backend does, and
the lines are proved equal to it. A library declares such a kernel with the pattern `CHANNEL_LINES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy

from aidge_build.arithmetic.channel_lines import VALUES, ChannelLines, channel_lines
from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.view import Node
from aidge_build.kernel_kit.channel_lines_text import TOGETHER, channel_lines_text
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.kernel_kit.elementwise import ElementWise
from aidge_build.kernel_kit.routine import Routine
from aidge_build.reference.evaluate import evaluate

CHANNEL_LINES_TYPE = "ChannelLines"
NOTE = "both lines proved equal on all 256 values of every channel"
CHANNEL_LINES = "(Mul|Add|Sub)->(Mul|Add|Sub)"


class ChannelLinesInt8(ElementWise):
    """The base of kernels for `CHANNEL_LINES_TYPE`."""

    def lines(self) -> tuple[ChannelLines, ...]:
        """Those of the two layers, in order."""
        return tuple(_lines_of(self.view, node) for node in self.view.operator.graph.nodes)

    def numbers(self) -> numpy.ndarray:
        """{multiplier, start} of the first line and of the second, channel by channel."""
        numbers = [part for line in self.lines() for part in (line.multipliers, line.starts)]
        return numpy.stack(numbers, axis=1).astype(numpy.int32)

    def assembled(self, make: Callable[[Mapping[str, str]], Routine], library: str) -> Call:
        """The call of the function in Thumb-2, whose text the library's emitter prints."""
        first, second = (line.shift for line in self.lines())
        name = f"aidge_{library}_channel_lines_{first}_{second}"
        return Call(
            name,
            ("target.h",),
            (*self.pointers(), Literal(self.channels), Literal(self.pixels)),
            texts=(channel_lines_text(make, name, (first, second)),),
            note=NOTE,
            facts=computed(f"{TOGETHER} pixels", 1),
        )

    def pointers(self) -> tuple[Input, Output, Constant]:
        """The arguments that every function of this kind begins with."""
        return Input(0), Output(0), Constant("lines", self.numbers())

    @property
    def channels(self) -> int:
        """Of the output: its axis 1."""
        return self.outputs[0].dims[1]

    @property
    def pixels(self) -> int:
        """How often each channel occurs."""
        return self.outputs[0].elements // self.channels


def _rejection(view: NodeView) -> str:
    if view.inputs[0].is_constant or view.inputs[0].dims != view.outputs[0].dims or view.outputs[0].rank < 2:
        return f"no data of the dims {list(view.outputs[0].dims)}"
    for node in view.operator.graph.nodes:
        constants = [view.operator.graph.tensor(name) for name in node.inputs if view.operator.graph.tensor(name).is_constant]
        if len(constants) != 1 or _by_channel(constants[0].dims, view.outputs[0].dims) is None:
            return f"{node.where()} has no constant of one number, or of one for each channel"
    for node in view.operator.graph.nodes:
        if _lines_of(view, node) is None:
            return f"no line in int32 is proved for every channel of {node.where()}"
    return ""


def _by_channel(dims: tuple[int, ...], whole: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dims that place such a constant beside [channels, 256]; None where it differs along another axis."""
    spread = (1,) * (len(whole) - len(dims)) + dims
    differs = [axis for axis, size in enumerate(spread) if size != 1]
    return None if len(spread) != len(whole) or any(axis != 1 for axis in differs) else (spread[1], 1)


def _lines_of(view: NodeView, node: Node):
    graph = view.operator.graph
    tensors = [graph.tensor(name) for name in node.inputs]
    (output,) = graph.output_tensors(node)
    channels = view.outputs[0].dims[1]
    dims = (channels, len(VALUES))
    levels = numpy.broadcast_to(VALUES.astype(numpy.int8), dims)
    given = [tensor.data.reshape(_by_channel(tensor.dims, output.dims)) if tensor.is_constant else levels for tensor in tensors]
    inputs = [tensor.with_(dims=values.shape, format=None, data=None) for tensor, values in zip(tensors, given)]
    (results,) = evaluate(node.operator, given, inputs, [output.with_(dims=dims, format=None)])
    return _proved(results.tobytes(), channels)


@lru_cache(maxsize=256)
def _proved(results: bytes, channels: int) -> ChannelLines | None:
    return channel_lines(numpy.frombuffer(results, numpy.int8).reshape(channels, len(VALUES)))


def channel_lines_spec(features: frozenset[str] = frozenset()) -> ImplSpec:
    """int8 with channels last, for the cores with these features."""
    data = IOSpec(DType.int8, CHANNELS_LAST)
    proved = Predicate("two sums or products with constants of each channel, proved as lines", _rejection)
    return ImplSpec((data, IOSpec(), IOSpec()), (data,), (ALL_QUANTIZED, proved), features=features)
