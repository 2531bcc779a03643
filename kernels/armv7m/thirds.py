# SPDX-License-Identifier: MIT
"""The dense core for cores whose long multiplications are slow: three pixels in two words, times weights into 32 bits.

With pixels a, b, c the words of a tap are a + 2^21 b and c + 2^11 b; MLA adds their products to two sums modulo 2^32. From these
the three sums of at most 21 bits are separated exactly: the low 21 bits of the first are a's, its other bits the low ones of b's;
with these taken away the second holds c's sum in its low 22 bits, and above them the high bits of b's. All sums begin with 2^20,
so that none is negative; the start of the line has that taken away again. Layers whose sums may take more bits are computed in
segments of taps, whose sums are added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy

from .assembly import Code
from .dense import PARAMETERS, SUMS_BYTES, Shape, store
from .packing import Form, as_words

SUM_BITS = 21
MIDDLE = 32 - SUM_BITS  # bits of the second pixel's sum in the first word
BEGIN = 1 << (SUM_BITS - 1)
ANY_TAPS = 63  # whose sums fit with every weight


@dataclass(frozen=True)
class Thirds(Shape):
    """`pairs` of words x `channels`: so many sets of three pixels."""

    together: ClassVar[int] = 3
    core: ClassVar[str] = "thirds"

    @property
    def pixels(self) -> int:
        return 3 * self.pairs

    @property
    def step_bytes(self) -> int:
        return 8 * self.pairs

    def words(self, channel: int) -> list[tuple[str, str]]:
        """The names of a channel's sums, two for each set of pixels."""
        sets = range(self.pairs * channel, self.pairs * (channel + 1))
        return [(f"near_{index}", f"far_{index}") for index in sets]

    def routine(self, form: Form, is_long: bool = False) -> tuple[str, str]:
        return routine(self, form, is_long)

    def instructions(self, form: Form, taps: int) -> int:
        end, step = Code(), Code()
        _end_of_group(end, self, form, False)
        _step(step, self)
        return taps * step.instructions + 3 + end.instructions


WIDE, NARROW = Thirds(2, 2, 10), Thirds(1, 4, 9)  # the fewer pixels, the less scratch
SHAPES = (WIDE, NARROW)


def routine(shape: Thirds, form: Form, is_long: bool) -> tuple[str, str]:
    """As that of dense.py."""
    name = f"aidge_armv7m_thirds{'_long' * is_long}_{shape.pixels}x{shape.channels}_{form.variant}"
    code = Code()
    _begin(code, form, is_long)
    code.label("group", "a group of channels")
    if is_long:
        _begin_group(code)
        code.label("segment", "a segment")
    last = shape.words(shape.channels - 1)[-1]
    code(f"mov %{last[0]}, #{BEGIN}", "what all sums begin with")
    code(f"orr %{last[1]}, %{last[0]}, #{1 << 31:#x}")
    _step(code, shape, last)
    code(f"get %{'next_entry' if is_long else 'entry'}")
    code.table_jump(f"%{'next_entry' if is_long else 'entry'}", [*shape.steps, "done"], "table")
    for label in shape.steps:
        code.label(label)
        _step(code, shape)
    code.label("done")
    end = "segment_end" if is_long else "column_end"
    code(f"get %{end}")
    code(f"cmp %column, %{end}")
    code(f"bne %{shape.steps[0]}")
    if is_long:
        _next_segment(code, shape)
    _end_of_group(code, shape, form, is_long)
    call = f"aidge_armv7m_thirds(column, weights, numbers, output, block, end, {shape.pairs}, {shape.channels}, {form.shift});"
    what = f"All channels of {shape.pixels} pixels, {shape.channels} at once."
    if form.is_proved:
        return name, code.function(name, PARAMETERS, what, f"(void){call}")
    return name, code.function(name, PARAMETERS, what, f"return {call}", "const int32_t *")


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


