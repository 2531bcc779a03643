# SPDX-License-Identifier: MIT
"""Depthwise convolution of windows of up to 5 x 5, or 3 x 8, in strips (strips.py) whose patches are two vectors.

A strip has four or six rows, and two rows further the next one begins, so that each row is stored into two or three strips. A
window is a run of at most 32 bytes; with stride 1 the same bytes give two outputs, one below the other, by the window at two
places.
"""

from __future__ import annotations

from dataclasses import dataclass

from .strips import Strips

LARGEST = 8192  # bytes of scratch
VECTORS = 2
MOST_ROWS = 6  # of a strip: each row is stored into three


@dataclass(frozen=True)
class LongStrips(Strips):
    """All channels of one image. `halves`: patches are one vector, and weights, of nine bits, the sums of two bytes: so are those
    less a zero point of their own."""

    halves: bool = False

    largest_plane, may_overlap = LARGEST, False

    @property
    def _window_fits(self) -> bool:
        (height, width), rows = self.reach, self.rows_of_strip
        if rows > MOST_ROWS:
            return False
        if self.halves:
            return width * rows <= 16
        return 1 < height and 3 < max(height, width) and width * rows <= 16 * VECTORS

    @property
    def reach(self) -> tuple[int, int]:
        return self.shape.kernel_height, self.shape.kernel_width

    @property
    def rows_of_strip(self) -> int:
        """Even, and as many as the outputs of a strip see."""
        seen = self.shape.kernel_height + self.outputs_of_strip - 1
        return max(4, seen + seen % 2)

    @property
    def copies_of_row(self) -> int:
        return self.rows_of_strip // 2

    @property
    def begins(self) -> int:
        return (self.copies_of_row - 1) * self.strip_bytes

    @property
    def plane_bytes(self) -> int:
        last = max(self.strips, (self.shape.top + self.copied[0] + 1) // 2)
        return self.begins + self.strip_bytes * last + 16 * VECTORS

    @property
    def periods(self) -> int:
        return 0

    @property
    def _copies_fit(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return super().name.replace("_strips_", "_long_strips_", 1) + "_halves" * self.halves

    @property
    def instructions_of_copy(self) -> int:
        rows, columns = self.copied
        moves, stores = -(-self.chunks // self.gathers) + self.moves_of_copy, self.copies_of_row
        return rows * ((1 + stores) * self.chunks + moves + 3 + stores + (columns % self.together > 0)) + 16

    def instructions_of_tile(self, outputs: tuple[int, int]) -> int:
        parts = [part for part in self.parts_of(outputs) if part]
        loads = len(self.accesses(outputs)[0]) // (1 + self.halves)
        sums = sum(len(places) for part in parts for _, places in part)
        return loads + VECTORS * sums + 2 * len(parts) + 3 * len(parts) + 6 + (outputs != self.tile)

    def patches_of(self, half: int, stored: set[int]) -> list[tuple[int, list[int]]]:
        """Of each of the two columns, with stride 2 of each strip: where it begins, and the sums of it that are stored."""
        _, strip, other = self.starts
        column = self.stride * self.rows_of_strip
        if self.stride == 1:
            return [(half * other + beside * column, sorted(stored & {beside, 2 + beside})) for beside in (0, 1)]
        found = [(row, beside) for row in (0, 1) for beside in (0, 1)]
        return [(half * other + row * strip + beside * column, sorted(stored & {2 * row + beside})) for row, beside in found]

    def accesses(self, outputs: tuple[int, int]) -> tuple[list[tuple[int, int, int, list[int]]], list[list[int]]]:
        """Loads of a tile of which so many rows and columns are stored, (offset, half, vector, places) each; of each half the
        places that are stored."""
        loads, used = [], []
        for half, part in enumerate(self.parts_of(outputs)):
            step = 0 if self.halves else 16
            loads += [(start + step * vector, half, vector, places) for start, places in part for vector in range(VECTORS)]
            used.append(sorted(place for _, places in part for place in places))
        return loads, used

    @property
    def taps_of_patch(self) -> list[int]:
        (height, width), lanes = self.reach, range(16 if self.halves else 16 * VECTORS)
        found = [row * width + column if row < height and column < width else -1 for row, column in map(self._in_patch, lanes)]
        return [*found, *(tap + height * width if tap >= 0 else tap for tap in found)] if self.halves else found
