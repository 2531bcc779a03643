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
SAVED_BYTES = 36
BLOCK, END = 0, 4  # of the arguments on the stack
FRAME = ("column", "numbers", "output", "weights", "column_end", "entry", "stride", "lowest", "highest")
LONG_FRAME = ("point", "first", "segment", "stop", "next_entry")
REGISTERS = {"factor": "r0", "numbers": "r3", "low": "r12", "high": "lr"}  # of the end of a group
TABLE, STEPS, AGAIN, DONE, EXACT, LEAVE = 9, 10, 5, 6, 3, 4  # labels


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
        """The registers of a channel's sums, two for each set of pixels."""
        first = 4 + 2 * self.pairs * channel
        return [(f"r{first + 2 * index}", f"r{first + 2 * index + 1}") for index in range(self.pairs)]

    def routine(self, form: Form, is_long: bool = False) -> tuple[str, str]:
        return routine(self, form, is_long)

    def instructions(self, form: Form, taps: int) -> int:
        end, step = Code(REGISTERS), Code(REGISTERS)
        _end_of_group(end, self, form, _Frame(False))
        _step(step, self)
        return taps * step.instructions + 2 + end.instructions


WIDE, NARROW = Thirds(2, 2, 10), Thirds(1, 4, 9)  # the fewer pixels, the less scratch
SHAPES = (WIDE, NARROW)


class _Frame:
    """Where words lie on the stack; the sums of long layers are in the block."""

    def __init__(self, is_long: bool):
        self.is_long = is_long
        self._names = FRAME + LONG_FRAME * is_long
        self.bytes = 4 * len(self._names)

    def offset(self, name: str) -> int:
        return 4 * self._names.index(name)

    def place(self, name: str) -> str:
        return f"[sp, #{self.offset(name)}]"

    def argument(self, offset: int) -> str:
        return f"[sp, #{self.bytes + SAVED_BYTES + offset}]"


def routine(shape: Thirds, form: Form, is_long: bool) -> tuple[str, str]:
    """As that of dense.py."""
    frame = _Frame(is_long)
    name = f"aidge_armv7m_thirds{'_long' * is_long}_{shape.pixels}x{shape.channels}_{form.variant}"
    code = Code(REGISTERS)
    _begin(code, frame)
    code.label(1, "a group of channels")
    if is_long:
        _begin_group(code, frame)
        code.label(AGAIN, "a segment")
    last = shape.words(shape.channels - 1)[-1]
    code(f"mov {last[0]}, #{BEGIN}", "what all sums begin with")
    code(f"orr {last[1]}, {last[0]}, #{1 << 31:#x}")
    _step(code, shape, last)
    code(f"ldr r12, {frame.place('next_entry' if is_long else 'entry')}")
    code.table_jump("r12", [*range(STEPS, STEPS + shape.unroll), DONE], TABLE)
    for index in range(shape.unroll):
        code.label(STEPS + index)
        _step(code, shape)
    code.label(DONE)
    code(f"ldr r2, {frame.place('stop' if is_long else 'column_end')}")
    code("cmp r0, r2")
    code(f"bne.w {STEPS}b")
    if is_long:
        _next_segment(code, shape, frame)
    _end_of_group(code, shape, form, frame)
    call = f"aidge_armv7m_thirds(column, weights, numbers, output, block, end, {shape.pairs}, {shape.channels}, {form.shift});"
    what = f"All channels of {shape.pixels} pixels, {shape.channels} at once."
    if form.is_proved:
        return name, code.function(name, PARAMETERS, what, f"(void){call}")
    return name, code.function(name, PARAMETERS, what, f"return {call}", "const int32_t *")