def _step(code: Code, shape: Thirds, begin: tuple[str, str] | None = None) -> None:
    """A tap of all pixels and channels of the group; the sums begin with two values where these are named."""
    for first in range(0, shape.channels, 2):
        code("ldrsb %weight, [%weights], #1", "weights of two channels")
        code("ldrsb %other_weight, [%weights], #1")
        for place in range(shape.pairs):
            if first == 0:
                code("ldrd %near, %far, [%column], #8", "a tap of 3 pixels")
            for weight, channel in (("weight", first), ("other_weight", first + 1)):
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


def _begin_group(code: Code) -> None:
    zeros = [f"%zero_{number}" for number in range(6)]
    for zero in zeros:
        code(f"mov {zero}, #0")
    _sums_of_block(code)
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


def _next_segment(code: Code, shape: Thirds) -> None:
    """The sums of a segment to those of the segments before, and on to the next one unless it was the last."""
    _sums_of_block(code)
    for channel in range(shape.channels):
        for words in shape.words(channel):
            _separate(code, words, "middle")
            for value in (words[0], "middle", words[1]):
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


def _end_of_group(code: Code, shape: Thirds, form: Form, is_long: bool) -> None:
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
        if is_long:
            sums = [f"sum_{pixel}" for pixel in range(shape.pixels)]
            _sums_of_block(code, 4 * shape.pixels * channel)
            code(f"ldm %sums, {{{', '.join(f'%{each}' for each in sums)}}}")
            _store_sums(code, form, sums)
        else:
            _store_words(code, form, shape.words(channel), channel == 0)
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


def _store_words(code: Code, form: Form, words: list[tuple[str, str]], is_first: bool) -> None:
    """Of a channel, whose sums are separated as they are needed; `is_first`: the stride has not come yet."""
    _separate(code, words[0], "middle")
    first, second = words[0]
    store(code, form, first, "[%output]")
    if is_first:
        code("get %stride")
    if len(words) == 1:
        store(code, form, "middle", "[%output, %stride]")
        store(code, form, second, "[%output, %stride, lsl #1]")
        code("adds %output, %output, #1")
        return
    store(code, form, second, "[%output, %stride, lsl #1]")
    _separate(code, words[1], "other_middle")
    _store_far(code, form, ["middle", words[1][0], "other_middle", words[1][1]])


def _store_sums(code: Code, form: Form, sums: list[str]) -> None:
    """Of a channel."""
    store(code, form, sums[0], "[%output]")
    if len(sums) == 3:
        store(code, form, sums[1], "[%output, %stride]")
        store(code, form, sums[2], "[%output, %stride, lsl #1]")
        code("adds %output, %output, #1")
        return
    store(code, form, sums[2], "[%output, %stride, lsl #1]")
    _store_far(code, form, [sums[1], *sums[3:]])


def _store_far(code: Code, form: Form, sums: list[str]) -> None:
    """Pixels 1, 3, 4 and 5; the output then ends at the next channel."""
    store(code, form, sums[2], "[%output, %stride, lsl #2]")
    code("add %output, %output, %stride")
    store(code, form, sums[1], "[%output, %stride, lsl #1]")
    store(code, form, sums[3], "[%output, %stride, lsl #2]")
    store(code, form, sums[0], "[%output], #1")
    code("sub %output, %output, %stride")


def _look_for_lines(code: Code, shape: Thirds) -> None:
    """To the end where a channel of the group has none."""
    for channel in range(shape.channels):
        code(f"ldr %factor, [%numbers, #{12 * channel}]")
        code("cmp %factor, #0")
        code("beq %exact")


def _hand_sums_out(code: Code, shape: Thirds, is_long: bool) -> None:
    code.label("exact", "a channel without a line: the caller computes the group")
    if not is_long:
        _sums_of_block(code)
        for channel in range(shape.channels):
            for words in shape.words(channel):
                _separate(code, words, "middle")
                for value in (words[0], "middle", words[1]):
                    code(f"str %{value}, [%sums], #4")
    code("get %numbers")
    code("b %stop")


def segment_taps(rows: numpy.ndarray, unroll: int, is_any: bool) -> int:
    """How many taps of these rows [channels, taps] go together, so that every sum fits: all of them, or a number of whole turns
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
