# SPDX-License-Identifier: MIT
"""Depthwise convolution of small windows in strips, one channel at a time: the rows that one row of patches sees lie column by
column.

A patch is a run of 16 bytes. With stride 1 a strip has four rows, of which two are rows of the next strip, too, and a patch of
four columns gives 2 x 2 outputs by four VMLADAV with the window at its four places; with stride 2 it has three rows, of which one
is shared, and five columns give two neighbours by two. A row is therefore stored into two strips. Eight outputs are a tile: 2 x 4
or, where that needs fewer, 4 x 2; one tile follows below the other.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from .assembly import pays_for_text
from .channel_stream import channel_stream, fusing
from .geometry import Geometry
from .rounding import Fixed, FusedForm, fixed_in_c, way_of

LARGEST_WINDOW = 3  # rows, and columns
LARGEST_STRIPS = 6144  # bytes of scratch
LARGEST_OFFSET, LARGEST_NARROW_OFFSET = 65_535, 255
MOST_CHUNKS = 4  # of a copied row: each has a register for its places
MOST_PERIODS = 16  # vectors after which the places of copied pixels repeat
REACH = 508  # of the steps that loads of a patch make
PLACES = ((0, 0), (1, 0), (0, 1), (1, 1))  # row and column of the output that each lane of a vector of sums holds


def _cuts(length: int, size: int) -> list[tuple[int, int]]:
    """Sizes of the pieces, and how many there are of each."""
    return [(size, length // size), *([(length % size, 1)] if length % size else [])]


@dataclass(frozen=True)
class Strips:
    """All channels of one image. `tall`: tiles of 4 x 2 outputs; `adds`, `fixed`, `fused`: levels are rounded as in
    rounding.py."""

    shape: Geometry
    clamps: bool = False
    tall: bool = False
    adds: bool = False
    bits: int = 0  # by which sums are shifted before the bias is added: finer.py
    fused: bool = False
    fixed: Fixed | None = None
    wide: bool = False  # weights are sums of two bytes, the second of which is 0 in most channels
    overlaps: bool = False  # the first products of a tile come before the one before is stored
    largest_plane: ClassVar[int] = LARGEST_STRIPS
    mixed = False  # all channels are rounded alike

    @classmethod
    def best(cls, shape: Geometry, clamps: bool, wide: bool = False) -> Strips | None:
        """The form with the fewest instructions that fits; None where none does."""
        forms = [form for form in (cls(shape, clamps, tall, wide=wide) for tall in (False, True)) if form.fits]
        return min(forms, key=lambda form: form.instructions, default=None)

    @property
    def fits(self) -> bool:
        """Whether the window is small and moves by one or two, and all offsets and copies are within limits."""
        shape = self.shape
        rows, columns = self.tile
        farthest = (rows - 1) * shape.out_width + columns - 1
        return (
            shape.stride_height == shape.stride_width <= 2
            and shape.dilation_height == shape.dilation_width == 1
            and self._window_fits
            and self.plane_bytes <= self.largest_plane
            and max(farthest * shape.channels, 7 * shape.channels) <= LARGEST_OFFSET
            and min(self.copied) > 0
            and self._copies_fit
        )

    @property
    def _window_fits(self) -> bool:
        return max(self.shape.kernel_height, self.shape.kernel_width) <= LARGEST_WINDOW

    @property
    def _copies_fit(self) -> bool:
        return self.chunks <= MOST_CHUNKS or self.periods > 0

    @property
    def reach(self) -> tuple[int, int]:
        """Rows and columns that a window is taken to have."""
        return LARGEST_WINDOW, LARGEST_WINDOW

    @property
    def may_overlap(self) -> bool:
        """Whether registers are free for the first products of the next tile."""
        return not (self.clamps or self.wide)

    @property
    def stride(self) -> int:
        return self.shape.stride_height

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of outputs."""
        return (4, 2) if self.tall else (2, 4)

    @property
    def tiles(self) -> tuple[int, int]:
        """From top to bottom and from left to right."""
        return -(-self.shape.out_height // self.tile[0]), -(-self.shape.out_width // self.tile[1])

    def _reached(self, axis: int) -> int:
        """Rows or columns that whole tiles read."""
        return self.stride * (self.tiles[axis] * self.tile[axis] - 1) + self.reach[axis]

    @property
    def width(self) -> int:
        return self._reached(1)

    @property
    def copied(self) -> tuple[int, int]:
        """Rows and columns of the input that tiles read."""
        shape = self.shape
        return min(shape.in_height, self._reached(0) - shape.top), min(shape.in_width, self.width - shape.left)

    @property
    def rows_of_strip(self) -> int:
        return 4 if self.stride == 1 else 3

    @property
    def outputs_of_strip(self) -> int:
        """Rows of the output."""
        return 3 - self.stride

    @property
    def copies_of_row(self) -> int:
        """Into how many strips each row is stored."""
        return 2

    @property
    def strip_bytes(self) -> int:
        return -(-self.rows_of_strip * self.width // 4) * 4

    @property
    def strips(self) -> int:
        return self.tiles[0] * self.tile[0] // self.outputs_of_strip

    @property
    def begins(self) -> int:
        """Where the first strip begins: the first rows are stored in front of it, too, where nothing reads them."""
        return self.strip_bytes

    @property
    def plane_bytes(self) -> int:
        """Rows that no strip begins with are stored behind the last one, too. A patch is one byte longer than what it has."""
        behind = self.shape.top + self.copied[0] > 2 * self.strips
        return self.begins + self.strip_bytes * (self.strips + behind) + 4

    @property
    def first_place(self) -> int:
        """Of the first byte of the image, in the strips."""
        top = self.shape.top
        return self.begins + top // 2 * self.strip_bytes + top % 2 + self.rows_of_strip * self.shape.left

    def place_of(self, row: int, column: int) -> int:
        """Of a byte of the image, behind that of its first byte."""
        top = self.shape.top
        strips = (top + row) // 2 - top // 2
        return strips * self.strip_bytes + (top + row) % 2 - top % 2 + self.rows_of_strip * column

    @property
    def together(self) -> int:
        """Pixels that one gather copies."""
        narrow = max(15 * self.shape.channels, self.rows_of_strip * self.copied[1] - 1) <= LARGEST_NARROW_OFFSET
        return 16 if narrow else 8

    @property
    def chunks(self) -> int:
        """Vectors of a copied row."""
        return -(-self.copied[1] // self.together)

    @property
    def gathers(self) -> int:
        """Vectors of a copied row whose pixels have places of their own, in registers that those of a strip leave."""
        largest = LARGEST_NARROW_OFFSET if self.together == 16 else LARGEST_OFFSET
        reached = [(self.together * (number + 1) - 1) * self.shape.channels <= largest for number in range(self.chunks)]
        taken = self.chunks if self.chunks <= MOST_CHUNKS else 2  # one has the places, of one more nobody knows
        return max(1, min(reached.index(False) if False in reached else self.chunks, MOST_CHUNKS + 2 - taken))

    @property
    def moves_of_copy(self) -> int:
        """Of the places that a row goes to, beside those after it: vectors have no register each."""
        return self.copies_of_row * (self.chunks - 1) if self.chunks > MOST_CHUNKS else 0

    @property
    def periods(self) -> int:
        """Vectors of pixels of the image as one row after which their places in strips repeat, an even number of rows, as every
        second row begins a strip; 0 where rows are copied."""
        shape, (rows, columns) = self.shape, self.copied
        count = columns // math.gcd(columns, 8)
        count *= 1 + 8 * count // columns % 2
        by_rows = rows * (4 * self.chunks + 5)
        linear = 5 * -(-rows * columns // 8) + 8
        fits = self.stride == 1 and self.together == 8 and columns == shape.in_width and count <= MOST_PERIODS
        return count if fits and linear < by_rows else 0

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
        saved = self.shape.channels * self.tiles[1] * whole // 2
        return whole > 0 and whole % 2 == 0 and pays_for_text(saved, self.instructions_of_tile(self.tile))

    @property
    def name(self) -> str:
        ways = f"{'_twice' * self.pays_twice}{'_tall' * self.tall}{'_clamped' * self.clamps}{way_of(self)}"
        ways += f"_finer_{self.bits}" if self.bits else ""
        ways += "_wide" * self.wide + "_overlapping" * self.overlaps
        return f"aidge_helium_strips_{self.shape.name}{ways}"

    @property
    def description(self) -> str:
        way = "by one fused multiplication" if self.fused else "in fixed point" if self.fixed else "in float"
        return f"one channel at a time, {self.tile[0]} x {self.tile[1]} outputs, requantized {way}"

    @property
    def numbers_bytes(self) -> int:
        """Of a channel's numbers."""
        return 12 if self.fused or self.fixed else 8

    def steps(self, axis: int) -> tuple[int, int]:
        """To the next tile down (0) or across (1), in the strips and in the output."""
        count = self.tile[axis]
        if axis == 0:
            return count // self.outputs_of_strip * self.strip_bytes, count * self.shape.out_width * self.shape.channels
        return count * self.stride * self.rows_of_strip, count * self.shape.channels

    @property
    def instructions(self) -> int:
        """Of one image, nearly."""
        steps = sum(step >= 4096 for axis in (0, 1) for step in self.steps(axis))
        tiles = 0
        for columns, lines in _cuts(self.shape.out_width, self.tile[1]):
            line = 6 + steps
            for rows, times in _cuts(self.shape.out_height, self.tile[0]):
                line += times * self.instructions_of_tile((rows, columns)) + 2 * ((rows, columns) != self.tile)
            tiles += lines * line
        return self.shape.channels * (tiles + self.instructions_of_copy + (70 if self.wide else 45))

    @property
    def instructions_of_copy(self) -> int:
        """Of a channel."""
        rows, columns = self.copied
        if self.periods:
            return 5 * -(-rows * columns // 8) + 8
        moves = -(-self.chunks // self.gathers) + self.moves_of_copy
        if self.rows_of_strip == 3 and not self.moves_of_copy:
            two_rows = 5 * self.chunks + 2 * moves + 4 + 2 * (columns % self.together > 0)
            return -(-rows // 2) * two_rows + 2 * self.chunks + self.gathers
        return rows * (3 * self.chunks + moves + 4 + (columns % self.together > 0)) + 2 * self.chunks + self.gathers

    def instructions_of_tile(self, outputs: tuple[int, int]) -> int:
        """Of a tile of which so many rows and columns are stored."""
        parts = [part for part in self.parts_of(outputs) if part]
        patches = [places for part in parts for _, places in part]
        moves = sum(len({place // 2 for _, places in part for place in places}) for part in parts)
        return sum(1 + len(places) for places in patches) + moves + 3 * len(parts) + 5 + (outputs != self.tile)

    def parts_of(self, outputs: tuple[int, int]) -> list[list[tuple[int, list[int]]]]:
        """For each of the two vectors of sums its patches: where each begins in the strips, and the places of the sums of it that
        are among the first `outputs` rows and columns of the tile: of the first row 0 and 1, of the second 2 and 3."""
        found = []
        for half in (0, 1):
            stored = {
                2 * row + column
                for row, column in itertools.product((0, 1), repeat=2)
                if row + 2 * half * self.tall < outputs[0] and column + 2 * half * (not self.tall) < outputs[1]
            }
            found.append([patch for patch in self.patches_of(half, stored) if patch[1]])
        return found

    @property
    def other_half(self) -> int:
        """From a patch to that of the other half of a tile."""
        return 2 // self.outputs_of_strip * self.strip_bytes if self.tall else 2 * self.stride * self.rows_of_strip

    def patches_of(self, half: int, stored: set[int]) -> list[tuple[int, list[int]]]:
        """The patches of half a tile, of which the sums at these places are stored."""
        first = half * self.other_half
        if self.stride == 1:
            return [(first, sorted(stored))]
        return [(first + row * self.strip_bytes, sorted(stored & {2 * row, 2 * row + 1})) for row in (0, 1)]

    def rounded(self, numbers: LinearConstants, times: int) -> tuple[Strips, FusedForm | None]:
        """The form, which runs `times`, with fused multiplications where they are proved and pay for what they take of flash, and
        their numbers."""
        changes, fused = fusing(numbers, self.bits, self.fixed, times * self.tiles[0] * self.tiles[1])
        return replace(self, **changes), fused

    def stream(self, taps: numpy.ndarray, numbers: LinearConstants, fused: FusedForm | None = None) -> numpy.ndarray:
        """`taps` [channels, rows, columns], of wide ones [channels, 2, rows, columns]."""
        return channel_stream(taps, numbers, self.bits, fused)

    @property
    def places(self) -> list[int]:
        """Offsets, as halfwords: of stores, of pixels, of the taps of a patch, of copied pixels."""
        shape = self.shape
        pixels = [pixel * shape.channels for pixel in range(self.together)]
        copies = [divmod(position, shape.in_width) for position in range(8 * self.periods)]
        parts = [
            self.store_places,
            numpy.array(pixels, "<u2" if self.together == 8 else "<u1").tobytes(),
            numpy.array([max(tap, 0) for tap in self.taps_of_patch], "<u1").tobytes(),
            numpy.array([self.place_of(row, column) for row, column in copies], "<u2").tobytes(),
        ]
        return numpy.frombuffer(b"".join(parts), "<u2").tolist()

    @property
    def store_places(self) -> bytes:
        """Of the eight outputs of a tile."""
        stores = [(row * self.shape.out_width + column) * self.shape.channels for row, column, _ in self.lanes]
        return numpy.array(stores, "<u2").tobytes()

    @property
    def fields(self) -> tuple[int, ...]:
        """Those that planes.h explains."""
        shape = self.shape
        return (
            shape.channels,
            shape.in_width,
            *self.copied,
            shape.out_height,
            shape.out_width,
            shape.top,
            shape.left,
            self.width,
            self.stride,
            shape.kernel_height,
            shape.kernel_width,
            self.bits,
            self.numbers_bytes,
            fixed_in_c(self.fixed),
            int(self.wide),
        )

    @property
    def taps_of_patch(self) -> list[int]:
        """For each byte of a patch the tap that meets it; -1: none."""
        shape = self.shape
        return [
            row * shape.kernel_width + column if row < shape.kernel_height and column < shape.kernel_width else -1
            for row, column in map(self._in_patch, range(16))
        ]

    def _in_patch(self, lane: int) -> tuple[int, int]:
        """Row and column in a patch."""
        column, row = divmod(lane, self.rows_of_strip)
        return row, column

    @property
    def lanes(self) -> list[tuple[int, int, int]]:
        """Row and column in a tile of the outputs of a vector of eight, and of which of the two vectors of sums they are."""
        return [
            (row + 2 * second * self.tall, column + 2 * second * (not self.tall), second)
            for row, column in PLACES
            for second in (0, 1)
        ]
