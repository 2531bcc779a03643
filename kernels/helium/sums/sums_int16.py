# SPDX-License-Identifier: MIT
"""Sums of int16 data times int8 weights: 8 taps in an instruction, 1 or 2 pixels by 4 channels, requantized in float32.

Weights are widened as they are loaded: 14 instructions for 64 products of two pixels. The stream holds for each group of 4
channels the biases, for each 8 taps those of each channel in turn (of the last ones no more than there are), and the
multipliers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit import linear_int16
from aidge_build.contract.kernel_kit.linear import LinearConstants
from aidge_build.contract.kernel_kit.linear_int16 import GROUP, LIMITS

from ..core.assembly import Assembler, function

LANES = 8
MOST_UNROLLED, VECTORS_IN_LOOP = 6, 4
SAVED_BYTES = 36  # r4-r11 and lr: arguments lie behind them
ACCUMULATORS = (("r0", "r2", "r4", "r6"), ("r8", "r10", "r12", "lr"))  # of each pixel; only even registers can be
SOURCES = ("r1", "r3")
PARAMETERS = "const int16_t *x, const int16_t *other, const int8_t *stream, int16_t *first, int16_t *second, const int8_t *end"


class Levels(linear_int16.Levels):
    """The same, applied to vectors."""

    def add(self, emit: Assembler, sums: Sequence[str], spare: str) -> None:
        """The zero point is added to words."""
        if self.zero_point:
            emit(f"movw {spare}, #{self.zero_point & 0xFFFF}", f"sxth {spare}, {spare}", why="zero point")
            emit(*(f"vqadd.s32 {sum_}, {sum_}, {spare}" for sum_ in sums))

    def clamp(self, emit: Assembler, levels: Sequence[str], vector: str, spare: str) -> None:
        """Halfwords come between the levels."""
        for operation, bound, limit in (("vmax", self.low, LIMITS[0]), ("vmin", self.high, LIMITS[1])):
            if bound != limit:
                emit(f"movw {spare}, #{bound & 0xFFFF}", f"vdup.16 {vector}, {spare}")
                emit(*(f"{operation}.s16 {level}, {level}, {vector}" for level in levels))


def requantize(emit: Assembler, sums: Sequence[str], multipliers: Sequence[str], levels: Levels, spare: str) -> None:
    """Vectors of sums become levels in words, not yet between their bounds."""
    emit(*(f"vcvt.f32.s32 {sum_}, {sum_}" for sum_ in sums))
    emit(*(f"vmul.f32 {sum_}, {sum_}, {factor}" for sum_, factor in zip(sums, multipliers)))
    emit(*(f"vcvtn.s32.f32 {sum_}, {sum_}" for sum_ in sums))
    levels.add(emit, sums, spare)


@dataclass(frozen=True)
class Sums:
    """The routine for so many taps of one or two pixels."""

    taps: int
    pixels: int
    levels: Levels

    @property
    def name(self) -> str:
        return f"aidge_helium_sums_int16_{self.taps}x{self.pixels}{self.levels.name}"

    def text(self) -> str:
        """The C text."""
        return function(
            self.name,
            f"{self.taps} taps of int16.",
            PARAMETERS,
            self._lines(),
        )

    def _lines(self):
        emit, (vectors, tail) = Assembler(), divmod(self.taps, LANES)
        turns = vectors // VECTORS_IN_LOOP if vectors > MOST_UNROLLED else 0
        emit("push {r4-r11, lr}", "mov r5, r2", "mov r7, r3", "mov r3, r1", "mov r1, r0")
        if self.pixels == 2:
            emit(f"ldr r9, [sp, #{SAVED_BYTES}]", "sub r9, r9, r7", why="from the outputs of the first pixel to the second's")
        if tail:
            emit(f"movs r0, #{tail}", "vctp.16 r0", why="the bytes after the data must not be read")
        emit.label(1)
        emit(f"ldm r5!, {{{', '.join(ACCUMULATORS[0])}}}", why="biases of 4 channels")
        if self.pixels == 2:
            emit(*(f"mov {other}, {one}" for one, other in zip(*ACCUMULATORS)))
        if turns:
            emit(f"movw r11, #{turns}")
            emit.label(2)
            self._vectors(emit, VECTORS_IN_LOOP)
            emit("subs r11, #1", "bne 2b")
        self._vectors(emit, vectors - turns * VECTORS_IN_LOOP)
        if tail:
            self._vector(emit, tail)
        for source in SOURCES[: self.pixels]:
            emit.move(source, -2 * LANES * (vectors + bool(tail)))
        self._store(emit)
        emit(f"ldr r0, [sp, #{SAVED_BYTES + 4}]", "cmp r5, r0", "bne 1b", "pop {r4-r11, pc}")
        return emit.lines

    def _vectors(self, emit: Assembler, count: int) -> None:
        for _ in range(count):
            self._vector(emit, LANES)

    def _vector(self, emit: Assembler, taps: int) -> None:
        """The products of so many taps; the lanes of those that are missing are 0."""
        if taps < LANES:
            emit("vpst" if self.pixels == 1 else "vpstt")
        for data, source in zip(("q0", "q1"), SOURCES[: self.pixels]):
            emit(f"vldrh{'t' * (taps < LANES)}.u16 {data}, [{source}], #{2 * LANES}")
        for registers in zip(*ACCUMULATORS[: self.pixels]):
            emit(f"vldrb.s16 q2, [r5], #{taps}")
            emit(*(f"vmladava.s16 {register}, {data}, q2" for register, data in zip(registers, ("q0", "q1"))))

    def _store(self, emit: Assembler) -> None:
        sums = ("q0", "q1")[: self.pixels]
        for vector, (first, second, third, fourth) in zip(sums, ACCUMULATORS):
            emit(f"vmov {vector}[2], {vector}[0], {first}, {third}", f"vmov {vector}[3], {vector}[1], {second}, {fourth}")
        emit("vldrw.u32 q2, [r5], #16", why="multipliers")
        requantize(emit, sums, ("q2", "q2"), self.levels, "r0")
        emit(*(f"vqmovnb.s32 {sum_}, {sum_}" for sum_ in sums))
        self.levels.clamp(emit, sums, "q2", "r0")
        if self.pixels == 2:
            emit("add r0, r7, r9", "vstrh.32 q1, [r0]")
        emit(f"vstrh.32 q0, [r7], #{2 * GROUP}")


def stream_of(rows: numpy.ndarray, numbers: LinearConstants) -> numpy.ndarray:
    """`rows` [outputs, taps] by groups of 4 outputs, of which the last overlaps the one before where that is needed."""
    starts = [min(first, len(rows) - GROUP) for first in range(0, len(rows), GROUP)]
    return numpy.concatenate([_group(rows, numbers, first) for first in starts])


def _group(rows: numpy.ndarray, numbers: LinearConstants, first: int) -> numpy.ndarray:
    block = slice(first, first + GROUP)
    taps = rows[block].astype(numpy.int8)
    parts = [taps[:, start : start + LANES].reshape(-1) for start in range(0, taps.shape[1], LANES)]
    words = (numbers.bias[block].astype("<i4"), numbers.multipliers[block].astype("<f4"))
    return numpy.concatenate([words[0].view(numpy.int8), *parts, words[1].view(numpy.int8)])
