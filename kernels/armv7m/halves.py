# SPDX-License-Identifier: MIT
"""The dense core for cores whose long multiplications are slow: words of two pixels, 2^16 apart, times weights into 32 bits.

MLA adds weight * (first pixel + second pixel * 2^16). Both sums fit 16 bits for as many taps as the weights themselves prove;
after such a segment they are added to what they were before: S, which is first + 2^16 * second modulo 2^32, and the second alone.
4 words of two pixels meet 2 weights in a step.
"""

from __future__ import annotations

import numpy

from .assembly import Code
from .dense import PARAMETERS, Shape, store
from .packing import CHANNEL_WORDS, Form, group_starts

UNROLL = 10  # steps of the text of 48 B, which a table of bytes reaches; a segment has one tap more
LIMIT = 1 << 15  # of a sum of 16 bits, which begins with it so that its lower half is never negative
TOTALS_BYTES = 64
FRAME = ("column", "numbers", "output", "end", "begin", "stride", "lowest", "highest", "weights")
FRAME_BYTES = TOTALS_BYTES + 4 * len(FRAME)
SAVED_BYTES = 36
TABLE, STEPS, AGAIN, SPLIT, EXACT, LEAVE = 9, 10, 5, 6, 3, 4  # labels
SUMS = [f"r{register}" for register in range(4, 12)]  # 4 of a channel, then 4 of the other


class Halves(Shape):
    """4 words x 2 channels."""

    field = 16
    core = "halves"
    group_words = 1 + 2 * CHANNEL_WORDS  # before the channels: what the segments begin with, negative

    def entry(self, taps: int) -> int:
        return 0  # the stream says it of each segment

    def routine(self, form: Form) -> tuple[str, str]:
        return routine(form)


HALVES = Halves(4, 2, UNROLL)


def _place(name: str) -> str:
    return f"[sp, #{TOTALS_BYTES + 4 * FRAME.index(name)}]"


def routine(form: Form) -> tuple[str, str]:
    """As that of dense.py."""
    name = f"aidge_armv7m_halves_{form.variant}"
    code = Code({"output": "r1", "stride": "r0", "factor": "r2", "numbers": "r3", "low": "r12", "high": "lr"})
    code("push {{r4-r11, lr}}")
    code(f"sub sp, sp, #{FRAME_BYTES}")
    code(f"ldr r12, [sp, #{FRAME_BYTES + SAVED_BYTES}]")
    code("ldm r12, {{r4-r8}}", "column_bytes, entry, stride, lowest, highest")
    code("add r4, r4, r0", "the column's end")
    code(f"add r12, sp, #{TOTALS_BYTES}")
    code("stm r12!, {{r0, r2, r3}}")
    code("mov r5, r1")
    code("stm r12, {{r4-r8}}")
    code.label(1, "a group of channels")
    code("ldr r2, [r2]", "what the segments begin with, negative")
    code("movs r3, #0")
    for index in range(8):
        code(f"strd r2, r3, [sp, #{8 * index}]")
    code.label(AGAIN, "a segment")
    _first_step(code)
    code("ldrb r12, [r1], #1", "steps that it leaves out")
    code.table_jump("r12", [*range(STEPS, STEPS + UNROLL), SPLIT], TABLE)
    for index in range(UNROLL):
        code.label(STEPS + index)
        _step(code)
    code.label(SPLIT)
    _split(code)
    code(f"ldr r2, {_place('end')}")
    code("cmp r0, r2")
    code(f"bne.w {AGAIN}b")
    _end_of_group(code, form)
    call = f"aidge_armv7m_halves(column, weights, numbers, output, block, end, {form.shift});"
    what = "All channels of 8 pixels, 2 at once."
    if form.is_proved:
        return name, code.function(name, PARAMETERS, what, f"(void){call}")
    return name, code.function(name, PARAMETERS, what, f"return {call}", "const int32_t *")


def _step(code: Code, begin: str = "") -> None:
    """A tap; the sums begin with a register where one is named."""
    for half in (0, 2):
        code("ldrd r2, r3, [r0], #8", "a tap of 4 pixels")
        if half == 0:
            code("ldrsb r12, [r1], #1", "a weight")
            code("ldrsb lr, [r1], #1")
            if begin:
                code(f"mov {begin}, #{LIMIT}")
        for weight, channel in (("r12", 0), ("lr", 1)):
            for word, place in (("r2", half), ("r3", half + 1)):
                total = SUMS[4 * channel + place]
                code(f"mla {total}, {word}, {weight}, {begin or total}")


def _first_step(code: Code) -> None:
    _step(code, SUMS[-1])


def _split(code: Code) -> None:
    """The sums of a segment to S and to the second pixels' sums; what a sum has left takes in the next ones."""
    code("mov lr, sp")
    code("ldrd r2, r3, [lr]")
    _add(code, "r2", "r3", SUMS[0])
    code("strd r2, r3, [lr], #8")
    for registers, totals in (
        (("r2", "r3", "r4", "r12"), SUMS[1:3]),
        (("r2", "r3", "r4", "r5", "r6", "r12"), SUMS[3:6]),
        (("r2", "r3", "r4", "r5"), SUMS[6:8]),
    ):
        listed = ", ".join(registers)
        code(f"ldm lr, {{{{{listed}}}}}")
        for index, total in enumerate(totals):
            _add(code, registers[2 * index], registers[2 * index + 1], total)
        code(f"stm lr!, {{{{{listed}}}}}")


