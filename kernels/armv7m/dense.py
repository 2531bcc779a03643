# SPDX-License-Identifier: MIT
"""The dense core in assembly: words of two pixels, 2^23 apart, times int8 weights into sums of 64 bits.

SMLAL adds weight * (first pixel + second pixel * 2^23) to two registers: the low 23 bits are the first pixel's sum (the generator
has proved that it fits), what is above them the second's. `pairs` words of two pixels meet `channels` weights in a step. Where
weights have offsets, those of a group's channels stand behind their taps, and before the column the sums of each pixel's taps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .assembly import Code
from .packing import CHANNEL_WORDS, FIELD, Form

PARAMETERS = (
    "const uint32_t *column, const int8_t *weights, const int32_t *numbers, int8_t *output, aidge_armv7m_block *block, "
    "const int32_t *end"
)
SUMS_BYTES = 32  # before the sums of aidge_armv7m_block


@dataclass(frozen=True)
class Shape:
    """What a step computes: `pairs` words of two pixels x `channels`; `unroll` steps stand in the text."""

    pairs: int
    channels: int
    unroll: int

    core: ClassVar[str] = "dense"
    together: ClassVar[int] = 2  # pixels whose values share words

    def routine(self, form: Form, is_long: bool = False) -> tuple[str, str]:
        """Name and text of the assembly; `is_long`: the taps are several segments, which only thirds.py has."""
        return routine(self, form)

    @property
    def pixels(self) -> int:
        return 2 * self.pairs

    @property
    def step_bytes(self) -> int:
        """Of the column."""
        return 4 * self.pairs

    @property
    def keeps_output(self) -> bool:
        """Whether registers are left for the output and the column's end."""
        return self.pairs * self.channels < 4

    @property
    def sums(self) -> list[tuple[str, str]]:
        """The names of each sum's words, low and high: pair after pair of a channel, channel after channel."""
        return [(f"low_{index}", f"high_{index}") for index in range(self.pairs * self.channels)]

    @property
    def steps(self) -> list[str]:
        """The labels of the steps in the text."""
        return [f"step_{index}" for index in range(self.unroll)]

    def instructions(self, form: Form, taps: int) -> int:
        """Of a group of channels of a block, but for the turns of its loop."""
        end = Code()
        _end_of_group(end, self, form)
        return 1 + taps * (1 + self.channels * (1 + self.pairs)) + end.instructions

    def entry(self, taps: int) -> int:
        """The number of steps of the text that the first turn leaves out, behind the first tap."""
        rest = (taps - 1) % self.unroll
        return self.unroll - rest if rest or taps == 1 else 0


LARGE, MIDDLE, SMALL = Shape(3, 1, 16), Shape(2, 2, 16), Shape(1, 4, 12)
SHAPES = (LARGE, MIDDLE, SMALL)  # the fewer pixels, the less scratch and the more instructions


def routine(shape: Shape, form: Form) -> tuple[str, str]:
    """Name and text of a function that computes all channels of a block of pixels.

    Where some channels have no line it returns 0, or the numbers of a group with such a channel, whose sums are then in
    `block->sums`.
    """
    name = f"aidge_armv7m_dense_{shape.pairs}x{shape.channels}_{form.variant}"
    code = Code()
    _begin(code, shape, form)
    code.label("group", "a group of channels")
    _step(code, shape, is_first=True)
    code("get %entry")
    code.table_jump("%entry", [*shape.steps, "done"], "table")
    for label in shape.steps:
        code.label(label)
        _step(code, shape)
    code.label("done")
    if not shape.keeps_output:
        code("get %column_end")
    code("cmp %column, %column_end")
    code(f"bne %{shape.steps[0]}")
    _end_of_group(code, shape, form)
    sizes = f"{shape.pairs}, {shape.channels}, {form.shift}, {int(form.has_offsets)}"
    call = f"aidge_armv7m_dense(column, weights, numbers, output, block, end, {sizes});"
    what = f"All channels of {shape.pixels} pixels, {shape.channels} at once."
    if form.is_proved:
        return name, code.function(name, PARAMETERS, what, f"(void){call}")
    return name, code.function(name, PARAMETERS, what, f"return {call}", "const int32_t *")


