# SPDX-License-Identifier: MIT
"""PReLU of int8 with a slope for each channel, in two linear integer forms: one for values below zero, one for the others.

The numpy backend computes the result for all 256 values of every channel, and the forms are proved equal to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.channel_lines_text import prelu_text
from aidge_build.contract.kernel_kit.channel_pixels import TOGETHER
from aidge_build.contract.kernel_kit.conditions import QUANTIZED
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.routine import Routine
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.channel_lines import VALUES, ChannelLines, two_sided_lines

NOTE = "lines proved equal on all 256 values of every channel"


class PReluNode(ElementWise):
    """The base of kernels for PReLU of int8."""

    def lines(self) -> tuple[ChannelLines, ChannelLines]:
        """The linear integer forms below zero and from zero on; their shifts are equal."""
        return _lines_of(self.view)

    def numbers(self) -> numpy.ndarray:
        """Returns {multiplier, start} below zero, {multiplier, start} from zero on, channel by channel."""
        numbers = [part for line in self.lines() for part in (line.multipliers, line.starts)]
        return numpy.stack(numbers, axis=1).astype(numpy.int32)

    def sizes(self) -> tuple[Literal, Literal, Literal]:
        """The number of channels, the number of pixels, and the stored zero."""
        (output,), channels = self.outputs, self.outputs[0].dims[1]
        return Literal(channels), Literal(output.elements // channels), Literal(self.inputs[0].quantization.zero_point)

    def assembled(self, make: Callable[[], Routine], library: str) -> Call:
        """Returns the call of the Thumb-2 function that the library's emitter prints."""
        name = f"aidge_{library}_prelu_{self.shift}"
        text = prelu_text(make, name, self.shift, portable(self.shift))
        arguments = (*self.pointers(), *self.sizes())
        return Call(name, ("target.h",), arguments, texts=(text,), note=NOTE, facts=computed(f"{TOGETHER} pixels", 1))

    def pointers(self) -> tuple[Input, Output, Constant]:
        """The first arguments of every function of this kind."""
        return Input(0), Output(0), Constant("lines", self.numbers())

    @property
    def shift(self) -> int:
        """The shift of both linear integer forms of every channel, in bits."""
        return self.lines()[0].shift


def _rejection(view: NodeView) -> str:
    (data, slope), (output,) = view.inputs, view.outputs
    if data.is_constant or output.rank < 2:
        return f"no data of the dims {list(output.dims)}"
    spread = (1,) * (output.rank - slope.rank) + slope.dims
    if not slope.is_constant or any(size != 1 for axis, size in enumerate(spread) if axis != 1):
        return "no constant slope for all channels, or for each"
    return "" if _lines_of(view) else "no lines in int32 are proved for every channel"


def _lines_of(view: NodeView) -> tuple[ChannelLines, ChannelLines] | None:
    (data, slope), (output,) = view.inputs, view.outputs
    levels = numpy.broadcast_to(VALUES.astype(numpy.int8), (output.dims[1], len(VALUES)))
    slopes = slope.data.reshape(-1, 1)
    inputs = [data.with_(dims=levels.shape, format=None), slope.with_(dims=slopes.shape, format=None, data=None)]
    (results,) = evaluate(view.operator, [levels, slopes], inputs, [output.with_(dims=levels.shape, format=None)])
    return _proved(results.tobytes(), len(levels), data.quantization.zero_point)


@lru_cache(maxsize=256)
def _proved(results: bytes, channels: int, zero: int) -> tuple[ChannelLines, ChannelLines] | None:
    return two_sided_lines(numpy.frombuffer(results, numpy.int8).reshape(channels, len(VALUES)), zero)


def prelu_spec(features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of int8 with channels last, for cores with these features."""
    data = IOSpec(DType.int8, CHANNELS_LAST)
    proved = Predicate("a slope for each channel, proved as lines", _rejection)
    return ImplSpec((data, IOSpec()), (data,), (QUANTIZED, proved), features=features)


def portable(shift: int) -> str:
    """Returns the body of the function in C, without functions of a library."""
    return f"""int32_t channel, place, value;
    for (channel = 0; channel < channels; channel++, lines += 4) {{
        for (place = channel; place < channels * pixels; place += channels) {{
            value = input[place];
            value = (value < zero ? value * lines[0] + lines[1] : value * lines[2] + lines[3]) >> {shift};
            output[place] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
        }}
    }}"""
