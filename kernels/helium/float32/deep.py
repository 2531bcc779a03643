# SPDX-License-Identifier: MIT
"""float32 depthwise convolution, the channels in the lanes: blocks of neighbouring pixels share the loads of the weights and,
where all taps of a row are known, each column of the input is loaded once for all taps that see it, and each weight is kept no
longer than until the last pixel has seen it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from ..core.assembly import Assembler, function
from .real import clamp_lines

LANES = 4
REGISTERS = 8
RUNS = 3  # pixels at a time, where runs of taps are seen
PARAMETERS = "aidge_helium_deep_float32 *strip, float *y, const float *stream"
FIELDS = (
    "source blocks pixel_step output_step vectors step column_step row_step first last rows taps skipped walking ends limits "
    "stream"
).split()
LEFT, RIGHT = ("bmi", "beq"), ("bcs", "bvs")  # by the flags of `ends`: whether the first or last column, or two, lie outside
STACK = 4  # bytes: where the output of a block begins


def _field(name: str) -> str:
    return f"[r3, #{4 * FIELDS.index(name)}]"


def deep_stream(taps: numpy.ndarray, bias: numpy.ndarray) -> numpy.ndarray:
    """`taps` [channels, taps]: for each vector of channels biases, then weights; the first two vectors may overlap."""
    channels, over = len(taps), len(taps) % LANES
    firsts = [0, *range(over or LANES, channels, LANES)] if channels > LANES else [0]
    numbers = numpy.concatenate([bias[:, None], taps], axis=1).astype(numpy.float32)
    return numpy.concatenate([numbers[first : first + LANES].T.ravel() for first in firsts])


@dataclass(frozen=True)
class Deep:
    """`pixels` at a time. `columns`: taps of a row, a stride `stride` of pixels; 0: runs of taps, in a loop.

    `overlaps`: the first two vectors of channels do. `clamp`: "" for none, "relu" or "limits". `apart`: bytes from a column
    to the next one, where loads move on by themselves; 0: as the strip says.
    """

    pixels: int
    columns: int
    stride: int
    overlaps: bool
    clamp: str
    apart: int = 0

    @property
    def fits(self) -> bool:
        """Whether sums, weights and a column have registers."""
        return self.pixels + self.weights < REGISTERS

    @property
    def weights(self) -> int:
        """Of a row that are wanted at a time."""
        return min(self.columns, (self.pixels - 1) * self.stride + 1)

    @property
    def reach(self) -> int:
        """Columns that a block sees."""
        return (self.pixels - 1) * self.stride + self.columns

    @property
    def outside(self) -> int:
        """Columns that may lie outside on each side; 0: no block sees pads."""
        return 0 if self.columns == 0 else 1 if self.columns < 4 else 2

    def instructions(self, rows: int) -> int:
        """Of a block and a vector of channels, nearly, where so many rows of taps are seen."""
        moves = 0 if self.apart else self.reach - 1
        return (
            20 + 3 * self.pixels + rows * (self.columns + self.reach + moves + self.pixels * self.columns + 2 * self.outside + 2)
        )

    @property
    def suffix(self) -> str:
        """Tells all that the text depends on."""
        way = f"{self.columns}_taps_stride_{self.stride}" if self.columns else "runs"
        way += f"_{self.apart}_apart" if self.apart else ""
        return f"{self.pixels}x{way}{'_overlapping' * self.overlaps}{f'_{self.clamp}' * (self.clamp != '')}"

    @property
    def name(self) -> str:
        return f"aidge_helium_deep_pixels_float32_{self.suffix}"

    def text(self) -> str:
        """The C text."""
        return function(
            self.name,
            f"Blocks of {self.pixels} pixel{'s' * (self.pixels > 1)} of a float32 depthwise convolution.",
            PARAMETERS,
            _Printer(self).lines(),
        )


class _Printer:
    """Prints one function. r1: output, r2: weights, r3: strip, r4: ends, r5: from column to column, r6: to the next row,
    r8: first value of a vector of channels, r9, r10: weights left out before and behind, r11: vectors, r12: rows."""

    def __init__(self, shape: Deep):
        self.shape, self.emit = shape, Assembler()
        self.sums = [f"q{pixel}" for pixel in range(shape.pixels)]

    def lines(self):
        emit, shape = self.emit, self.shape
        emit.enter(STACK)
        emit("mov r3, r0", f"str r2, {_field('stream')}")
        emit.label(1)
        emit("str r1, [sp]", f"ldr r2, {_field('stream')}", f"ldr r8, {_field('source')}", why="a block of pixels")
        emit(f"ldrd r5, r6, {_field('column_step')}", f"ldrd r9, r10, {_field('first')}")
        emit(f"ldrd r11, r0, {_field('vectors')}", f"ldr r12, {_field('rows')}")
        if shape.overlaps:
            emit(f"str r0, {_field('walking')}")
        if shape.columns:
            emit(f"ldr r4, {_field('ends')}")
        emit.label(2)
        emit("vldrw.u32 q0, [r2], #16", why="4 channels")
        emit(*(f"vmov {sum_}, q0" for sum_ in self.sums[1:]))
        emit("add r2, r9")
        if shape.columns:
            self._columns()
        else:
            self._runs()
        emit("add r2, r10")
        self._clamp()
        self._store()
        emit("subs r11, #1", "bne 2b")
        emit(f"ldrd r0, r6, {_field('source')}", f"ldrd r4, r5, {_field('pixel_step')}", "ldr r1, [sp]")
        emit(f"movs r7, #{shape.pixels}", "mla r0, r4, r7, r0", "mla r1, r5, r7, r1")
        emit("subs r6, #1", f"strd r0, r6, {_field('source')}", "bne 1b")
        emit.leave(STACK)
        return emit.lines

    def _columns(self) -> None:
        """Each column goes to all taps that see it. The pointer begins at the first one inside."""
        emit, shape = self.emit, self.shape
        weights = [f"q{shape.pixels + tap % shape.weights}" for tap in range(shape.columns)]
        values, last = f"q{shape.pixels + shape.weights}", shape.reach - 1
        emit("mov r0, r8", "msr APSR_nzcvq, r4", "dls lr, r12")
        emit.label(3)
        for column in range(shape.reach):
            if column < shape.columns:
                emit(f"vldrw.u32 {weights[column]}, [r2], #16", why="a row" if column == 0 else "")
            ends = [(LEFT[column], 5 + column)] if column < shape.outside else []
            ends += [(RIGHT[last - column], 7 + last - column)] if last - column < shape.outside else []
            emit(*(f"{branch} {label}f" for branch, label in ends))
            seen = [(pixel, column - pixel * shape.stride) for pixel in range(shape.pixels)]
            seen = [(pixel, tap) for pixel, tap in seen if 0 <= tap < shape.columns]
            moves = shape.apart > 0 and column < last
            if seen:
                emit(f"vldrw.u32 {values}, [r0]{f', #{shape.apart}' * moves}")
                emit(*(f"vfma.f32 {self.sums[pixel]}, {values}, {weights[tap]}" for pixel, tap in seen))
            emit(*([] if column == last or (moves and seen) else ["add r0, r5"]))
            for _, label in ends:
                emit.label(label)
        emit("add r0, r6", "le lr, 3b")

    def _runs(self) -> None:
        emit, shape = self.emit, self.shape
        weight, values = f"q{shape.pixels}", f"q{shape.pixels + 1}"
        sources = ("r0", "r4", "r7")[: shape.pixels]
        emit("mov r0, r8", *([f"ldr lr, {_field('pixel_step')}"] if shape.pixels > 1 else []))
        emit(*(f"add {source}, {before}, lr" for before, source in zip(sources, sources[1:])))
        emit(f"ldr r12, {_field('rows')}")
        emit.label(3)
        emit(f"ldr lr, {_field('taps')}", "wls lr, lr, 5f")
        emit.label(4)
        emit(f"vldrw.u32 {weight}, [r2], #16")
        for sum_, source in zip(self.sums, sources):
            emit(f"vldrw.u32 {values}, [{source}]", f"add {source}, r5", f"vfma.f32 {sum_}, {values}, {weight}")
        emit("le lr, 4b")
        emit.label(5)
        emit(f"ldr lr, {_field('skipped')}", "add r2, lr", *(f"add {source}, r6" for source in sources))
        emit("subs r12, #1", "bne 3b")

    def _clamp(self) -> None:
        emit, clamp = self.emit, self.shape.clamp
        if clamp == "limits":
            emit(f"ldr lr, {_field('limits')}", "ldrd r0, lr, [lr]")
        elif clamp:
            emit("vmov.i32 q7, #0")
        for sum_ in self.sums:
            emit(*clamp_lines(clamp, sum_, "r0" if clamp == "limits" else "q7", "lr"))

    def _store(self) -> None:
        """r1 and r8 move on to the next channels."""
        emit, shape = self.emit, self.shape
        target = "r1"
        if shape.pixels > 1:
            emit(f"ldr r0, {_field('output_step')}")
        for sum_ in self.sums[1:]:
            emit(f"add lr, {target}, r0", f"vstrw.32 {sum_}, [lr]")
            target = "lr"
        if not shape.overlaps:
            emit("vstrw.32 q0, [r1], #16", "add r8, #16")
            return
        emit("vstrw.32 q0, [r1]", f"ldr lr, {_field('walking')}", "add r1, lr", "add r8, lr")
        emit("movs r0, #16", f"str r0, {_field('walking')}")
