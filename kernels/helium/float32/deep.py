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


def _field(name: str) -> str:
    return f"[%strip, #{4 * FIELDS.index(name)}]"


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
        """The weights of a row that are needed at a time."""
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
        """The instructions of a block and a vector of channels, nearly, if so many rows of taps are seen."""
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
    """Prints one function. The strip is in memory, so that what only a block of pixels needs takes no register."""

    def __init__(self, shape: Deep):
        self.shape, self.emit = shape, Assembler()
        self.sums = [f"%q.sum{pixel}" for pixel in range(shape.pixels)]

    def lines(self):
        emit, shape = self.emit, self.shape
        emit("%enter", f"str %stream, {_field('stream')}")
        emit.label("block")
        emit("put %y", "mov %to, %y", f"ldr %weights, {_field('stream')}", f"ldr %from, {_field('source')}", why="of pixels")
        emit(f"ldrd %column_step, %row_step, {_field('column_step')}", f"ldrd %before, %behind, {_field('first')}")
        emit(f"ldrd %vectors, %step, {_field('vectors')}", f"ldr %rows, {_field('rows')}")
        if shape.overlaps:
            emit(f"str %step, {_field('walking')}")
        if shape.columns:
            emit(f"ldr %ends, {_field('ends')}")
        emit.label("vector")
        emit(f"vldrw.u32 {self.sums[0]}, [%weights], #16", why="4 channels")
        emit(*(f"vmov {sum_}, {self.sums[0]}" for sum_ in self.sums[1:]))
        emit("add %weights, %weights, %before")
        if shape.columns:
            self._columns()
        else:
            self._runs()
        emit("add %weights, %weights, %behind")
        self._clamp()
        self._store()
        emit("subs %vectors, %vectors, #1", "bne %vector")
        emit(f"ldrd %source, %blocks, {_field('source')}", f"ldrd %pixel_step, %output_step, {_field('pixel_step')}", "get %y")
        emit(f"movs %pixels, #{shape.pixels}", "mla %source, %pixel_step, %pixels, %source", "mla %y, %output_step, %pixels, %y")
        emit("subs %blocks, %blocks, #1", f"strd %source, %blocks, {_field('source')}", "bne %block", "%leave")
        return emit.lines

    def _columns(self) -> None:
        """The pointer begins at the first column inside."""
        emit, shape = self.emit, self.shape
        emit("mov %data, %from", "msr APSR_nzcvq, %ends", "dls lr, %rows")
        emit.label("row")
        for column in range(shape.reach):
            self._column(column)
        emit("add %data, %data, %row_step", "le lr, %row")

    def _column(self, column: int) -> None:
        """A column goes to all taps that see it."""
        emit, shape = self.emit, self.shape
        to_end = shape.reach - 1 - column
        if column < shape.columns:
            emit(f"vldrw.u32 {self._weight(column)}, [%weights], #16", why="a row" if column == 0 else "")
        ends = self._ends(column, to_end)
        emit(*(f"{branch} %{label}" for label, branch in ends.items()))
        seen = [(pixel, column - pixel * shape.stride) for pixel in range(shape.pixels)]
        seen = [(pixel, tap) for pixel, tap in seen if 0 <= tap < shape.columns]
        moves = shape.apart > 0 and to_end > 0
        if seen:
            emit(f"vldrw.u32 %q.values, [%data]{f', #{shape.apart}' * moves}")
            emit(*(f"vfma.f32 {self.sums[pixel]}, %q.values, {self._weight(tap)}" for pixel, tap in seen))
        if to_end > 0 and not (moves and seen):
            emit("add %data, %data, %column_step")
        for label in ends:
            emit.label(label)

    def _ends(self, column: int, to_end: int) -> dict[str, str]:
        """The labels behind a column that may be outside, and the branches that go there."""
        places = range(self.shape.outside)
        left = {f"left{place}": LEFT[place] for place in places if place == column}
        return left | {f"right{place}": RIGHT[place] for place in places if place == to_end}

    def _weight(self, tap: int) -> str:
        return f"%q.weight{tap % self.shape.weights}"

    def _runs(self) -> None:
        emit, shape = self.emit, self.shape
        sources = [f"%data{pixel}" for pixel in range(shape.pixels)]
        emit(f"mov {sources[0]}, %from", *([f"ldr %pixel_step, {_field('pixel_step')}"] if shape.pixels > 1 else []))
        emit(*(f"add {source}, {before}, %pixel_step" for before, source in zip(sources, sources[1:])))
        emit("mov %left, %rows")
        emit.label("row")
        emit(f"ldr %taps, {_field('taps')}", "wls lr, %taps, %summed")
        emit.label("tap")
        emit("vldrw.u32 %q.weight, [%weights], #16")
        for sum_, source in zip(self.sums, sources):
            emit(f"vldrw.u32 %q.values, [{source}]", f"add {source}, {source}, %column_step")
            emit(f"vfma.f32 {sum_}, %q.values, %q.weight")
        emit("le lr, %tap")
        emit.label("summed")
        emit(f"ldr %skipped, {_field('skipped')}", "add %weights, %weights, %skipped")
        emit(*(f"add {source}, {source}, %row_step" for source in sources), "subs %left, %left, #1", "bne %row")

    def _clamp(self) -> None:
        emit, clamp = self.emit, self.shape.clamp
        if clamp == "limits":
            emit(f"ldr %limits, {_field('limits')}", "ldrd %lowest, %highest, [%limits]")
        elif clamp:
            emit("vmov.i32 %q.zero, #0")
        for sum_ in self.sums:
            emit(*clamp_lines(clamp, sum_, "%lowest" if clamp == "limits" else "%q.zero", "%highest"))

    def _store(self) -> None:
        """The pointers move on to the next channels."""
        emit, shape = self.emit, self.shape
        target = "%to"
        if shape.pixels > 1:
            emit(f"ldr %output_step, {_field('output_step')}")
        for sum_ in self.sums[1:]:
            emit(f"add %target, {target}, %output_step", f"vstrw.32 {sum_}, [%target]")
            target = "%target"
        if not shape.overlaps:
            emit(f"vstrw.32 {self.sums[0]}, [%to], #16", "add %from, %from, #16")
            return
        emit(
            f"vstrw.32 {self.sums[0]}, [%to]", f"ldr %step, {_field('walking')}", "add %to, %to, %step", "add %from, %from, %step"
        )
        emit("movs %step, #16", f"str %step, {_field('walking')}")
