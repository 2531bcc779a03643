# SPDX-License-Identifier: MIT
"""Depthwise convolution of small windows, one channel at a time: its plane is copied together with its pads.

With stride 1 a patch of 4 x 4 bytes gives 2 x 2 outputs by four VMLADAV with the window at its four places in the patch, with
stride 2 a patch of 3 x 5 bytes two neighbours by two. Eight outputs are a tile: 2 x 4 or, where that needs fewer, 4 x 2.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from .assembly import pays_for_text
from .geometry import Geometry
from .rounding import Fixed, fixed_in_c, fixed_of, fixed_words, multiplier_words, way_of, zero_point_word

LARGEST_WINDOW = 3  # rows, and columns
MOST_PERIODS = 16  # vectors after which the places of copied pixels repeat
LARGEST_IMMEDIATE = 127  # of the places in a row to which pixels are copied
LARGEST_OFFSET, LARGEST_NARROW_OFFSET = 65_535, 255
LARGEST_PLANE = 4096
PLACES = ((0, 0), (1, 0), (0, 1), (1, 1))  # row and column of the output that each lane of a vector of sums holds


def _cuts(length: int, size: int) -> list[tuple[int, int]]:
    """Sizes of the pieces, and how many there are of each."""
    return [(size, length // size), *([(length % size, 1)] if length % size else [])]


def head_bytes(numbers: LinearConstants, bits: int) -> bytes:
    """The head of a stream."""
    return numpy.array([numbers.input_zero_point, zero_point_word(numbers, bits), numbers.low, numbers.high], "<i4").tobytes()


def channel_stream(taps: numpy.ndarray, numbers: LinearConstants, bits: int) -> numpy.ndarray:
    """`taps` [channels, ...]: the head; bias and multiplier of each channel, with fixed-point factors shift and zero point; all
    taps."""
    columns = [numbers.bias.astype("<i4"), multiplier_words(numbers)]
    columns += [fixed_words(numbers)] if fixed_of(numbers) else []
    parts = [head_bytes(numbers, bits), numpy.stack(columns, axis=1).tobytes()]
    return numpy.frombuffer(b"".join([*parts, numpy.ascontiguousarray(taps).tobytes()]), numpy.int8)


@dataclass(frozen=True)
class Planes:
    """All channels of one image. `tall`: tiles of 4 x 2 outputs; `down`: one tile below the other, then those to the right;
    `adds`, `fixed`, `fused`, `mixed`: levels are rounded as in rounding.py; only strips.py has the last two."""

    shape: Geometry
    clamps: bool = False
    tall: bool = False
    down: bool = False
    adds: bool = False
    bits: int = 0  # by which sums are shifted before the bias is added: finer.py
    fused: bool = False
    mixed: bool = False
    fixed: Fixed | None = None
    wide: bool = False  # weights are sums of two bytes, the second of which is 0 in most channels
    overlaps: bool = False  # the first products of a tile come before the one before is stored
    largest_plane: ClassVar[int] = LARGEST_PLANE

    @classmethod
    def best(cls, shape: Geometry, clamps: bool, wide: bool = False) -> Planes | None:
        """The form with the fewest instructions that fits; None where none does."""
        ways = itertools.product((False, True), repeat=2)
        forms = [form for form in (cls(shape, clamps, *way, wide=wide) for way in ways) if form.fits]
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
    def reach(self) -> tuple[int, int]:
        """Rows and columns that a window is taken to have."""
        return LARGEST_WINDOW, LARGEST_WINDOW

    @property
    def _copies_fit(self) -> bool:
        """Whether the places of patches and of copied rows are in reach."""
        return (self.stride == 1 or max(self.patch) <= LARGEST_NARROW_OFFSET) and self.copied[1] <= LARGEST_IMMEDIATE

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

    @property
    def width(self) -> int:
        """Of a plane: what whole tiles read."""
        return self._reached(1)

    @property
    def height(self) -> int:
        return self._reached(0)

    def _reached(self, axis: int) -> int:
        return self.stride * (self.tiles[axis] * self.tile[axis] - 1) + self.reach[axis]

    @property
    def plane_bytes(self) -> int:
        return self.width * self.height

    @property
    def copied(self) -> tuple[int, int]:
        """Rows and columns of the input that tiles read."""
        shape = self.shape
        return min(shape.in_height, self.height - shape.top), min(shape.in_width, self.width - shape.left)

    begins = 0  # where the first patch lies

    @property
    def first_place(self) -> int:
        """Where the first byte of the image lies."""
        return self.shape.top * self.width + self.shape.left

    def place_of(self, row: int, column: int) -> int:
        """Of a byte of the image, behind that of its first byte."""
        return row * self.width + column

    @property
    def together(self) -> int:
        """Pixels that one gather copies."""
        return 16 if 15 * self.shape.channels <= LARGEST_NARROW_OFFSET else 8

    @property
    def patch(self) -> list[int]:
        """Offsets of the lanes of a patch: of halfwords with stride 1, else of bytes, the last of which is not used."""
        if self.stride == 1:
            return [row * self.width + 2 * half for row in range(4) for half in (0, 1)]
        return [*(row * self.width + column for row in range(3) for column in range(5)), 0]

    @property
    def patch_bytes(self) -> bytes:
        """What the places have of a patch."""
        return numpy.array(self.patch, "<u2" if self.stride == 1 else "<u1").tobytes()

    @property
    def works_in_place(self) -> bool:
        """Whether the output may lie where the input is: a channel reads and writes no other's bytes, and is copied as a whole
        before it is written; no image may reach into the next one."""
        shape = self.shape
        return shape.batches == 1 or shape.out_height * shape.out_width <= shape.in_height * shape.in_width

    @property
    def pays_twice(self) -> bool:
        """Whether lines have so many whole tiles that two in a turn of their loop pay for their text."""
        inner, outer = self.axes
        whole = (self.shape.out_height, self.shape.out_width)[inner] // self.tile[inner]
        saved = self.shape.channels * self.tiles[outer] * whole // 2
        return whole > 0 and whole % 2 == 0 and pays_for_text(saved, self.instructions_of_tile(self.tile))

    @property
    def name(self) -> str:
        ways = f"{'_twice' * self.pays_twice}{'_tall' * self.tall}{'_down' * self.down}{'_clamped' * self.clamps}{way_of(self)}"
        ways += f"_finer_{self.bits}" if self.bits else ""
        ways += "_wide" * self.wide + "_overlapping" * self.overlaps
        return f"aidge_helium_planes_{self.shape.name}{ways}"

    @property
    def description(self) -> str:
        way = "by one fused multiplication" if self.fused else "in fixed point" if self.fixed else "in float"
        return f"one channel at a time, {self.tile[0]} x {self.tile[1]} outputs, requantized {way}"

    @property
    def numbers_bytes(self) -> int:
        """Of a channel's numbers."""
        return 12 if self.fused or self.fixed else 8

    @property
    def axes(self) -> tuple[int, int]:
        """Along which one tile follows the other, 0 down and 1 across, and the other one."""
        return (0, 1) if self.down else (1, 0)

    def steps(self, axis: int) -> tuple[int, int]:
        """To the next tile along an axis, in the plane and in the output."""
        count = self.tile[axis]
        if axis == 0:
            return count * self.stride * self.width, count * self.shape.out_width * self.shape.channels
        return count * self.stride, count * self.shape.channels

    @property
    def periods(self) -> int:
        """Vectors of pixels of the image as one row after which their places in a plane repeat; 0 where rows are copied."""
        shape, (rows, columns) = self.shape, self.copied
        count = columns // math.gcd(columns, self.together)
        by_rows = rows * (3 * -(-columns // 8) + 3)
        linear = 4 * -(-rows * columns // 8) + 6
        fits = self.together == 8 and columns == shape.in_width and count <= MOST_PERIODS and self.plane_bytes <= LARGEST_OFFSET
        return count if fits and linear < by_rows else 0

    @property
    def instructions(self) -> int:
        """Of one image, nearly."""
        inner, outer = self.axes
        steps = sum(step >= 4096 for axis in (inner, outer) for step in self.steps(axis))
        outputs, tiles = (self.shape.out_height, self.shape.out_width), 0
        for beside, count in _cuts(outputs[outer], self.tile[outer]):
            line = 6 + steps
            for along, times in _cuts(outputs[inner], self.tile[inner]):
                stored = (along, beside) if self.down else (beside, along)
                line += times * self.instructions_of_tile(stored) + 2 * (stored != self.tile)
            tiles += count * line
        return self.shape.channels * (tiles + self.instructions_of_copy + (70 if self.wide else 45))

    @property
    def instructions_of_copy(self) -> int:
        """Of a channel."""
        rows, columns = self.copied
        return 4 * -(-rows * columns // 8) + 6 if self.periods else rows * (3 * -(-columns // self.together) + 4)

    def instructions_of_tile(self, outputs: tuple[int, int]) -> int:
        """Of a tile of which so many rows and columns are stored."""
        parts = [part for part in self.parts_of(outputs) if part]
        sums = sum(2 + len(places) for part in parts for _, places in part)
        moves = sum(len({place // 2 for _, places in part for place in places}) for part in parts)
        return sums + moves + 4 * len(parts) + 5 + (outputs != self.tile)

    def parts_of(self, outputs: tuple[int, int]) -> list[list[tuple[int, list[int]]]]:
        """For each of the two vectors of sums its patches: where each begins in the plane, and the places of the sums of it that
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

    def patches_of(self, half: int, stored: set[int]) -> list[tuple[int, list[int]]]:
        """The patches of half a tile, of which the sums at these places are stored."""
        second = 2 * self.stride * (self.width if self.tall else 1)
        if self.stride == 1:
            return [(half * second, sorted(stored))]
        return [(half * second + 2 * row * self.width, sorted(stored & {2 * row, 2 * row + 1})) for row in (0, 1)]

    def stream(self, taps: numpy.ndarray, numbers: LinearConstants) -> numpy.ndarray:
        """`taps` [channels, rows, columns], of wide ones [channels, 2, rows, columns]: the head, bias and multiplier of each
        channel, all taps."""
        return channel_stream(taps, numbers, self.bits)

    @property
    def places(self) -> list[int]:
        """Offsets, as halfwords: of a patch, of stores, of pixels, of the taps of a patch, of copied pixels."""
        shape = self.shape
        pixels = [pixel * shape.channels for pixel in range(self.together)]
        copies = [divmod(position, shape.in_width) for position in range(8 * self.periods)]
        parts = [
            self.patch_bytes,
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
        return divmod(lane, 4 if self.stride == 1 else 5)

    @property
    def lanes(self) -> list[tuple[int, int, int]]:
        """Row and column in a tile of the outputs of a vector of eight, and of which of the two vectors of sums they are."""
        return [
            (row + 2 * second * self.tall, column + 2 * second * (not self.tall), second)
            for row, column in PLACES
            for second in (0, 1)
        ]