def _begin(code: Code, frame: _Frame) -> None:
    code("push {{r4-r11, lr}}")
    code(f"sub sp, sp, #{frame.bytes}")
    code(f"ldr r12, {frame.argument(BLOCK)}")
    code(f"ldm r12, {{{{r4-r{11 if frame.is_long else 8}}}}}", "column_bytes, entry, stride, limits, segments")
    code("add r4, r4, r0", "the column's end")
    code(f"add r12, sp, #{frame.offset('column')}")
    code("stm r12!, {{r0, r2, r3}}")
    code("str r1, [r12], #4")
    code(f"stm r12, {{{{r4-r{11 if frame.is_long else 8}}}}}")


def _step(code: Code, shape: Thirds, begin: tuple[str, str] | None = None) -> None:
    """A tap of all pixels and channels of the group; the sums begin with two registers where these are named."""
    for first in range(0, shape.channels, 2):
        code("ldrsb r12, [r1], #1", "weights of two channels")
        code("ldrsb lr, [r1], #1")
        for place in range(shape.pairs):
            if first == 0:
                code("ldrd r2, r3, [r0], #8", "a tap of 3 pixels")
            for weight, channel in (("r12", first), ("lr", first + 1)):
                for index, word in enumerate(("r2", "r3")):
                    total = shape.words(channel)[place][index]
                    code(f"mla {total}, {word}, {weight}, {begin[index] if begin else total}")


def _separate(code: Code, words: tuple[str, str], middle: str, spare: str) -> None:
    """The sums of three pixels: in place of the words, and that of the second one in `middle`."""
    first, second = words
    code(f"lsr {middle}, {first}, #{SUM_BITS}")
    code(f"bfc {first}, #{SUM_BITS}, #{MIDDLE}")
    code(f"sub {second}, {second}, {middle}, lsl #{MIDDLE}")
    code(f"lsr {spare}, {second}, #{2 * MIDDLE}")
    code(f"bfc {second}, #{2 * MIDDLE}, #{32 - 2 * MIDDLE}")
    code(f"add {middle}, {middle}, {spare}, lsl #{MIDDLE}")


def _begin_group(code: Code, frame: _Frame) -> None:
    for register in range(4, 10):
        code(f"mov r{register}, #0")
    _sums_of_block(code, frame, "r12")
    for _ in range(2):
        code("stm r12!, {{r4-r9}}")
    code(f"ldr r2, {frame.place('first')}")
    code(f"ldr r3, {frame.place('entry')}")
    code("add r2, r2, r0")
    code(f"strd r2, r3, {frame.place('stop')}")


def _sums_of_block(code: Code, frame: _Frame, register: str, further: int = 0) -> None:
    code(f"ldr {register}, {frame.argument(BLOCK)}")
    code(f"add {register}, {register}, #{SUMS_BYTES + further}", "sums")


def _next_segment(code: Code, shape: Thirds, frame: _Frame) -> None:
    """The sums of a segment to those of the segments before, and on to the next one. Label 7: it was the last."""
    _sums_of_block(code, frame, "lr")
    for channel in range(shape.channels):
        for words in shape.words(channel):
            _separate(code, words, "r2", "r3")
            for value in (words[0], "r2", words[1]):
                code("ldr r3, [lr]")
                code(f"add r3, r3, {value}")
                code("str r3, [lr], #4")
    code(f"ldr r2, {frame.place('column_end')}")
    code("cmp r0, r2")
    code("beq 7f")
    code(f"ldr r2, {frame.place('segment')}")
    code("movs r3, #0")
    code("add r2, r2, r0")
    code(f"strd r2, r3, {frame.place('stop')}")
    code(f"b.w {AGAIN}b")
    code.label(7)


