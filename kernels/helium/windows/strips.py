# SPDX-License-Identifier: MIT
"""Depthwise convolution, one channel at a time: its bytes are copied into strips of some rows, column by column, with their pads.

A patch is a run of bytes of a strip: the columns that one window sees, or two neighbours. It is a vector, of larger windows two.
With stride 1 the next strip begins two rows further, and a patch gives outputs of two rows, by the window at two places; with
stride 2 outputs of one row. So each row is stored into two or three strips. Eight outputs are a tile: 2 x 4 or, where that needs
fewer, 4 x 2; tiles follow each other downwards.

Weights of nine bits are sums of two bytes, and each patch is multiplied with two windows; of most channels the second is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from ..core.assembly import pays_for_text
from ..core.geometry import Geometry
from ..core.rounding import Fixed, FusedForm, way_of
from .single_channels import channel_stream, fused_stream, fusing
from .strip_rows import LARGEST_OFFSET, StripRows

CYCLES_BESIDE = 5  # of a tile, which begins beside the one before
LARGEST, LARGEST_OF_BAND = 32_768, 2048  # bytes of scratch
ROWS_OF_BAND = (4, 2, 1)  # of the output that pass together
MOST_ROWS = 6  # of a strip: each row is stored into three
WORD_REACH, BYTE_REACH = 508, 127  # of the steps that loads of a patch make
PLACES = ((0, 0), (1, 0), (0, 1), (1, 1))  # row and column of the output that each lane of a vector of sums holds


@dataclass(frozen=True)
class Strips(StripRows):
    """All channels of one image; in bands of some rows of the output, and the rows of the input are known at run time.
    `adds`, `fixed`, `fused`: levels are rounded as in rounding.py."""

    adds: bool = False
    bits: int = 0  # by which sums are shifted before the bias is added: finer.py
    fused: bool = False
    fixed: Fixed | None = None
    overlaps: bool = False  # the first products of a tile come before the one before is stored
    mixed, largest, output_bytes = False, LARGEST, 1

    @classmethod
    def best(cls, shape: Geometry, clamps: bool, halves: bool = False) -> Strips | None:
        """The form with the fewest instructions that fits; None where none does."""
        forms = [form for form in (cls(shape, clamps, tall, halves) for tall in (False, True)) if form.fits]
        return min(forms, key=lambda form: form.instructions, default=None)

    @classmethod
    def of_bands(cls, shape: Geometry, clamps: bool, halves: bool) -> Strips | None:
        """The form of the most rows of little scratch, at most as many as the smallest band has; None where none fits."""
        rows = [replace(shape, out_height=count) for count in ROWS_OF_BAND if count <= shape.bands.fewest]
        forms = [form for form in (cls(some, clamps, halves=halves) for some in rows) if form.fits]
        return next((form for form in forms if form.bytes <= LARGEST_OF_BAND), forms[-1] if forms else None)

    @property
    def fits(self) -> bool:
        """Whether the window moves by one or two and fits a patch, and all offsets and copies are within limits."""
        shape = self.shape
        rows, columns = self.tile
        farthest = (rows - 1) * shape.out_width + columns - 1
        return (
            shape.stride_height == shape.stride_width <= 2
            and shape.dilation_height == shape.dilation_width == 1
            and self._window_fits
            and self.bytes <= self.largest
            and max(farthest, 7) * shape.channels <= LARGEST_OFFSET
            and min(self.copied) > 0
            and (shape.bands is None or shape.batches == 1)
        )

    @property
    def _window_fits(self) -> bool:
        height, width = self.reach
        is_high = self.halves or height > 1
        return self.is_small or is_high and self.rows_of_strip <= MOST_ROWS and width * self.rows_of_strip <= 16 * self.loads

    @property
    def may_overlap(self) -> bool:
        """Whether registers are free for the first products of the next tile."""
        return not self.clamps

    @property
    def works_in_place(self) -> bool:
        """Whether the output may lie where the input is: a channel reads and writes no other's bytes, and is copied as a whole
        before it is written; no image may reach into the next one."""
        shape = self.shape
        return shape.batches == 1 or shape.out_height * shape.out_width <= shape.in_height * shape.in_width

    @property
    def pays_twice(self) -> bool:
        """Whether lines have so many whole tiles that two in a turn of their loop pay for their text."""
        whole = self.shape.out_height // self.tile[0]
        is_possible = not self.ends_apart and whole > 0 and whole % 2 == 0
        return is_possible and self._pays(self.shape.channels * self.tiles[1] * whole // 2)

    @property
    def ends_apart(self) -> bool:
        """Whether the last whole tile of a line is apart from the loop, so that each tile begins beside the one before."""
        return self.overlaps and self._pays(CYCLES_BESIDE * self.shape.channels * self.tiles[1] * (self.tiles[0] - 1))

    def _pays(self, saved: int) -> bool:
        return pays_for_text(saved, len(_cuts(self.shape.out_width, self.tile[1])) * self.instructions_of_tile(self.tile))

    @property
    def name(self) -> str:
        ways = "_twice" * self.pays_twice + "_halves" * self.halves + "_tall" * self.tall + "_clamped" * self.clamps
        ways += way_of(self) + (f"_finer_{self.bits}" if self.bits else "") + "_overlapping" * self.overlaps
        return f"aidge_helium_strips_{self.shape.name}{ways}"

    @property
    def description(self) -> str:
        way = "by one fused multiplication" if self.fused else "in fixed point" if self.fixed else "in float"
        return f"one channel at a time, {self.tile[0]} x {self.tile[1]} outputs, requantized {way}"

    @property
    def numbers_bytes(self) -> int:
        """The bytes of a channel's numbers."""
        return 12 if self.fused or self.fixed else 8

    def steps(self, axis: int) -> tuple[int, int]:
        """To the next tile downwards (0) or to the right (1), in the strips and in the output."""
        count, outputs = self.tile[axis], self.tile[axis] * self.shape.channels * self.output_bytes
        if axis == 0:
            return count // self.outputs_of_strip * self.strip_bytes, outputs * self.shape.out_width
        return count * self.stride * self.rows_of_strip, outputs

    @property
    def instructions(self) -> int:
        """The instructions of one image, nearly."""
        shape, (rows, columns) = self.shape, self.tile
        far = sum(step >= 4096 for axis in (0, 1) for step in self.steps(axis))
        tiles = 0
        for beside, count in _cuts(shape.out_width, columns):
            line = 6 + far
            for along, times in _cuts(shape.out_height, rows):
                line += times * self.instructions_of_tile((along, beside)) + 2 * ((along, beside) != self.tile)
            tiles += count * line
        return shape.channels * (tiles + self.instructions_of_copy + 45)

    def instructions_of_rows(self, rows: int) -> int:
        """The instructions of a call for so many rows of a band, nearly."""
        return 60 + -(-rows // self.shape.out_height) * (60 + self.bytes // 8 + self.instructions)

    def instructions_of_tile(self, outputs: tuple[int, int]) -> int:
        """The instructions of a tile with so many stored rows and columns."""
        parts = [part for part in self.parts_of(outputs) if part]
        sums = sum(self.loads + self.vectors * len(places) for part in parts for _, places in part)
        moves = sum(len({place // 2 for _, places in part for place in places}) for part in parts)
        return sums + moves + 3 * len(parts) + 5 + (outputs != self.tile)

    @property
    def windows(self) -> list[tuple[int, int]]:
        """The places of the window in a patch: output rows below and columns to the right of the first."""
        return [(row, column) for row in range(self.outputs_of_strip) for column in range(2 if self.is_small else 1)]

    def parts_of(self, outputs: tuple[int, int]) -> list[list[tuple[int, list[int]]]]:
        """For each of the two vectors of sums its patches: where each begins in the strips, and the places of the sums of it that
        are among the first `outputs` rows and columns of the tile: of the first row 0 and 1, of the second 2 and 3."""
        found = []
        for half in (0, 1):
            stored = [
                2 * row + column
                for row in (0, 1)
                for column in (0, 1)
                if row + 2 * half * self.tall < outputs[0] and column + 2 * half * (not self.tall) < outputs[1]
            ]
            found.append([patch for patch in self._patches(half, stored) if patch[1]])
        return found

    def _patches(self, half: int, stored: list[int]) -> list[tuple[int, list[int]]]:
        """The patches of half a tile, of which the sums at these places are stored."""
        column = self.stride * self.rows_of_strip
        start = half * (2 // self.outputs_of_strip * self.strip_bytes if self.tall else 2 * column)
        rows = [(0, 1)] if self.stride == 1 else [(0,), (1,)]
        columns = [(0, 1)] if self.is_small else [(0,), (1,)]
        return [
            (
                start + of_rows[0] * self.strip_bytes + of_columns[0] * column,
                [place for place in stored if place // 2 in of_rows and place % 2 in of_columns],
            )
            for of_rows in rows
            for of_columns in columns
        ]

    def window_of(self, place: int) -> int:
        """Which of `windows` gives the sum at a place."""
        row, column = divmod(place, 2)
        return self.windows.index((row % self.outputs_of_strip, column * self.is_small))

    @property
    def taps_of_patch(self) -> list[int]:
        """For each byte of the vectors of a window the tap that is there; -1: none."""
        (height, width), size = (self.shape.kernel_height, self.shape.kernel_width), 16 * self.loads
        places = [divmod(lane, self.rows_of_strip) for lane in range(size)]
        found = [row * width + column if row < height and column < width else -1 for column, row in places]
        return [*found, *(tap + height * width if tap >= 0 else tap for tap in found)] if self.halves else found

    @property
    def lanes(self) -> list[tuple[int, int, int]]:
        """Row and column in a tile of the outputs of a vector of eight, and of which of the two vectors of sums they are."""
        return [
            (row + 2 * second * self.tall, column + 2 * second * (not self.tall), second)
            for row, column in PLACES
            for second in (0, 1)
        ]

    @property
    def places(self) -> list[int]:
        """Offsets, as halfwords: of stores, of pixels, of the taps of a window, of copied pixels."""
        shape = self.shape
        pixels = [pixel * shape.channels for pixel in range(self.together)]
        copies = [divmod(position, shape.in_width) for position in range(8 * self.periods)]
        parts = [
            self.stores,
            numpy.array(pixels, "<u2" if self.together == 8 else "<u1"),
            numpy.array([max(tap, 0) for tap in self.taps_of_patch], "<u1"),
            numpy.array([self.place_of(row, column) for row, column in copies], "<u2"),
        ]
        return numpy.frombuffer(b"".join(part.tobytes() for part in parts), "<u2").tolist()

    @property
    def stores(self) -> numpy.ndarray:
        """Offsets of the outputs of a tile, 16 bytes."""
        shape = self.shape
        return numpy.array([(row * shape.out_width + column) * shape.channels for row, column, _ in self.lanes], "<u2")

    def fused_numbers(self, numbers: LinearConstants, times: int) -> FusedForm | None:
        """The numbers of fused multiplications, if they are proved and pay for what they take of flash; the form runs `times`."""
        return fusing(numbers, self.bits, self.fixed, times * self.tiles[0] * self.tiles[1])

    def stream(self, taps: numpy.ndarray, numbers: LinearConstants, fused: FusedForm | None) -> numpy.ndarray:
        """`taps` [channels, rows, columns], integers: the head, the numbers of each channel, all taps as bytes."""
        taps = self.stored(taps)
        return channel_stream(taps, numbers, self.bits) if fused is None else fused_stream(taps, numbers, self.bits, fused)

    def stored(self, taps: numpy.ndarray) -> numpy.ndarray:
        """Taps [channels, rows, columns] as bytes: of halves those that are beyond a byte are two."""
        first = numpy.clip(taps, -128, 127)
        return (numpy.stack([first, taps - first], axis=1) if self.halves else taps).astype(numpy.int8)


def _cuts(length: int, size: int) -> list[tuple[int, int]]:
    """Sizes of the pieces, and how many there are of each."""
    return [(size, length // size), *([(length % size, 1)] if length % size else [])]
