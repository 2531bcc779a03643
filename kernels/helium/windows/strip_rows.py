# SPDX-License-Identifier: MIT
"""The places of a channel's bytes in strips of some rows, column by column, with their pads (strips.py)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..core.geometry import Geometry

SMALL_WINDOW = 3  # rows, and columns: a patch has two neighbours
MOST_CHUNKS = 4  # of a copied row: each has a register for its places
MOST_PERIODS = 16  # vectors after which the places of copied pixels repeat
LARGEST_OFFSET, LARGEST_NARROW_OFFSET = 65_535, 255


@dataclass(frozen=True)
class StripRows:
    """The strips of one channel. `tall`: tiles of 4 x 2 outputs; `halves`: weights are sums of two bytes."""

    shape: Geometry
    clamps: bool = False
    tall: bool = False
    halves: bool = False

    @property
    def is_small(self) -> bool:
        """Whether a patch has two neighbours."""
        return not self.halves and max(self.shape.kernel_height, self.shape.kernel_width) <= SMALL_WINDOW

    @property
    def vectors(self) -> int:
        """The vectors of a window."""
        return 1 if self.is_small else 2

    @property
    def reach(self) -> tuple[int, int]:
        """Rows and columns that a window is taken to have."""
        return (SMALL_WINDOW, SMALL_WINDOW) if self.is_small else (self.shape.kernel_height, self.shape.kernel_width)

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

    @property
    def width(self) -> int:
        """Columns that whole tiles read."""
        return self.stride * (self.tiles[1] * self.tile[1] - 1) + self.reach[1]

    @property
    def height(self) -> int:
        """Rows that whole tiles read."""
        return self.stride * (self.tiles[0] * self.tile[0] - 1) + self.reach[0]

    @property
    def copied(self) -> tuple[int, int]:
        """Rows and columns of the input that tiles read."""
        shape = self.shape
        return min(shape.in_height, self.height - shape.top), min(shape.in_width, self.width - shape.left)

    @property
    def deepest(self) -> int:
        """Rows from the first that windows see to the last that is copied."""
        return self.height if self.shape.bands else self.shape.top + self.copied[0]

    @property
    def rows_of_strip(self) -> int:
        """As many as its outputs see; of larger windows even."""
        seen = self.reach[0] + self.outputs_of_strip - 1
        return seen if self.is_small else max(4, seen + seen % 2)

    @property
    def outputs_of_strip(self) -> int:
        """Rows of the output."""
        return 3 - self.stride

    @property
    def copies_of_row(self) -> int:
        """Into how many strips each row is stored."""
        return -(-self.rows_of_strip // 2)

    @property
    def strip_bytes(self) -> int:
        return -(-self.rows_of_strip * self.width // 4) * 4

    @property
    def strips(self) -> int:
        return self.tiles[0] * self.tile[0] // self.outputs_of_strip

    @property
    def begins(self) -> int:
        """The begin of the first strip: copies of the first rows are stored before it, too, where nothing reads them."""
        return (self.copies_of_row - 1) * self.strip_bytes

    @property
    def bytes(self) -> int:
        """The bytes of scratch. Rows that begin no strip follow the last strip, too. A patch reads more bytes than it has."""
        last = max(self.strips, (self.deepest + 1) // 2)
        return self.begins + self.strip_bytes * last + (4 if self.is_small else 16 * self.vectors)

    def place_of(self, row: int, column: int) -> int:
        """The distance of a byte of the image from its first byte."""
        top = self.shape.top
        strips = (top + row) // 2 - top // 2
        return strips * self.strip_bytes + (top + row) % 2 - top % 2 + self.rows_of_strip * column

    @property
    def first_place(self) -> int:
        """The place of the first byte of the image."""
        top = self.shape.top
        return self.begins + top // 2 * self.strip_bytes + top % 2 + self.rows_of_strip * self.shape.left

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
        """Vectors of a copied row whose pixels have places of their own, in registers that the places in a strip leave."""
        largest = LARGEST_NARROW_OFFSET if self.together == 16 else LARGEST_OFFSET
        reached = [(self.together * (number + 1) - 1) * self.shape.channels <= largest for number in range(self.chunks)]
        taken = self.chunks if self.chunks <= MOST_CHUNKS else 2  # one has the places, of one more nobody knows
        return max(1, min(reached.index(False) if False in reached else self.chunks, MOST_CHUNKS + 2 - taken))

    @property
    def periods(self) -> int:
        """Vectors of pixels of the image as one row after which their places in the strips repeat: an even number of rows, as
        every second row begins a strip. 0 where rows are copied."""
        shape, (rows, columns) = self.shape, self.copied
        count = columns // math.gcd(columns, 8)
        count *= 1 + 8 * count // columns % 2
        by_rows = rows * ((2 + self.copies_of_row) * self.chunks + 5)
        is_one = self.rows_of_strip % 2 == 0 and columns == shape.in_width and not shape.bands
        fits = is_one and self.together == 8 and count <= MOST_PERIODS and self.bytes <= LARGEST_OFFSET
        return count if fits and self._instructions_of_pixels < by_rows else 0

    @property
    def instructions_of_copy(self) -> int:
        """The instructions to copy a channel."""
        if self.periods:
            return self._instructions_of_pixels
        rows, columns = self.copied
        moves = -(-self.chunks // self.gathers) + self.moves_of_copy
        left, before = columns % self.together > 0, 2 * self.chunks + self.gathers
        if self.rows_of_strip % 2 and not self.moves_of_copy:
            return -(-rows // 2) * (5 * self.chunks + 2 * moves + 4 + 2 * left) + before
        return rows * ((1 + self.copies_of_row) * self.chunks + moves + 2 + self.copies_of_row + left) + before

    @property
    def _instructions_of_pixels(self) -> int:
        return (3 + self.copies_of_row) * -(-self.copied[0] * self.copied[1] // 8) + 8

    @property
    def moves_of_copy(self) -> int:
        """The moves for the places that a row goes to, if its vectors have no register each."""
        return self.copies_of_row * (self.chunks - 1) if self.chunks > MOST_CHUNKS else 0

    @property
    def loads(self) -> int:
        """Vectors of a patch."""
        return 1 if self.halves else self.vectors
