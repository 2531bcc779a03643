# SPDX-License-Identifier: MIT
"""How the windows of an int8 convolution become products: where they are read, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aidge_build.kernel_kit.following import Steps

from .assembly import pays_for_text
from .columns import Columns
from .geometry import Geometry
from .patches import Patches
from .product import LANES, Product
from .staging import Staging
from .stationary import Stationary

SCRATCH_BYTES = 4096  # what patches may take if they have the choice
PIXELS = 4
MOST_TAPS = 3  # whose weights stay in registers together
FEWEST_STATIONARY = 3  # blocks of pixels that pay for loading a pair's weights beforehand
MOST_TOGETHER = 8  # rows of the output: while they are written, the input that they see is still needed
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
    together: int = 1  # rows of the output that pass while weights stay in registers

    @property
    def scratch_bytes(self) -> int:
        if self.columns:
            return self.columns.bytes
        staged = self.staging.bytes if self.staging else 0
        return staged + (self.batch * self.patches.vectors * LANES + LANES if self.patches else 0)

    @property
    def pixels(self) -> int:
        """Of a pointwise layer."""
        return self.geometry.batches * self.geometry.in_height * self.geometry.in_width

    @property
    def whole_blocks(self) -> int:
        """Of a pointwise layer: blocks of pixels before those behind which the input ends."""
        pairs = self._blocks_before_end(2)
        return pairs if self.is_paired and is_stationary(self.product, pairs) else self._blocks_before_end(1)

    def _blocks_before_end(self, pixels: int) -> int:
        """Of those that read so many pixels at once."""
        channels = self.geometry.channels
        masked = min(self.pixels, -(-(-pixels * channels % LANES) // channels))
        return (self.pixels - masked) // PIXELS

    @property
    def is_stationary(self) -> bool:
        """Whether the weights of a pair of channels stay in registers for most of the pixels."""
        shape = self.geometry
        blocks = self.whole_blocks if shape.is_pointwise else shape.out_width // PIXELS * self.together
        return self.patches is None and is_stationary(self.product, blocks)

    @property
    def is_paired(self) -> bool:
        """Whether one load has two pixels of a pointwise layer."""
        return self.geometry.is_pointwise and 2 * self.product.pixel_step <= LANES

    @property
    def pays_twice(self) -> bool:
        """Whether loops of a pointwise layer run so often that two blocks in a turn pay for their text."""
        saved = self.geometry.times * self.whole_blocks * self.product.pairs // 2 if self.geometry.is_pointwise else 0
        return pays_for_text(saved, instructions_of(self.product) - (self._fusing_saves if self.product.fused else 0))

    @property
    def _fusing_saves(self) -> int:
        """Instructions of a block."""
        return 2 if self.is_paired or self.product.vectors > 1 else 4

    @property
    def saved_by_fusing(self) -> int:
        """Instructions of a pair of channels that fused multiplications save where weights stay in registers."""
        shape = self.geometry
        blocks = self.whole_blocks if shape.is_pointwise else shape.batches * shape.out_height * (shape.out_width // PIXELS)
        return shape.times * blocks * self._fusing_saves

    @property
    def crosses_rows(self) -> bool:
        """Whether windows of whole output rows are laid out side by side."""
        return self.patches is not None and self.batch >= self.geometry.out_width

    @property
    def rows_together(self) -> int:
        """Output rows whose windows are laid out before the first of them is written."""
        return max(self.together, self.batch // self.geometry.out_width)

    @property
    def steps(self) -> Steps:
        """What is written, and what of the input is not needed any more."""
        shape = self.geometry
        if shape.bands:
            return []
        if shape.is_pointwise:
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
            return (end - self.together) * self.geometry.stride_height
        if end == self.geometry.out_height:
            return self.geometry.in_height
        if self.is_ring:
            return min(
                self.geometry.in_height, (end - 1) * self.geometry.stride_height - self.geometry.top + self.geometry.kernel_height
            )
        return end * self.geometry.stride_height - self.geometry.top


def plan_of(shape: Geometry, clamps: bool, offsets: bool) -> Plan:
    """The plan with the fewest instructions, by estimate."""
    row, tap_step = shape.kernel_width * shape.channels, shape.dilation_width * shape.channels
    row_step = shape.dilation_height * shape.in_width * shape.channels
    usual = Product(
        PIXELS,
        shape.stride_width * shape.channels,
        shape.kernel_height,
        row_step,
        1,
        row,
        -(-row // LANES),
        shape.outputs,
        clamps=clamps,
        offsets=offsets,
    )
    taps = replace(usual, taps=shape.kernel_width, tap_step=tap_step, vectors=-(-shape.channels // LANES))
    if shape.is_pointwise:
        return Plan(shape, usual)
    whole = shape.channels % LANES == 0
    runs_are_whole = shape.dilation_width == 1 or shape.kernel_width == 1
    candidates = [*([usual] if runs_are_whole else []), *([taps] if whole and shape.kernel_width <= MOST_TAPS else [])]
    if shape.stays_inside and (whole or row % LANES == 0 and runs_are_whole) and candidates:
        best = min(candidates, key=instructions_of)
        return Plan(shape, best, together=_together(shape, best, MOST_TOGETHER))
    staging = Staging.of(shape)
    aligned = shape.channels % 4 == 0
    plans = [Plan(shape, replace(form, row_step=staging.row_bytes, aligned=aligned), staging) for form in candidates]
    runs = (1, row, row) if shape.dilation_width == 1 else (shape.kernel_width, tap_step, shape.channels)
    patches = Patches(shape.stride_width * shape.channels, shape.kernel_height, staging.row_bytes, *runs)
    if not plans or patches.bytes <= SCRATCH_BYTES // PIXELS:
        patch = patches.vectors * LANES
        form = replace(usual, pixel_step=patch, rows=1, row_step=patch, tap_step=patch, vectors=patches.vectors, aligned=True)
        plan = Plan(shape, form, staging, patches)
        room = (SCRATCH_BYTES - staging.bytes - LANES) // patch // PIXELS * PIXELS
        plans.append(replace(plan, batch=_batch(shape, max(PIXELS, room))))
    best = min(
        plans,
        key=lambda plan: (
            instructions_of(plan.product) + (PIXELS * plan.patches.instructions / plan.product.pairs if plan.patches else 0)
        ),
    )
    columns = Columns(shape)
    return _by_columns(columns, usual, best) if columns.fits else best


def _by_columns(columns: Columns, usual: Product, other: Plan) -> Plan:
    """The plan with columns where its rows take fewer instructions, and no more scratch, than windows laid out one by one."""
    shape, step = columns.geometry, columns.pixel_step
    form = replace(usual, pixel_step=step, rows=1, row_step=step, tap_step=step, vectors=columns.vectors)
    plan = Plan(shape, form, columns=columns)
    if other.patches is None or plan.scratch_bytes > other.scratch_bytes:
        return other
    blocks = -(-shape.out_width // PIXELS)
    row = columns.instructions + (blocks * instructions_of(form) + CALL_OF_A_PAIR) * form.pairs
    staged = shape.kernel_height * (18 + 2 * other.staging.row_bytes // LANES)
    windows = shape.out_width * (other.patches.instructions + instructions_of(other.product) * form.pairs / PIXELS)
    return plan if row < staged + windows else other


def _together(shape: Geometry, form: Product, most: int) -> int:
    """How many rows of the output pass at once; of bands one, as they have some rows more or less."""
    if shape.bands:
        return 1
    blocks = shape.out_width // PIXELS
    counts = [count for count in range(1, most + 1) if shape.out_height % count == 0 and count * blocks >= FEWEST_STATIONARY]
    return max(counts, default=1) if Stationary.fits(form) and blocks else 1


def is_stationary(form: Product, blocks: int) -> bool:
    """Whether the weights of a pair of channels stay in registers while so many blocks of pixels pass."""
    return Stationary.fits(form) and blocks >= FEWEST_STATIONARY


def parts_of(form: Product, blocks: int) -> list[tuple[int, int]]:
    """(First, how many) of the blocks of pixels that pass together: all, unless weights stay in registers while very many pass.
    The output can then follow the input part by part."""
    count = max(1, blocks // FEWEST_OF_A_PART) if is_stationary(form, blocks) else 1
    ends = [blocks * part // count for part in range(count + 1)]
    return [(first, end - first) for first, end in zip(ends, ends[1:])]


def _batch(shape: Geometry, room: int) -> int:
    """How many pixels' windows are laid out at once: whole rows where they fit, and so that blocks come out even."""
    rows = min(shape.out_height, room // shape.out_width)
    if rows == 0:
        return room
    even = [count for count in range(rows, max(0, rows - PIXELS), -1) if count * shape.out_width % PIXELS == 0]
    return (even or [rows])[0] * shape.out_width


def instructions_of(form: Product, pixels: int = PIXELS) -> int:
    """Of a block of pixels and a pair of channels, nearly."""
    if Stationary.fits(form) and pixels == PIXELS:
        return 19 + 12 * form.vectors
    return 21 + 4 * form.offsets + form.rows * form.vectors * (form.columns + 2 * form.taps + 2 * pixels * form.taps)
