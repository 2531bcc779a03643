# SPDX-License-Identifier: MIT
"""float32 pixels x output channels: the channels lie in the lanes, the values of the input are scalars.

A block of three pixels and eight channels keeps six vectors of sums; of each value of the window two vectors of weights are
loaded, and two values of a pixel at a time: 19 instructions for 48 multiply-accumulates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from ..core.assembly import Assembler, function
from .real import clamp_lines

LANES = 4
GROUP = 8  # output channels at a time
WIDE = 16  # of a single pixel
PIXELS = 3  # at a time, at most
PARAMETERS = "aidge_helium_strip_float32 *strip, float *y, const float *stream"
FIELDS = (
    "blocks source pixel_step output_step rows first taps quads singles last row_step skipped tap_step channels limits"
).split()
STREAM, Y, GROUPS, TARGET, TAPS = 0, 4, 8, 12, 16  # places on the stack
DATA = (("r4", "r5"), ("r6", "r7"), ("r8", "r9"))  # two values of each pixel
ALONE = ("r4", "r5", "r6", "r7")  # four values of a single one
SOURCES = ("r10", "r11", "r12")


SLACK = numpy.zeros(LANES - 1, numpy.float32)  # behind a stream: whole vectors are read


def stream_of(rows: numpy.ndarray, bias: numpy.ndarray, group: int = GROUP) -> numpy.ndarray:
    """Rows [outputs, values] by groups of outputs and the rest: biases, then one weight of each for each value."""
    blocks = [slice(first, first + group) for first in range(0, len(rows), group)]
    return numpy.concatenate([numpy.concatenate([bias[block], rows[block].T.ravel()]) for block in blocks])


def _field(name: str) -> str:
    return f"[r3, #{4 * FIELDS.index(name)}]"


@dataclass(frozen=True)
class Strip:
    """`pixels` at a time; whole groups of channels if `has_groups`, then the rest.

    `rest`: 0, a multiple of 4, or the most channels that the text is for, 3, 7 and so on. `apart`: the runs of a row lie apart
    from each other. `limits`: the clamp is another one than ReLU. `run`: values of a row, in a straight line, where
    all pixels see them and none sees no row; 0: as the strip says.
    """

    pixels: int
    has_groups: bool
    rest: int
    apart: bool
    limits: bool
    group: int = GROUP
    run: int = 0

    @classmethod
    def of(cls, pixels: int, channels: int, apart: bool, limits: bool, group: int = GROUP, run: int = 0) -> Strip:
        rest = channels % group
        kind = rest if rest % LANES == 0 else -(-rest // LANES) * LANES - 1
        return cls(pixels, channels >= group, kind, apart, limits, group, run)

    @property
    def suffix(self) -> str:
        """Tells all that the text depends on but the number of pixels."""
        rest = f"{'up_to_' * (self.rest % LANES > 0)}{self.rest or ''}"
        channels = f"{f'{self.group}s' if self.has_groups else ''}{'_' * bool(self.has_groups and rest)}{rest}"
        return f"{channels}{'_apart' * self.apart}{f'_runs_of_{self.run}' * (self.run > 0)}{'_limits' * self.limits}"

    @property
    def name(self) -> str:
        return f"aidge_helium_pixels_float32_{self.pixels}x{self.suffix}"

    def text(self) -> str:
        """The C text."""
        return function(
            self.name,
            f"Blocks of {self.pixels} pixel{'s' * (self.pixels > 1)} of a float32 convolution.",
            PARAMETERS,
            _Printer(self).lines(),
        )


class _Printer:
    """Prints one function. r1: output, r2: weights, r3: strip, lr: loops."""

    def __init__(self, shape: Strip):
        self.shape, self.emit = shape, Assembler()

    def lines(self):
        emit, shape = self.emit, self.shape
        stack = TAPS + 4 if shape.apart else TARGET + 4 if shape.rest % LANES else TARGET
        emit.enter(stack)
        emit("mov r3, r0", f"str r2, [sp, #{STREAM}]")
        emit.label(1)
        emit(f"str r1, [sp, #{Y}]", why="a block of pixels")
        if shape.has_groups:
            emit(f"ldr r4, {_field('channels')}", f"lsrs r4, r4, #{shape.group.bit_length() - 1}")
            emit.label(2)
            emit(f"str r4, [sp, #{GROUPS}]", why="a group of channels")
            self._channels(shape.group)
            emit(f"ldr r4, [sp, #{GROUPS}]", "subs r4, #1", "bne 2b")
        if shape.rest:
            self._channels(shape.rest)
        emit(f"ldrd r6, r0, {_field('blocks')}", f"ldrd r4, r5, {_field('pixel_step')}", f"ldrd r2, r1, [sp, #{STREAM}]")
        if shape.pixels > 1:
            emit(f"movs r7, #{shape.pixels}", "mla r0, r4, r7, r0", "mla r1, r5, r7, r1")
        else:
            emit("add r0, r4", "add r1, r5")
        emit("subs r6, #1", f"strd r6, r0, {_field('blocks')}", "bne 1b")
        emit.leave(stack)
        return emit.lines

    def _channels(self, channels: int) -> None:
        """The sums of all pixels of the block for so many channels, from biases to what is stored."""
        emit, pixels, vectors = self.emit, self.shape.pixels, -(-channels // LANES)
        sums = [[f"q{pixel * vectors + vector}" for vector in range(vectors)] for pixel in range(pixels)]
        if channels % LANES:
            emit(f"str r1, [sp, #{TARGET}]", f"ldr r1, {_field('channels')}")
            emit(*([f"and r1, r1, #{self.shape.group - 1}"] if self.shape.has_groups else []), "lsls r1, #2")
        emit(f"ldrd {SOURCES[0]}, r4, {_field('source')}")
        for before, source in zip(SOURCES, SOURCES[1:pixels]):
            emit(f"add {source}, {before}, r4")
        self._load(sums[0], channels, "biases")
        for more in sums[1:]:
            emit(*(f"vmov {target}, {bias}" for target, bias in zip(more, sums[0])))
        emit(f"ldrd r0, r4, {_field('rows')}")
        self._skip(channels)
        emit.label(3)
        if self.shape.run:
            self._straight_row(channels, sums)
        else:
            self._row(channels, sums)
            emit("b 3b")
            emit.label(8)
        emit(f"ldr r4, {_field('last')}")
        self._skip(channels)
        self._clamp([sum_ for pixel in sums for sum_ in pixel])
        self._store(channels, sums)

    def _row(self, channels: int, sums: list[list[str]]) -> None:
        emit, pixels = self.emit, self.shape.pixels
        if self.shape.apart:
            emit(f"ldr r4, {_field('taps')}", f"str r4, [sp, #{TAPS}]")
            emit.label(7)
        emit(f"ldr r4, {_field('quads')}", "wls lr, r4, 5f")
        emit.label(4)
        if pixels == 1:
            emit(f"ldm {SOURCES[0]}!, {{{', '.join(ALONE)}}}")
            for register in ALONE:
                self._value(channels, sums, [register])
        else:
            for _ in range(2):
                self._pair(channels, sums)
        emit("le lr, 4b")
        emit.label(5)
        emit(f"ldr r4, {_field('singles')}", "wls lr, r4, 6f")
        emit.label(4)
        self._single(channels, sums)
        emit("le lr, 4b")
        emit.label(6)
        if self.shape.apart:
            emit(f"ldr r5, {_field('tap_step')}", f"ldr r4, [sp, #{TAPS}]")
            emit(*(f"add {source}, r5" for source in SOURCES[:pixels]))
            emit("subs r4, #1", f"str r4, [sp, #{TAPS}]", "bne 7b")
        emit("subs r0, #1", "beq 8f", f"ldrd r5, r4, {_field('row_step')}")
        emit(*(f"add {source}, r5" for source in SOURCES[:pixels]))
        self._skip(channels)

    def _straight_row(self, channels: int, sums: list[list[str]]) -> None:
        """The pointers move on behind the last row, too."""
        emit, pixels = self.emit, self.shape.pixels
        for _ in range(self.shape.run // 2):
            self._pair(channels, sums)
        if self.shape.run % 2:
            self._single(channels, sums)
        emit(f"ldr r5, {_field('row_step')}", *(f"add {source}, r5" for source in SOURCES[:pixels]))
        emit("subs r0, #1", "bne 3b")

    def _pair(self, channels: int, sums: list[list[str]]) -> None:
        """The next two values of each pixel."""
        data = DATA[: self.shape.pixels]
        self.emit(*(f"ldrd {one}, {other}, [{source}], #8" for (one, other), source in zip(data, SOURCES)))
        for registers in zip(*data):
            self._value(channels, sums, registers)

    def _single(self, channels: int, sums: list[list[str]]) -> None:
        singles = [data[0] for data in DATA[: self.shape.pixels]]
        self.emit(*(f"ldr {single}, [{source}], #4" for single, source in zip(singles, SOURCES)))
        self._value(channels, sums, singles)

    def _value(self, channels: int, sums: list[list[str]], values: Sequence[str]) -> None:
        """One value of each pixel, in these registers."""
        weights = [f"q{len(sums) * len(sums[0]) + vector}" for vector in range(len(sums[0]))]
        self._load(weights, channels)
        for vector, weight in enumerate(weights):
            self.emit(*(f"vfma.f32 {pixel[vector]}, {weight}, {value}" for pixel, value in zip(sums, values)))

    def _load(self, registers: list[str], channels: int, why: str = "") -> None:
        """The next number of each channel; lanes without a channel get what lies behind and are not stored."""
        for vector in range(1, len(registers)):
            self.emit(f"vldrw.u32 {registers[vector]}, [r2, #{4 * LANES * vector}]")
        if channels % LANES:
            self.emit(f"vldrw.u32 {registers[0]}, [r2]", "add r2, r1", why=why)
        else:
            self.emit(f"vldrw.u32 {registers[0]}, [r2], #{4 * channels}", why=why)

    def _skip(self, channels: int) -> None:
        """Weights of r4 values are left out."""
        if channels % LANES:
            self.emit("mla r2, r4, r1, r2")
        elif channels & (channels - 1):
            self.emit(f"movs r5, #{4 * channels}", "mla r2, r4, r5, r2")
        else:
            self.emit(f"add r2, r2, r4, lsl #{channels.bit_length() + 1}")

    def _clamp(self, sums: list[str]) -> None:
        emit = self.emit
        if not self.shape.limits:
            emit(f"ldr r4, {_field('limits')}", "ldr r4, [r4]", "cbnz r4, 9f", "vdup.32 q7, r4", why="ReLU")
            emit(*(f"vmax.s32 {sum_}, {sum_}, q7" for sum_ in sums))
            emit.label(9)
            return
        emit(f"ldr r4, {_field('limits')}", "ldrd r4, r5, [r4]")
        for sum_ in sums:
            emit(*clamp_lines("limits", sum_, "r4", "r5"))

    def _store(self, channels: int, sums: list[list[str]]) -> None:
        """r1 moves on to the next channels."""
        emit, masked = self.emit, channels % LANES > 0
        if masked:
            emit(f"ldr r1, [sp, #{TARGET}]", f"ldr r4, {_field('channels')}", "and r4, r4, #3", "vctp.32 r4")
        if len(sums) > 1:
            emit(f"ldr r4, {_field('output_step')}")
        target = "r1"
        for pixel in sums:
            if pixel is not sums[0]:
                emit(f"add r5, {target}, r4")
                target = "r5"
            for vector, sum_ in enumerate(pixel):
                if masked and vector == len(pixel) - 1:
                    emit("vpst", f"vstrwt.32 {sum_}, [{target}, #{4 * LANES * vector}]")
                else:
                    emit(f"vstrw.32 {sum_}, [{target}, #{4 * LANES * vector}]")
        if channels == self.shape.group:
            emit(f"adds r1, #{4 * channels}")
