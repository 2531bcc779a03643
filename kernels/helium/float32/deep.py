# SPDX-License-Identifier: MIT
"""float32 depthwise convolution, the channels in the lanes: blocks of neighbouring pixels share the loads of the weights and,
where all taps of a row are known, each column of the input is loaded once for all taps that see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from ..assembly import Assembler, function

LANES = 4
REGISTERS = 8
RUNS = 3  # pixels at a time, where runs of taps are seen
PARAMETERS = "aidge_helium_deep_float32 *strip, float *y, const float *stream"
FIELDS = (
    "source blocks pixel_step output_step vectors step column_step row_step first last rows taps skipped walking left right "
    "limits"
).split()
STREAM, Y, STACK = 0, 4, 12  # places on the stack; pushed registers are nine words


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

    `overlaps`: the first two vectors of channels do. `limits`: the clamp is another one than ReLU.
    """

    pixels: int
    columns: int
    stride: int
    overlaps: bool
    limits: bool

    @classmethod
    def most_pixels(cls, taps: int) -> int:
        """Of a block, where so many taps of a row are known."""
        return min(4, REGISTERS - 1 - taps)

    @classmethod
    def instructions(cls, pixels: int, taps: int, stride: int, rows: int) -> int:
        """Of a block and a vector of channels, nearly."""
        return 18 + 3 * pixels + rows * (taps + 2 * ((pixels - 1) * stride + taps) + pixels * taps + 3)

    @property
    def suffix(self) -> str:
        """Tells all that the text depends on."""
        way = f"{self.columns}_taps_stride_{self.stride}" if self.columns else "runs"
        return f"{self.pixels}x{way}{'_overlapping' * self.overlaps}{'_limits' * self.limits}"

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
            f"    aidge_helium_deep_pixels_float32(strip, y, stream, {self.pixels}, {self.columns});",
        )


class _Printer:
    """Prints one function. r1: output, r2: weights, r3: strip, r5: from column to column, r6: to the next row,
    r8: first value of a vector of channels, r9, r10: weights left out before and behind, r11: vectors, r12: rows."""

    def __init__(self, shape: Deep):
        self.shape, self.emit = shape, Assembler()
        self.sums = [f"q{pixel}" for pixel in range(shape.pixels)]

    def lines(self):
        emit, shape = self.emit, self.shape
        emit.enter(STACK)
        emit("mov r3, r0", f"str r2, [sp, #{STREAM}]")
        emit.label(1)
        emit(f"str r1, [sp, #{Y}]", f"ldr r2, [sp, #{STREAM}]", f"ldr r8, {_field('source')}", why="a block of pixels")
        emit(f"ldrd r5, r6, {_field('column_step')}", f"ldrd r9, r10, {_field('first')}")
        emit(f"ldrd r11, r0, {_field('vectors')}", f"ldr r12, {_field('rows')}")
        if shape.overlaps:
            emit(f"str r0, {_field('walking')}")
        if shape.columns:
            emit(f"ldrd r4, r7, {_field('left')}")
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
        emit(f"ldrd r0, r6, {_field('source')}", f"ldrd r4, r5, {_field('pixel_step')}", f"ldr r1, [sp, #{Y}]")
        emit(f"movs r7, #{shape.pixels}", "mla r0, r4, r7, r0", "mla r1, r5, r7, r1")
        emit("subs r6, #1", f"strd r0, r6, {_field('source')}", "bne 1b")
        emit.leave(STACK)
        return emit.lines

    def _columns(self) -> None:
        """Each column goes to all taps that see it; r4, r7: whether the first, the last one is left out."""
        emit, shape = self.emit, self.shape
        weights = [f"q{shape.pixels + tap}" for tap in range(shape.columns)]
        values = f"q{shape.pixels + shape.columns}"
        columns = (shape.pixels - 1) * shape.stride + shape.columns
        emit("mov r0, r8", "dls lr, r12")
        emit.label(3)
        emit(*(f"vldrw.u32 {weight}, [r2], #16" for weight in weights), why="a row")
        for column in range(columns):
            ends = [label for label, end in ((5, 0), (6, columns - 1)) if column == end]
            emit(*(f"cbnz {'r4' if label == 5 else 'r7'}, {label}f" for label in ends))
            seen = [(pixel, column - pixel * shape.stride) for pixel in range(shape.pixels)]
            seen = [(pixel, tap) for pixel, tap in seen if 0 <= tap < shape.columns]
            if seen:
                emit(f"vldrw.u32 {values}, [r0]")
                emit(*(f"vfma.f32 {self.sums[pixel]}, {values}, {weights[tap]}" for pixel, tap in seen))
            for label in ends:
                emit.label(label)
            emit(f"add r0, {'r6' if column == columns - 1 else 'r5'}")
        emit("le lr, 3b")

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
        emit = self.emit
        emit(f"ldr lr, {_field('limits')}")
        if not self.shape.limits:
            emit("ldr r0, [lr]", "cbnz r0, 9f", "vdup.32 q7, r0", why="ReLU")
            emit(*(f"vmax.s32 {sum_}, {sum_}, q7" for sum_ in self.sums))
            emit.label(9)
            return
        emit("ldrd r0, lr, [lr]")
        for sum_ in self.sums:
            emit(f"vpt.f32 lt, {sum_}, r0", f"vdupt.32 {sum_}, r0", f"vpt.f32 gt, {sum_}, lr", f"vdupt.32 {sum_}, lr")

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