def _begin(code: Code, shape: Shape, form: Form) -> None:
    code("%enter")
    code("ldr %block, [%argument.4]")
    code(f"ldm %block, {{%column_end, %entry, %stride{', %lowest, %highest' * form.is_clamped}}}")
    code("add %column_end, %column_end, %column")
    code("put %column, %numbers")
    code("put %entry, %stride")
    if form.is_clamped:
        code("put %lowest, %highest")
    if not shape.keeps_output:
        code("put %output, %column_end")


def _step(code: Code, shape: Shape, is_first: bool = False) -> None:
    """A tap of all pixels and channels of the group."""
    load = {
        1: "ldr %word_0, [%column], #4",
        2: "ldrd %word_0, %word_1, [%column], #8",
        3: "ldm %column!, {%word_0, %word_1, %word_2}",
    }
    code(load[shape.pairs], "a tap of the pixels")
    for channel in range(shape.channels):
        code("ldrsb %weight, [%weights], #1")
        for pair in range(shape.pairs):
            low, high = shape.sums[channel * shape.pairs + pair]
            code(f"{'smull' if is_first else 'smlal'} %{low}, %{high}, %weight, %word_{pair}")


def _end_of_group(code: Code, shape: Shape, form: Form) -> None:
    for low, high in shape.sums:
        code.separate(low, high, FIELD)
    if form.has_offsets:
        _add_offsets(code, shape)
    code("get %numbers")
    if not shape.keeps_output:
        code("put %weights")
        code("get %output")
    code("get %stride")
    for channel in range(shape.channels):
        pairs = shape.sums[channel * shape.pairs : (channel + 1) * shape.pairs]
        code(f"ldr %factor, [%numbers], #{4 * CHANNEL_WORDS}")
        if not form.is_proved:
            code("cmp %factor, #0")
            code("beq %exact")
        _store_channel(code, form, [word for pair in pairs for word in pair])
    code("ldr %end, [%argument.5]")
    code("put %numbers")
    code("cmp %numbers, %end")
    if not shape.keeps_output:
        code("put %output")
        code("get %weights")
    code("get %column")
    code("bne %group")
    if form.is_proved:
        code("%leave")
        return
    code("movs %numbers, #0")
    code.label("stop")
    code("%leave %numbers")
    code.label("exact", "a channel without a line: the caller computes the group")
    code("ldr %block, [%argument.4]")
    code(f"adds %block, %block, #{SUMS_BYTES}", "sums")
    code(f"stm %block, {{{', '.join(f'%{word}' for pair in shape.sums for word in pair)}}}")
    code("get %numbers")
    code("b %stop")


def _add_offsets(code: Code, shape: Shape) -> None:
    code("get %column")
    for channel in range(shape.channels):
        code("ldrsb %weight, [%weights], #1", "what the weights of a channel lack")
        for pair in range(shape.pairs):
            low, high = shape.sums[channel * shape.pairs + pair]
            code(f"ldrd %first, %second, [%column, #{8 * pair - 4 * shape.pixels}]", "sums of two pixels")
            code(f"mla %{low}, %weight, %first, %{low}")
            code(f"mla %{high}, %weight, %second, %{high}")


def _store_channel(code: Code, form: Form, sums: list[str]) -> None:
    """The sums of a channel's pixels to the output, which ends at the next channel."""
    count = len(sums)
    if count == 2:
        store(code, form, sums[1], "[%output, %stride]")
        store(code, form, sums[0], "[%output], #1")
        return
    for pixel, moved in zip(range(0, count, 2), ("", ", %stride, lsl #1", ", %stride, lsl #2")):
        store(code, form, sums[pixel], f"[%output{moved}]")
    code("add %output, %output, %stride")
    for pixel in range(3, count, 2):
        store(code, form, sums[pixel], f"[%output, %stride, lsl #{pixel // 2}]")
    store(code, form, sums[1], "[%output], #1")
    code("sub %output, %output, %stride")


def store(code: Code, form: Form, value: str, address: str) -> None:
    """The level of a sum to the output, by the line whose numbers lie before %numbers."""
    code(f"ldrd %low, %level, [%numbers, #{4 - 4 * CHANNEL_WORDS}]")
    code(f"smlal %low, %level, %{value}, %factor")
    code.level(form.shift, form.is_clamped)
    code(f"strb %level, {address}")