def _end_of_group(code: Code, shape: Thirds, form: Form, frame: _Frame) -> None:
    """Factor in r0, output in r1, numbers in r3; the output's stride in r4 as soon as the sum there is used."""
    code(f"str r1, {frame.place('weights')}")
    code(f"ldr r3, {frame.place('numbers')}")
    if not form.is_proved:
        _look_for_lines(code, shape)
    code(f"ldr r1, {frame.place('output')}")
    if frame.is_long:
        code(f"ldr r4, {frame.place('stride')}")
    for channel in range(shape.channels):
        code("ldr r0, [r3], #12")
        if frame.is_long:
            _sums_of_block(code, frame, "r12", 4 * shape.pixels * channel)
            code(f"ldm r12, {{{{r5-r{4 + shape.pixels}}}}}")
            _store_sums(code, form, frame, [f"r{5 + pixel}" for pixel in range(shape.pixels)])
        else:
            _store_words(code, form, frame, shape.words(channel), channel == 0)
    code(f"ldr r2, {frame.argument(END)}")
    code(f"str r3, {frame.place('numbers')}")
    code(f"str r1, {frame.place('output')}")
    code(f"ldr r1, {frame.place('weights')}")
    code(f"ldr r0, {frame.place('column')}")
    code("cmp r3, r2")
    code("bne.w 1b")
    if not form.is_proved:
        code("movs r0, #0")
    code.label(LEAVE)
    code(f"add sp, sp, #{frame.bytes}")
    code("pop {{r4-r11, pc}}")
    if not form.is_proved:
        _hand_sums_out(code, shape, frame)


def _store_words(code: Code, form: Form, frame: _Frame, words: list[tuple[str, str]], is_first: bool) -> None:
    """Of a channel, whose sums are separated as they are needed; `is_first`: r4 is one of them."""
    _separate(code, words[0], "r2", "r12")
    first, second = words[0]
    _store(code, form, frame, first, "[r1]")
    if is_first:
        code(f"ldr r4, {frame.place('stride')}")
    if len(words) == 1:
        _store(code, form, frame, "r2", "[r1, r4]")
        _store(code, form, frame, second, "[r1, r4, lsl #1]")
        code("adds r1, r1, #1")
        return
    _store(code, form, frame, second, "[r1, r4, lsl #1]")
    _separate(code, words[1], second, "r12")
    _store_far(code, form, frame, ["r2", words[1][0], second, words[1][1]])


def _store_sums(code: Code, form: Form, frame: _Frame, sums: list[str]) -> None:
    """Of a channel."""
    _store(code, form, frame, sums[0], "[r1]")
    if len(sums) == 3:
        _store(code, form, frame, sums[1], "[r1, r4]")
        _store(code, form, frame, sums[2], "[r1, r4, lsl #1]")
        code("adds r1, r1, #1")
        return
    _store(code, form, frame, sums[2], "[r1, r4, lsl #1]")
    _store_far(code, form, frame, [sums[1], *sums[3:]])


def _store_far(code: Code, form: Form, frame: _Frame, sums: list[str]) -> None:
    """Pixels 1, 3, 4 and 5; the output then ends at the next channel."""
    _store(code, form, frame, sums[2], "[r1, r4, lsl #2]")
    code("add r1, r1, r4")
    _store(code, form, frame, sums[1], "[r1, r4, lsl #1]")
    _store(code, form, frame, sums[3], "[r1, r4, lsl #2]")
    _store(code, form, frame, sums[0], "[r1], #1")
    code("sub r1, r1, r4")


def _store(code: Code, form: Form, frame: _Frame, value: str, address: str) -> None:
    store(code, form, value, address, (frame.place("lowest"), frame.place("highest")))


def _look_for_lines(code: Code, shape: Thirds) -> None:
    """To the end where a channel of the group has none."""
    for channel in range(shape.channels):
        code(f"ldr r2, [r3, #{12 * channel}]")
        code("cmp r2, #0")
        code(f"beq.w {EXACT}f")


def _hand_sums_out(code: Code, shape: Thirds, frame: _Frame) -> None:
    code.label(EXACT, "a channel without a line: the caller computes the group")
    if not frame.is_long:
        _sums_of_block(code, frame, "lr")
        for channel in range(shape.channels):
            for words in shape.words(channel):
                _separate(code, words, "r2", "r12")
                for value in (words[0], "r2", words[1]):
                    code(f"str {value}, [lr], #4")
    code(f"ldr r0, {frame.place('numbers')}")
    code(f"b {LEAVE}b")


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
