# SPDX-License-Identifier: MIT
"""Depthwise convolution of small windows in strips: the rows that one row of patches sees lie column by column.

As in planes.py, but a patch is a run of 16 bytes. With stride 1 a strip has four rows, of which two are rows of the next strip,
too, and a patch of four columns gives 2 x 2 outputs; with stride 2 it has three rows, of which one is shared, and five columns
give two neighbours. A row is therefore stored into two strips. No offsets of a patch wait in a register: the multiplier does, for
one fused multiplication (rounding.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from .fused_stream import fused_stream, fusing
from .planes import LARGEST_NARROW_OFFSET, LARGEST_OFFSET, MOST_PERIODS, Planes
from .rounding import FusedForm

LARGEST_STRIPS = 6144
MOST_CHUNKS = 4  # of a copied row: each has a register for its places
REACH = 508  # of the steps that loads of a patch make


@dataclass(frozen=True)
class Strips(Planes):
    """All channels of one image."""

    largest_plane = LARGEST_STRIPS

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
    def together(self) -> int:
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
    def _copies_fit(self) -> bool:
        return self.chunks <= MOST_CHUNKS or self.periods > 0

    @property
    def moves_of_copy(self) -> int:
        """Of the places that a row goes to, beside those after it: vectors have no register each."""
        return self.copies_of_row * (self.chunks - 1) if self.chunks > MOST_CHUNKS else 0

    @property
    def periods(self) -> int:
        """As in planes.py, of an even number of rows: every second row begins a strip."""
        shape, (rows, columns) = self.shape, self.copied
        count = columns // math.gcd(columns, 8)
        count *= 1 + 8 * count // columns % 2
        by_rows = rows * (4 * self.chunks + 5)
        linear = 5 * -(-rows * columns // 8) + 8
        fits = self.stride == 1 and self.together == 8 and columns == shape.in_width and count <= MOST_PERIODS
        return count if fits and linear < by_rows else 0

    @property
    def name(self) -> str:
        return super().name.replace("_planes_", "_strips_", 1)

    def steps(self, axis: int) -> tuple[int, int]:
        count = self.tile[axis]
        if axis == 0:
            return count // self.outputs_of_strip * self.strip_bytes, count * self.shape.out_width * self.shape.channels
        return count * self.stride * self.rows_of_strip, count * self.shape.channels

    def place_of(self, row: int, column: int) -> int:
        top = self.shape.top
        strips = (top + row) // 2 - top // 2
        return strips * self.strip_bytes + (top + row) % 2 - top % 2 + self.rows_of_strip * column

    @property
    def first_place(self) -> int:
        """Of the first byte of the image, in the plane."""
        top = self.shape.top
        return self.begins + top // 2 * self.strip_bytes + top % 2 + self.rows_of_strip * self.shape.left

    @property
    def instructions_of_copy(self) -> int:
        rows, columns = self.copied
        if self.periods:
            return 5 * -(-rows * columns // 8) + 8
        moves = -(-self.chunks // self.gathers) + self.moves_of_copy
        if self.rows_of_strip == 3 and not self.moves_of_copy:
            two_rows = 5 * self.chunks + 2 * moves + 4 + 2 * (columns % self.together > 0)
            return -(-rows // 2) * two_rows + 2 * self.chunks + self.gathers
        return rows * (3 * self.chunks + moves + 4 + (columns % self.together > 0)) + 2 * self.chunks + self.gathers

    def instructions_of_tile(self, outputs: tuple[int, int]) -> int:
        parts = [part for part in self.parts_of(outputs) if part]
        patches = [places for part in parts for _, places in part]
        moves = sum(len({place // 2 for _, places in part for place in places}) for part in parts)
        return sum(1 + len(places) for places in patches) + moves + 3 * len(parts) + 5 + (outputs != self.tile)

    @property
    def starts(self) -> tuple[int, int, int]:
        """From a patch to the one beside, to the one of the next strip, and to that of the other half of a tile."""
        beside = 2 * self.stride * self.rows_of_strip
        halves = 2 // self.outputs_of_strip * self.strip_bytes
        return beside, self.strip_bytes, halves if self.tall else beside

    def patches_of(self, half: int, stored: set[int]) -> list[tuple[int, list[int]]]:
        _, strip, other = self.starts
        if self.stride == 1:
            return [(half * other, sorted(stored))]
        return [(half * other + row * strip, sorted(stored & {2 * row, 2 * row + 1})) for row in (0, 1)]

    @property
    def tiles_of_channel(self) -> int:
        return self.tiles[0] * self.tiles[1]

    def rounded(self, numbers: LinearConstants, times: int) -> tuple[Strips, FusedForm | None]:
        """The form, which runs `times`, with fused multiplications where they are proved and pay for what they take of flash, and
        their numbers."""
        changes, fused = fusing(numbers, self.bits, self.fixed, self.adds, times * self.tiles_of_channel)
        return replace(self, **changes), fused

    def stream(self, taps: numpy.ndarray, numbers: LinearConstants, fused: FusedForm | None = None) -> numpy.ndarray:
        """As of planes.py; where multiplications are fused as of fused_stream.py."""
        return super().stream(taps, numbers) if fused is None else fused_stream(taps, numbers, self.bits, fused)

    patch_bytes = b""  # patches are runs

    def _in_patch(self, lane: int) -> tuple[int, int]:
        column, row = divmod(lane, self.rows_of_strip)
        return row, column
