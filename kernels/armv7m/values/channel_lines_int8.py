# SPDX-License-Identifier: MIT
"""Linear integer forms for each channel, 4 pixels in a turn: batch normalization, or two sums or products with constants of each
channel in one pass; PReLU, with one form below zero and another from zero on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.contract.call import Call, Literal, computed
from aidge_build.contract.kernel_kit.channel_lines import (
    CHANNEL_LINE,
    CHANNEL_LINES,
    CHANNEL_LINES_TYPE,
    NOTE,
    ChannelLinesInt8,
    PReluInt8,
    channel_lines_spec,
    prelu_spec,
)
from aidge_build.contract.kernel_kit.channel_pixels import TOGETHER, each_pixel, values_of_lines
from aidge_build.contract.node import kernel

from ..core.assembly import Code
from ..core.conditions import FEATURES

PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *lines, int32_t channels, int32_t pixels"
_LINES = (("a", "b"), ("c", "d"))
FACTS = computed(f"{TOGETHER} pixels", 1)


@kernel(CHANNEL_LINES_TYPE, channel_lines_spec(FEATURES), CHANNEL_LINES)
class Armv7MChannelLinesInt8(ChannelLinesInt8):
    def call(self) -> Call:
        name = "_".join(("aidge_armv7m_channel_lines", *map(str, self.shifts)))
        return Call(
            name,
            ("core/target.h",),
            (*self.pointers(), *self.sizes()),
            texts=(_lines(name, self.shifts),),
            note=NOTE,
            facts=FACTS,
        )


@kernel(CHANNEL_LINE, channel_lines_spec(FEATURES))
class Armv7MChannelLineInt8(Armv7MChannelLinesInt8):
    pass


@kernel("PReLU", prelu_spec(FEATURES))
class Armv7MPReluInt8(PReluInt8):
    def call(self) -> Call:
        shift = self.shifts[0]
        name = f"aidge_armv7m_prelu_{shift}"
        arguments = (*self.pointers(), *self.sizes(), Literal(self.zero))
        return Call(name, ("core/target.h",), arguments, texts=(_prelu(name, shift),), note=NOTE, facts=FACTS)


def _lines(name: str, shifts: tuple[int, ...]) -> str:
    """The function of one linear integer form, or of two in a row: 5 or 7 instructions for a value."""

    def values(code: Code, places: Sequence[str]) -> None:
        values_of_lines(code, ((*line, shift) for line, shift in zip(_LINES, shifts)), places)

    return _text(name, PARAMETERS, len(shifts), values)


def _prelu(name: str, shift: int) -> str:
    """The function of one linear integer form below zero and one from zero on: 8 instructions for a value."""

    def values(code: Code, places: Sequence[str]) -> None:
        for place in places:
            code(f"ldrsb %x, [%read{place}]")
            code("cmp %x, %y")
            code("ite lt")
            code("mlalt %x, %x, %a, %b")
            code("mlage %x, %x, %c, %d")
            code(f"ssat %x, #8, %x, asr #{shift}")
            code(f"strb %x, [%written{place}]")

    first = ("ldr %y, [%argument.5]",)
    return _text(name, f"{PARAMETERS}, int32_t zero", 2, values, first)


def _text(
    name: str,
    parameters: str,
    lines: int,
    values: Callable[[Code, Sequence[str]], None],
    first: Sequence[str] = (),
) -> str:
    """The function. `values` prints the instructions for these places; a value is read before its place is written."""
    code = Code()
    numbers = ", ".join(f"%{number}" for line in _LINES[:lines] for number in line)
    code("%enter")
    code("add %end, %input, %channels", "where the channels end")
    code("add %thrice, %channels, %channels, lsl #1")
    for line in first:
        code(line)
    code.label("channel", "a channel")
    code(f"ldm %lines!, {{{numbers}}}")
    code("mov %read, %input")
    code("mov %written, %output")
    code("ldr %left, [%argument.4]", "pixels")
    each_pixel(code, lambda places: values(code, places))
    code("add %input, %input, #1")
    code("add %output, %output, #1")
    code("cmp %input, %end")
    code("bne %channel")
    code("%leave")
    return code.function(name, parameters, "Linear integer forms for each channel, channels last.")
