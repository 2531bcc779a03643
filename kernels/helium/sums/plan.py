# SPDX-License-Identifier: MIT
"""How the windows of an int8 convolution become products: where they are read, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.contract.kernel_kit.following import Steps

from ..core.assembly import pays_for_text
from ..core.geometry import Geometry
from ..core.patches import Patches
from ..core.staging import Staging
from .columns import Columns
from .product import LANES, Product
from .stationary import Stationary

SCRATCH_BYTES = 4096  # what patches may take if they have the choice
PIXELS = 4
MOST_TAPS = 3  # whose weights stay in registers together
FEWEST_STATIONARY = 3  # blocks of pixels that pay for loading a pair's weights beforehand
BESIDE_SAVES, BESIDE_LENGTH = 8, 30  # cycles of a pair of channels, and instructions that they pay for, by levels beside products
BY_SHIFT_LENGTH = 45  # the same where levels come from integers, beside a text of levels from floats
MOST_BESIDE = 288  # products of a pair: of more the same cycles are less than two percent
CALL_OF_A_PAIR = 20  # instructions, of a row, where weights stay in registers
FEWEST_OF_A_PART = 96  # blocks of pixels beside which loading them once more is nothing


@dataclass(frozen=True)
class Plan:
    """How a convolution is computed. Windows are read from the input or, with `staging`, from copies of its rows; with
    `patches` they are laid out for `batch` pixels first. With `columns` the rows are copied column by column instead."""

    geometry: Geometry
    product: Product
    staging: Staging | None = None
    patches: Patches | None = None
    batch: int = 0
    columns: Columns | None = None
    prepared: int = 0  # bytes of scratch behind all that, of numbers that depend on the data (floats.py)

    @property
    def scratch_bytes(self) -> int:
        return self.prepared_begins + self.prepared if self.prepared else self._copied_bytes

    @property
    def prepared_begins(self) -> int:
        return -(-self._copied_bytes // 4) * 4

    @property
    def _copied_bytes(self) -> int:
        if self.columns:
            return self.columns.bytes
        staged = self.staging.bytes if self.staging else 0
        return staged + (self.batch * self.patches.vectors * LANES + LANES if self.patches else 0)

    @property
    def pixels(self) -> int:
        """The pixels of a pointwise layer."""
        return self.geometry.batches * self.geometry.in_height * self.geometry.in_width

    @property
    def is_pixel_by_pixel(self) -> bool:
        """Whether windows are pixels of the input, and read there."""
        return self.geometry.is_pointwise and self.patches is None

    @property
    def whole_blocks(self) -> int:
        """The blocks of pixels of a pointwise layer that a whole vector of the input follows."""
        channels = self.geometry.channels
        masked = min(self.pixels, -(-(-channels % LANES) // channels))
        return (self.pixels - masked) // PIXELS

    @property
    def is_stationary(self) -> bool:
        """Whether the weights of a pair of channels stay in registers for most of the pixels."""
        shape = self.geometry
        blocks = self.whole_blocks if self.is_pixel_by_pixel else shape.out_width // PIXELS
        return self.patches is None and is_stationary(self.product, blocks)

    @property
    def _fusing_saves(self) -> int:
        """Instructions of a block."""
        return 2 if self.product.vectors > 1 else 4

    @property
    def saved_by_fusing(self) -> int:
        """Instructions of a pair of channels that fused multiplications save where weights stay in registers."""
        shape = self.geometry
        blocks = self.whole_blocks if self.is_pixel_by_pixel else shape.batches * shape.out_height * (shape.out_width // PIXELS)
        return shape.times * blocks * self._fusing_saves

    @property
    def blocks_at_once(self) -> int:
        """Blocks of pixels that pass by one call, or pixels that are fewer than a block; for bands, by a call for each band."""
        rows = self.rows_together if self.crosses_rows else 1
        blocks = self.whole_blocks if self.is_pixel_by_pixel else rows * self.geometry.out_width // PIXELS
        return self.geometry.times * max(1, blocks)

    def pays_beside(self, form: Product, blocks: int) -> bool:
        """Whether levels beside products save enough for their text, where so many blocks of pixels pass at once."""
        saved = self._calls * blocks * (form.pairs - 1) * BESIDE_SAVES
        is_possible = is_stationary(form, blocks) or form.can_be_beside and form.products <= MOST_BESIDE
        return is_possible and pays_for_text(saved, BESIDE_LENGTH)

    def pays_by_shift(self, pairs: int) -> bool:
        """Whether levels of so many pairs of channels by integers save enough for the text of others."""
        return pays_for_text(self._calls * self.blocks_at_once * pairs * BESIDE_SAVES, BY_SHIFT_LENGTH)

    @property
    def _calls(self) -> int:
        shape = self.geometry
        return 1 if self.is_pixel_by_pixel else shape.batches * shape.out_height // self.rows_together

    @property
    def crosses_rows(self) -> bool:
        """Whether windows of whole output rows are laid out side by side."""
        return self.patches is not None and self.batch >= self.geometry.out_width

    @property
    def rows_together(self) -> int:
        """Output rows whose windows are laid out before the first of them is written."""
        return max(1, self.batch // self.geometry.out_width)

    @property
    def steps(self) -> Steps:
        """The steps of reading and writing: the bytes that are written, and the bytes of the input that are free."""
        shape = self.geometry
        if shape.bands:
            return []
        if self.is_pixel_by_pixel:
            parts = [(first, first + count) for first, count in parts_of(self.product, self.whole_blocks)]
            alone = self.whole_blocks if is_stationary(self.product, self.whole_blocks) else 0
            parts = (parts if alone else []) + [(block, block + 1) for block in range(alone, -(-self.pixels // PIXELS))]
            return [(min(end * PIXELS, self.pixels) * shape.outputs, first * PIXELS * shape.channels) for first, end in parts]
        ends = [min(first + self.rows_together, shape.out_height) for first in range(0, shape.out_height, self.rows_together)]
        return shape.row_steps([(end, self._needed(end)) for end in ends])

    @property
    def is_ring(self) -> bool:
        """Whether rows that the next row of the output sees, too, are copied once."""
        shape = self.geometry
        overlap = shape.dilation_height == 1 and shape.stride_height < shape.kernel_height
        return self.staging is not None and self.patches is None and overlap and self.product.can_ring

    def _needed(self, end: int) -> int:
        """The first input row that is needed while, or after, the output rows before `end` are written."""
        if self.staging is None and self.columns is None:
            return (end - 1) * self.geometry.stride_height
        if end == self.geometry.out_height:
            return self.geometry.in_height
        if self.is_ring:
            return min(
                self.geometry.in_height, (end - 1) * self.geometry.stride_height - self.geometry.top + self.geometry.kernel_height
            )
        return end * self.geometry.stride_height - self.geometry.top


def is_stationary(form: Product, blocks: int) -> bool:
    """Whether the weights of a pair of channels stay in registers while so many blocks of pixels pass."""
    return Stationary.fits(form) and blocks >= FEWEST_STATIONARY


def parts_of(form: Product, blocks: int) -> list[tuple[int, int]]:
    """(First, how many) of the blocks of pixels that pass together: all, unless weights stay in registers while very many pass.
    The output can then follow the input part by part."""
    count = max(1, blocks // FEWEST_OF_A_PART) if is_stationary(form, blocks) else 1
    ends = [blocks * part // count for part in range(count + 1)]
    return [(first, end - first) for first, end in zip(ends, ends[1:])]


def instructions_of(form: Product, pixels: int = PIXELS) -> int:
    """The instructions of a block of pixels and a pair of channels, nearly."""
    if Stationary.fits(form) and pixels == PIXELS:
        return 19 + 12 * form.vectors
    if form.left:
        return 29 + 2 * pixels + form.left * (4 + 2 * pixels)
    unpacking = form.packed.instructions_of_pair(form.rows * form.vectors * form.taps) if form.packed else 0
    vector = form.columns + 2 * form.taps + 2 * pixels * form.taps
    return 21 + 4 * form.offsets + form.rows * form.vectors * vector + unpacking
