# SPDX-License-Identifier: MIT
"""Depthwise convolution of small windows in bands: four rows of some channels are turned by VST4, then one channel at a time.

VST4 stores the bytes of four rows side by side: so a column of a channel is a word, and a gather of four words is a patch of four
columns, which VMLADAV multiplies with a window. Two rows of the output see four rows of the input; where the window or the stride
is too large for that, or bands have one row, it is one row. Rows that the image lacks are filled with the zero point where they
were turned: nothing but the columns of some channels lies in scratch, and bands at an edge are as all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from .assembly import BYTE_REACH, WORD_REACH, pays_for_text
from .fused_stream import fused_stream, fusing
from .geometry import Geometry
from .planes import LARGEST_OFFSET, channel_stream
from .rounding import Fixed, FusedForm, way_of

LINES = 4  # rows that are turned together, columns of a patch
LANES = 16
FEW_LANES = 4  # channels of a block of which four columns are a vector
LARGEST_SCRATCH = 1792  # bytes of blocks of 16 channels; more take blocks of 4
SAVED_PER_SCRATCH = 32  # less than one in so many instructions is not worth larger blocks


@dataclass(frozen=True)
class Quads:
    """All channels of one band, `block` of them turned together; `adds`, `fixed`, `fused`, `mixed`: levels are rounded as in
    rounding.py."""

    shape: Geometry
    clamps: bool
    block: int
    adds: bool = False
    bits: int = 0  # by which sums are shifted before the bias is added: finer.py
    fused: bool = False
    mixed: bool = False
    fixed: Fixed | None = None

    @classmethod
    def best(cls, shape: Geometry, clamps: bool) -> Quads | None:
        """The form with nearly the fewest instructions among those of little scratch; None where none fits."""
        blocks = [LANES, FEW_LANES] if shape.channels > LANES else [shape.channels, FEW_LANES]
        forms = [form for form in (cls(shape, clamps, block) for block in dict.fromkeys(blocks)) if form.fits]
        small = [form for form in forms if form.bytes <= LARGEST_SCRATCH]
        if not small:
            return min(forms, key=lambda form: form.bytes, default=None)
        quickest = min(small, key=lambda form: form.instructions)
        near = [
            form for form in small if SAVED_PER_SCRATCH * (form.instructions - quickest.instructions) <= quickest.instructions
        ]
        return min(near, key=lambda form: form.bytes)

    @property
    def fits(self) -> bool:
        """Whether a window lies in a patch, and all steps are within reach."""
        shape = self.shape
        farthest = (self.outputs - 1) * shape.out_width + self.tile - 1
        return (
            shape.batches == 1
            and max(shape.kernel_height, shape.kernel_width) <= LINES
            and self.step <= WORD_REACH
            and self.bytes <= LARGEST_OFFSET
            and farthest * shape.channels <= LARGEST_OFFSET
            and self.runs[0] > 0
            and self._block_fits
        )

    @property
    def _block_fits(self) -> bool:
        if self.is_few:
            return self.shape.channels % FEW_LANES == 0 and LINES * self.shape.channels <= WORD_REACH
        return self.block == min(LANES, self.shape.channels)

    @property
    def is_few(self) -> bool:
        """Whether a vector has four columns of four channels."""
        return self.block == FEW_LANES != self.shape.channels

    @property
    def outputs(self) -> int:
        """Rows of the output that are computed together."""
        shape = self.shape
        fits = shape.kernel_height + shape.stride_height <= LINES and shape.dilation_height == 1
        return 2 if fits and shape.out_height > 1 else 1

    @property
    def groups(self) -> int:
        """Of rows that are computed together, in the largest band."""
        return -(-self.shape.out_height // self.outputs)

    @property
    def lines(self) -> int:
        """Rows of the input that a group sees."""
        return self.shape.kernel_height + (self.outputs - 1) * self.shape.stride_height

    @property
    def tile(self) -> int:
        """Columns of the output of which sums are a pair of vectors."""
        return 8 // self.outputs

    @property
    def column_bytes(self) -> int:
        return LINES * self.block

    @property
    def step(self) -> int:
        """From a patch to the next one."""
        return self.shape.stride_width * self.column_bytes

    @property
    def bytes(self) -> int:
        """Of scratch. The last vector of the zero point for a row that the image lacks may end behind the columns."""
        return max(self.shape.reached_width * self.column_bytes, self.left * self.column_bytes + LANES * self.vectors)

    @property
    def vectors(self) -> int:
        """That hold the turned columns of the input."""
        return -(-self.copied * self.column_bytes // LANES)

    @property
    def left(self) -> int:
        """Columns of pads."""
        return min(self.shape.left, self.shape.reached_width)

    @property
    def copied(self) -> int:
        """Columns of the input that are seen."""
        return min(self.shape.in_width, self.shape.reached_width - self.left)

    @property
    def right(self) -> int:
        """Columns of pads."""
        return self.shape.reached_width - self.left - self.copied

    @property
    def runs(self) -> tuple[int, int]:
        """Whole vectors of a turned row, and elements that are left: the last vector then begins as many before."""
        if self.is_few:
            return divmod(self.copied, FEW_LANES)
        return divmod(self.copied * self.block, LANES) if self.shape.channels < LANES else (self.copied, 0)

    @property
    def blocks(self) -> int:
        return -(-self.shape.channels // self.block)

    @property
    def pays_twice(self) -> bool:
        """Whether lines have so many whole tiles that two in a turn of their loop pay for their text."""
        whole = self.shape.out_width // self.tile
        saved = self.shape.times * self.groups * self.shape.channels * whole // 2
        return whole > 0 and whole % 2 == 0 and pays_for_text(saved, self.instructions_of_tile(self.tile))

    @property
    def name(self) -> str:
        ways = f"{'_clamped' * self.clamps}{way_of(self)}{f'_finer_{self.bits}' if self.bits else ''}"
        return f"aidge_helium_quads_{self.block}_{self.shape.name}{ways}"

    @property
    def description(self) -> str:
        way = "by one fused multiplication" if self.fused else "in fixed point" if self.fixed else "in float"
        return f"{self.block} channels turned together, {self.outputs} x {self.tile} outputs of one at a time, requantized {way}"

    @property
    def numbers_bytes(self) -> int:
        """Of a channel's numbers."""
        return 12 if self.fused or self.fixed else 8

    @property
    def instructions(self) -> int:
        """Of the largest band, nearly."""
        return self.instructions_of_rows(self.shape.out_height)

    def instructions_of_rows(self, rows: int) -> int:
        """Of a call for so many rows of the output, nearly."""
        whole, rest = divmod(self.shape.out_width, self.tile)
        channel = (
            8 + whole * (self.instructions_of_tile(self.tile) + (whole > 1)) + (rest and 1 + self.instructions_of_tile(rest))
        )
        steps = 0 if self.is_few or self.vector_step <= BYTE_REACH else self.lines
        block = 30 + 5 * self.is_few + (self.runs[0] + bool(self.runs[1])) * (5 + self.lines + steps)
        return 60 + -(-rows // self.outputs) * (100 + self.blocks * block + self.shape.channels * channel)

    @property
    def vector_step(self) -> int:
        """Bytes from a vector of a row to the next one."""
        return LINES * self.shape.channels if self.is_few else max(LANES, self.shape.channels)

    def instructions_of_tile(self, columns: int) -> int:
        """Of a tile of which so many columns are stored."""
        used = 1 + (columns * self.outputs > LINES)
        moves = 2 * used if self.outputs > 1 else sum(1 + (min(LINES, columns - first) > 2) for first in range(0, columns, LINES))
        return columns * (1 + self.outputs) + moves + 2 * used + 3 * (used > 1) + 3

    def rounded(self, numbers: LinearConstants) -> tuple[Quads, FusedForm | None]:
        """The form with fused multiplications where they are proved and pay for what they take of flash, and their numbers."""
        tiles = self.shape.times * self.groups * -(-self.shape.out_width // self.tile)
        changes, fused = fusing(numbers, self.bits, self.fixed, self.adds, tiles, in_bands=True)
        return replace(self, **changes), fused

    def stream(self, taps: numpy.ndarray, numbers: LinearConstants, fused: FusedForm | None) -> numpy.ndarray:
        """`taps` [channels, rows, columns]: the head, numbers, four bytes of 0, windows as columns of four bytes."""
        windows = numpy.zeros((len(taps), LINES, LINES), numpy.int8)  # [channel, column, row]
        windows[:, : taps.shape[2], : taps.shape[1]] = taps.transpose(0, 2, 1)
        behind = numpy.concatenate([numpy.zeros(LINES, numpy.int8), windows.reshape(-1)])
        return channel_stream(behind, numbers, self.bits) if fused is None else fused_stream(behind, numbers, self.bits, fused)

    @property
    def lanes(self) -> list[tuple[int, int]]:
        """Row and column in a tile of each lane of a vector of eight levels: lanes 0 to 3 of the sums have the places 0, 2, 1, 3,
        those of both vectors alternate."""
        half = self.tile // 2
        return [
            divmod(place, half) if second == 0 else (place // half, place % half + half)
            for place in (0, 2, 1, 3)
            for second in (0, 1)
        ]

    @property
    def places(self) -> list[int]:
        """Offsets, as halfwords: of the columns of a patch, of the columns of a vector, of stores, of stores of one row alone."""
        shape = self.shape
        taps = [min(tap, shape.kernel_width - 1) * shape.dilation_width * self.column_bytes for tap in range(LINES)]
        columns = [(column * shape.channels - self.vector_step) & 0xFFFF for column in range(LINES)]  # loads move on before
        stores = [(row * shape.out_width + column) * shape.channels for row, column in self.lanes]
        return [*taps, *columns, *stores, *(column * shape.channels for _, column in self.lanes)]

    @property
    def gap(self) -> int:
        """Channels of the last block that the one before has, too."""
        return self.blocks * self.block - self.shape.channels
