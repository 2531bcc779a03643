# SPDX-License-Identifier: MIT
"""The dense core in assembly: three pixels in two words, times int8 weights into sums of 32 bits.

With pixels a, b, c the words of a tap are a + 2^21 b and c + 2^11 b; MLA adds their products to two sums modulo 2^32. From these
the three sums of at most 21 bits are separated exactly: the low 21 bits of the first are the sum of a, its other bits the low
bits of the sum of b; without these the second holds the sum of c in its low 22 bits, and above them the high bits of b's sum. All
sums begin with 2^20, so that none is negative; the start of the line has that taken away again. Layers whose sums may take more
bits are computed in segments of taps, whose sums are added up in memory. So are weights with offsets: the sums of a group begin
with the offset of each channel times the sum of the taps of each pixel, which is before the column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.packing import as_words

from ..core.assembly import Code
from .packing import CHANNEL_WORDS, Form

PARAMETERS = (
    "const uint32_t *column, const int8_t *weights, const int32_t *numbers, int8_t *output, aidge_armv7m_block *block, "
    "const int32_t *end"
)
SUMS_BYTES = 32  # before the sums of aidge_armv7m_block

SUM_BITS = 21
MIDDLE = 32 - SUM_BITS  # bits of the second pixel's sum in the first word
BEGIN = 1 << (SUM_BITS - 1)
ANY_TAPS = 63  # whose sums fit with every weight


@dataclass(frozen=True)
class Shape:
    """The work of a step: `sets` of three pixels, two words each, x `channels`; `unroll` steps are in the text."""

    sets: int
    channels: int
    unroll: int

    @property
    def pixels(self) -> int:
        return 3 * self.sets

    @property
    def step_bytes(self) -> int:
        """The bytes of a step of the column."""
        return 8 * self.sets

    @property
    def steps(self) -> list[str]:
        """The labels of the steps in the text."""
        return [f"step_{index}" for index in range(self.unroll)]

    def words(self, channel: int) -> list[tuple[str, str]]:
        """The names of the sums of a channel, two for each set of pixels."""
        sets = range(self.sets * channel, self.sets * (channel + 1))
        return [(f"near_{index}", f"far_{index}") for index in sets]

    def entry(self, taps: int) -> int:
        """The number of steps of the text that the first turn leaves out, behind the first tap."""
        rest = (taps - 1) % self.unroll
        return self.unroll - rest if rest or taps == 1 else 0

    def instructions(self, form: Form, taps: int) -> int:
        """The instructions of a group of channels of a block, without the turns of its loop."""
        end, step = Code(), Code()
        _end_of_group(end, self, form, False)
        _step(step, self, form)
        return taps * step.instructions + 3 + end.instructions


FEW_PIXELS = Shape(1, 4, 9)  # less scratch
SHAPES = (Shape(2, 2, 10), FEW_PIXELS, Shape(2, 1, 16))  # the last one: of one channel


def routine(shape: Shape, form: Form, is_long: bool) -> tuple[str, str]:
    """Name and text of a function that computes all channels of a block of pixels; `is_long`: their sums are in memory.

    If some channels have no line, it returns 0, or the numbers of a group with such a channel; the sums are then in
    `block->sums`.
    """
    name = f"aidge_armv7m_dense{'_long' * is_long}_{shape.pixels}x{shape.channels}_{form.variant}"
    code = Code()
    _begin(code, form, is_long)
    code.label("group", "a group of channels")
    if is_long:
        _begin_group(code, shape, form)
        code.label("segment", "a segment")
    last = shape.words(shape.channels - 1)[-1]
    code(f"mov %{last[0]}, #{BEGIN}", "what all sums begin with")
    code(f"orr %{last[1]}, %{last[0]}, #{1 << 31:#x}")
    _step(code, shape, form, last)
    code(f"get %{'next_entry' if is_long else 'entry'}")
    code.table_jump(f"%{'next_entry' if is_long else 'entry'}", [*shape.steps, "done"], "table", is_far=form.has_nibbles)
    for label in shape.steps:
        code.label(label)
        _step(code, shape, form)
    code.label("done")
    end = "segment_end" if is_long else "column_end"
    code(f"get %{end}")
    code(f"cmp %column, %{end}")
    code(f"bne %{shape.steps[0]}")
    if is_long:
        _next_segment(code, shape)
    _end_of_group(code, shape, form, is_long)
    what = f"All channels of {shape.pixels} pixels, {shape.channels} at once."
    return name, code.function(name, PARAMETERS, what, result="void" if form.is_proved else "const int32_t *")


def _begin(code: Code, form: Form, is_long: bool) -> None:
    code("%enter")
    code("ldr %block, [%argument.4]")
    some = "%column_end, %entry, %stride"
    if is_long:
        some += ", %lowest, %highest, %point, %first_bytes, %segment_bytes"
    elif form.is_clamped:
        some += ", %lowest, %highest"
    code(f"ldm %block, {{{some}}}")
    code("add %column_end, %column_end, %column")
    code("put %column, %numbers")
    code("put %output, %column_end")
    code("put %entry, %stride")
    if form.is_clamped:
        code("put %lowest, %highest")
    if is_long:
        code("put %first_bytes, %segment_bytes")


def _step(code: Code, shape: Shape, form: Form, begin: tuple[str, str] | None = None) -> None:
    """A tap of all pixels and channels of the group; the sums begin with two values where these are named."""
    for first in range(0, shape.channels, 2):
        weights = ("weight", "other_weight")[: shape.channels - first]
        for weight in weights[: 1 if form.has_nibbles else 2]:
            code(f"ldrsb %{weight}, [%weights], #1", "of two channels" if form.has_nibbles else "of a channel")
        if form.has_nibbles:
            code("asr %other_weight, %weight, #4")
            code("sbfx %weight, %weight, #0, #4")
        for place in range(shape.sets):
            if first == 0:
                code("ldrd %near, %far, [%column], #8", "a tap of 3 pixels")
            for channel, weight in enumerate(weights, first):
                for index, word in enumerate(("near", "far")):
                    total = shape.words(channel)[place][index]
                    code(f"mla %{total}, %{word}, %{weight}, %{begin[index] if begin else total}")


def _separate(code: Code, words: tuple[str, str], middle: str) -> None:
    """The sums of three pixels: in place of the words, and that of the second one in `middle`."""
    first, second = words
    code(f"lsr %{middle}, %{first}, #{SUM_BITS}")
    code(f"bfc %{first}, #{SUM_BITS}, #{MIDDLE}")
    code(f"sub %{second}, %{second}, %{middle}, lsl #{MIDDLE}")
    code(f"lsr %spare, %{second}, #{2 * MIDDLE}")
    code(f"bfc %{second}, #{2 * MIDDLE}, #{32 - 2 * MIDDLE}")
    code(f"add %{middle}, %{middle}, %spare, lsl #{MIDDLE}")


def _all_sums(code: Code, shape: Shape) -> Iterator[str]:
    """The sums of all channels, channel after channel; %sums is where they are in memory."""
    _sums_of_block(code)
    for channel in range(shape.channels):
        yield from _sums_of_channel(code, shape, channel, False)


def _begin_group(code: Code, shape: Shape, form: Form) -> None:
    """The sums of a group in memory: 0, or what the weights lack times the sums of the taps."""
    _sums_of_block(code)
    if form.has_offsets:
        for _ in range(shape.channels):
            code("ldrsb %weight, [%weights], #1", "the offset of a channel")
            for pixel in range(shape.pixels):
                code(f"ldr %value, [%column, #{4 * (pixel - shape.pixels)}]")
                code("muls %value, %weight, %value")
                code("str %value, [%sums], #4")
    else:
        zeros = [f"%zero_{number}" for number in range(6)]
        for zero in zeros:
            code(f"mov {zero}, #0")
        for _ in range(2):
            code(f"stm %sums!, {{{', '.join(zeros)}}}")
    code("get %first_bytes")
    code("get %entry")
    code("add %segment_end, %first_bytes, %column")
    code("mov %next_entry, %entry")
    code("put %segment_end, %next_entry")


def _sums_of_block(code: Code, further: int = 0) -> None:
    code("ldr %sums, [%argument.4]")
    code(f"add %sums, %sums, #{SUMS_BYTES + further}")


def _next_segment(code: Code, shape: Shape) -> None:
    """The sums of a segment to those of the segments before, and on to the next one unless it was the last."""
    for value in _all_sums(code, shape):
        code("ldr %total, [%sums]")
        code(f"add %total, %total, %{value}")
        code("str %total, [%sums], #4")
    code("get %column_end")
    code("cmp %column, %column_end")
    code("beq %summed")
    code("get %segment_bytes")
    code("movs %next_entry, #0")
    code("add %segment_end, %segment_bytes, %column")
    code("put %segment_end, %next_entry")
    code("b %segment")
    code.label("summed")


def _end_of_group(code: Code, shape: Shape, form: Form, is_long: bool) -> None:
    """Levels to the output; its stride comes as soon as a sum is used."""
    code("put %weights")
    code("get %numbers")
    if not form.is_proved:
        _look_for_lines(code, shape)
    code("get %output")
    if is_long:
        code("get %stride")
    for channel in range(shape.channels):
        code("ldr %factor, [%numbers], #12")
        _store_channel(code, form, _sums_of_channel(code, shape, channel, is_long), channel == 0 and not is_long)
    code("ldr %end, [%argument.5]")
    code("put %numbers")
    code("cmp %numbers, %end")
    code("put %output")
    code("get %weights")
    code("get %column")
    code("bne %group")
    if form.is_proved:
        code("%leave")
    else:
        code("movs %numbers, #0")
        code.label("stop")
        code("%leave %numbers")
        _hand_sums_out(code, shape, is_long)


def _sums_of_channel(code: Code, shape: Shape, channel: int, is_long: bool) -> Iterator[str]:
    """The sums of all pixels, pixel after pixel; those of three pixels are separated where the first of them is asked for."""
    if is_long:
        sums = [f"sum_{pixel}" for pixel in range(shape.pixels)]
        _sums_of_block(code, 4 * shape.pixels * channel)
        code(f"ldm %sums, {{{', '.join(f'%{each}' for each in sums)}}}")
        yield from sums
        return
    for place, words in enumerate(shape.words(channel)):
        middle = f"middle_{place}"
        _separate(code, words, middle)
        yield from (words[0], middle, words[1])


def _store_channel(code: Code, form: Form, sums: Iterator[str], wants_stride: bool) -> None:
    """Levels of a channel; the output then ends at the next one."""
    _store(code, form, next(sums), "[%output]")
    if wants_stride:
        code("get %stride")
    second, third = next(sums), next(sums)
    _store(code, form, third, "[%output, %stride, lsl #1]")
    far = list(sums)
    if far:
        _store(code, form, far[1], "[%output, %stride, lsl #2]")
        code("add %output, %output, %stride")
        _store(code, form, far[0], "[%output, %stride, lsl #1]")
        _store(code, form, far[2], "[%output, %stride, lsl #2]")
        _store(code, form, second, "[%output], #1")
        code("sub %output, %output, %stride")
    else:
        _store(code, form, second, "[%output, %stride]")
        code("adds %output, %output, #1")


def _store(code: Code, form: Form, value: str, address: str) -> None:
    """The level of a sum to the output, by the line whose numbers are before %numbers."""
    code(f"ldrd %low, %level, [%numbers, #{4 - 4 * CHANNEL_WORDS}]")
    code(f"smlal %low, %level, %{value}, %factor")
    code.level(form.shift, form.is_clamped)
    code(f"strb %level, {address}")


def _look_for_lines(code: Code, shape: Shape) -> None:
    """To the end where a channel of the group has none."""
    for channel in range(shape.channels):
        code(f"ldr %factor, [%numbers, #{12 * channel}]")
        code("cmp %factor, #0")
        code("beq %exact")


def _hand_sums_out(code: Code, shape: Shape, is_long: bool) -> None:
    code.label("exact", "a channel without a line: the caller computes the group")
    if not is_long:
        for value in _all_sums(code, shape):
            code(f"str %{value}, [%sums], #4")
    code("get %numbers")
    code("b %stop")


def segment_taps(rows: numpy.ndarray, unroll: int, is_any: bool) -> int:
    """How many taps of these bytes [channels, taps] go together, so that every sum fits: all of them, or a number of whole turns
    of the text and one more, the first segment being shorter."""
    taps = rows.shape[1]
    ends = [rows.astype(numpy.int64) * end for end in (-128, 127)]
    reach = numpy.maximum(-numpy.minimum(*ends), numpy.maximum(*ends))
    for count in [taps, *range(1 + unroll * ((taps - 1) // unroll), 1, -unroll)]:
        starts = range(taps - count, -count, -count)
        if (count <= ANY_TAPS) if is_any else all((reach[:, max(0, at) : at + count].sum(axis=1) < BEGIN).all() for at in starts):
            return count
    return 1


def offset_words(form: Form, segments: int) -> numpy.ndarray:
    """The words of the channels [channels, 3] for sums that begin with BEGIN in each segment."""
    factors, low, high = (form.channels[:, index].astype(numpy.int64) for index in range(3))
    starts = (high << 32) + (low & 0xFFFFFFFF) - factors * (segments * BEGIN)
    lines = numpy.stack([as_words(factors), as_words(starts), as_words(starts >> 32)], axis=1)
    others = numpy.stack([as_words(factors), as_words(low - _begin_in_units(form, segments)), as_words(high)], axis=1)
    return numpy.where((factors != 0)[:, None], lines, others)


def can_begin_so(form: Form, segments: int) -> bool:
    """Whether what the sums of channels without a line begin with leaves them 32 bits, and their biases, too."""
    added, biases = _begin_in_units(form, segments), form.channels[form.channels[:, 0] == 0, 1].astype(numpy.int64)
    return not len(biases) or 2 * added < 1 << 31 and bool((biases - added >= -(1 << 31)).all())


def _begin_in_units(form: Form, segments: int) -> int:
    return segments * BEGIN << form.fine_bits
