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
SOURCES = ("%source0", "%source1")
PARAMETERS = "const int16_t *x, const int16_t *other, const int8_t *stream, int16_t *first, int16_t *second, const int8_t *end"


class Levels(linear_int16.Levels):
    """The same, applied to vectors."""

    def add(self, emit: Assembler, sums: Sequence[str]) -> None:
        """The zero point is added to words."""
        if self.zero_point:
            emit(f"movw %level, #{self.zero_point & 0xFFFF}", "sxth %level, %level", why="zero point")
            emit(*(f"vqadd.s32 {sum_}, {sum_}, %level" for sum_ in sums))

    def clamp(self, emit: Assembler, levels: Sequence[str]) -> None:
        """Halfwords come between the levels."""
        for operation, bound, limit in (("vmax", self.low, LIMITS[0]), ("vmin", self.high, LIMITS[1])):
            if bound != limit:
                emit(f"movw %level, #{bound & 0xFFFF}", "vdup.16 %q.level, %level")
                emit(*(f"{operation}.s16 {level}, {level}, %q.level" for level in levels))


def requantize(emit: Assembler, sums: Sequence[str], multipliers: Sequence[str], levels: Levels) -> None:
    """Vectors of sums become levels in words, not yet between their bounds."""
    emit(*(f"vcvt.f32.s32 {sum_}, {sum_}" for sum_ in sums))
    emit(*(f"vmul.f32 {sum_}, {sum_}, {factor}" for sum_, factor in zip(sums, multipliers)))
    emit(*(f"vcvtn.s32.f32 {sum_}, {sum_}" for sum_ in sums))
    levels.add(emit, sums)


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
        sums = [[f"%sum{pixel}_{channel}" for channel in range(GROUP)] for pixel in range(self.pixels)]
        emit("%enter", "mov %source0, %x", "mov %numbers, %stream", why="sums take the even registers")
        if self.pixels == 2:
            emit("mov %source1, %other", "ldr %second, [%argument.4]")
        if tail:
            emit(f"movs %tail, #{tail}", "vctp.16 %tail", why="the bytes after the data must not be read")
            if vectors == 0:
                emit(*(f"vmov.i32 %q.data{pixel}, #0" for pixel in range(self.pixels)), why="predicated loads read them")
        emit.label("group")
        emit(f"ldm %numbers!, {{{', '.join(sums[0])}}}", why="biases of 4 channels")
        if self.pixels == 2:
            emit(*(f"mov {other}, {one}" for one, other in zip(*sums)))
        if turns:
            emit(f"movw %turns, #{turns}")
            emit.label("turn")
            self._vectors(emit, sums, VECTORS_IN_LOOP)
            emit("subs %turns, %turns, #1", "bne %turn")
        self._vectors(emit, sums, vectors - turns * VECTORS_IN_LOOP)
        if tail:
            self._vector(emit, sums, tail)
        for source in SOURCES[: self.pixels]:
            emit.add(source, source, -2 * LANES * (vectors + bool(tail)))
        self._store(emit, sums)
        emit("ldr %end, [%argument.5]", "cmp %numbers, %end", "bne %group", "%leave")
        return emit.lines

    def _vectors(self, emit: Assembler, sums: list[list[str]], count: int) -> None:
        for _ in range(count):
            self._vector(emit, sums, LANES)

    def _vector(self, emit: Assembler, sums: list[list[str]], taps: int) -> None:
        """The products of so many taps; the lanes of the missing ones are 0."""
        if taps < LANES:
            emit("vpst" if self.pixels == 1 else "vpstt")
        for pixel, source in enumerate(SOURCES[: self.pixels]):
            emit(f"vldrh{'t' * (taps < LANES)}.u16 %q.data{pixel}, [{source}], #{2 * LANES}")
        for totals in zip(*sums):
            emit(f"vldrb.s16 %q.weights, [%numbers], #{taps}")
            emit(*(f"vmladava.s16 {total}, %q.data{pixel}, %q.weights" for pixel, total in enumerate(totals)))

    def _store(self, emit: Assembler, sums: list[list[str]]) -> None:
        vectors = [f"%q.data{pixel}" for pixel in range(self.pixels)]  # a move of two lanes keeps the others
        for vector, (first, second, third, fourth) in zip(vectors, sums):
            emit(f"vmov {vector}[2], {vector}[0], {first}, {third}", f"vmov {vector}[3], {vector}[1], {second}, {fourth}")
        emit("vldrw.u32 %q.factors, [%numbers], #16", why="multipliers")
        requantize(emit, vectors, ["%q.factors"] * self.pixels, self.levels)
        emit(*(f"vqmovnb.s32 {vector}, {vector}" for vector in vectors))
        self.levels.clamp(emit, vectors)
        emit(*(f"vstrh.32 {vector}, [{output}], #{2 * GROUP}" for vector, output in zip(vectors, ("%first", "%second"))))


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