def _add(code: Code, both: str, second: str, total: str) -> None:
    code(f"add {both}, {both}, {total}")
    code(f"add {second}, {second}, {total}, asr #16")


def _end_of_group(code: Code, form: Form) -> None:
    code(f"str r1, {_place('weights')}")
    code(f"ldr {{numbers}}, {_place('numbers')}")
    if not form.is_proved:
        code("ldr r2, [{numbers}, #4]")
        code(f"ldr r12, [{{numbers}}, #{4 + 4 * CHANNEL_WORDS}]")
        code("cmp r2, #0")
        code("it ne")
        code("cmpne r12, #0")
        code(f"beq.w {EXACT}f")
    code("adds {numbers}, {numbers}, #4")
    code(f"ldr {{output}}, {_place('output')}")
    code(f"ldr {{stride}}, {_place('stride')}")
    for channel in range(2):
        code(f"add r12, sp, #{32 * channel}")
        code("ldm r12, {{r4-r11}}")
        for both, second in zip(SUMS[::2], SUMS[1::2]):
            code(f"sub {both}, {both}, {second}, lsl #16")
        code(f"ldr {{factor}}, [{{numbers}}], #{4 * CHANNEL_WORDS}")
        for pixel in range(0, 8, 2):
            _store(code, form, SUMS[pixel], "[{output}]")
            _store(code, form, SUMS[pixel + 1], "[{output}, {stride}]")
            code("add {output}, {output}, {stride}, lsl #1")
        code("sub {output}, {output}, {stride}, lsl #3")
        code("adds {output}, {output}, #1")
    code(f"ldr r2, [sp, #{FRAME_BYTES + SAVED_BYTES + 4}]", "end")
    code(f"str {{numbers}}, {_place('numbers')}")
    code(f"str {{output}}, {_place('output')}")
    code(f"ldr r1, {_place('weights')}")
    code(f"ldr r0, {_place('column')}")
    code("cmp {numbers}, r2")
    code("mov r2, {numbers}")
    code("bne.w 1b")
    if not form.is_proved:
        code("movs r0, #0")
    code.label(LEAVE)
    code(f"add sp, sp, #{FRAME_BYTES}")
    code("pop {{r4-r11, pc}}")
    if form.is_proved:
        return
    code.label(EXACT, "a channel without a line: the caller computes the group")
    code(f"ldr r0, [sp, #{FRAME_BYTES + SAVED_BYTES}]")
    code(f"ldr r2, {_place('begin')}")
    code("sub r1, r1, r2")
    code("str r1, [r0, #24]", "behind")
    code("adds r0, r0, #28", "sums")
    for channel in range(2):
        code(f"add r12, sp, #{32 * channel}")
        code("ldm r12, {{r4-r11}}")
        for both, second in zip(SUMS[::2], SUMS[1::2]):
            code(f"sub {both}, {both}, {second}, lsl #16")
        code("stm r0!, {{r4-r11}}")
    code(f"ldr r0, {_place('numbers')}")
    code(f"b {LEAVE}b")


def _store(code: Code, form: Form, value: str, address: str) -> None:
    limits = (_place("lowest"), _place("highest"))
    store(code, form, value, address, limits)


def segments(rows: numpy.ndarray) -> list[int]:
    """How many taps of these rows [channels, taps] go together, one segment after another: every sum stays within 16 bits."""
    ends = [rows.astype(numpy.int64) * end for end in (-128, 127)]
    lows, highs = numpy.minimum(*ends), numpy.maximum(*ends)
    found, first = [], 0
    while first < rows.shape[1]:
        window = slice(first, first + UNROLL + 1)
        fits = (numpy.cumsum(lows[:, window], axis=1) >= -LIMIT) & (numpy.cumsum(highs[:, window], axis=1) < LIMIT)
        count = int(numpy.cumprod(fits.all(axis=0)).sum())
        found.append(count)
        first += count
    return found


def pack(rows: numpy.ndarray, form: Form) -> tuple[numpy.ndarray, numpy.ndarray, int]:
    """The bytes of the weights [channels, taps], the words of the groups, and the bytes of the groups that overlap no other.

    A segment: the weights of its first tap, the number of steps that it leaves out, the weights of its other taps.
    """
    weights: list[int] = []
    numbers: list[numpy.ndarray] = []
    whole = 0
    for start in group_starts(len(rows), 2):
        group, place = rows[start : start + 2], 0
        counts = segments(group)
        for count in counts:
            taps = group[:, place : place + count].T.ravel().tolist()
            weights += [*taps[:2], UNROLL + 1 - count, *taps[2:]]
            place += count
        numbers += [numpy.array([-LIMIT * len(counts)]), form.channels[start : start + 2].ravel()]
        whole = len(weights) if start % 2 == 0 else whole
    return numpy.array(weights, numpy.int8), numpy.concatenate(numbers).astype(numpy.int32), whole
