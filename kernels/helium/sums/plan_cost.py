# SPDX-License-Identifier: MIT
"""How many instructions a call of a planned convolution takes, nearly: what tells bands of a layer apart."""

from __future__ import annotations

from ..core.patches import Patches
from .plan import CALL_OF_A_PAIR, PIXELS, Plan, instructions_of

CALL, CALL_OF_BLOCKS = 60, 40
ROW, PER_VECTOR = 18, 2  # of a row that is copied


def instructions_of_call(plan: Plan, rows: int) -> int:
    """For so many rows of the output; a plan of bands may have more of them."""
    shape = plan.geometry
    if plan.is_pixel_by_pixel:
        whole = rows == shape.out_height
        found = _pixels(plan, plan.pixels) if whole else rows * _pixels(plan, shape.in_width)
    else:
        found = _rows(plan, rows)
    return CALL + shape.batches * found


def _rows(plan: Plan, rows: int) -> int:
    shape = plan.geometry
    if plan.columns:
        return _filled(plan.columns.bytes) + rows * (plan.columns.instructions + _pixels(plan, shape.out_width))
    row, beside = 0, 0
    if plan.staging:
        copy = ROW + PER_VECTOR * -(-plan.staging.copied // 16)
        row = copy * (shape.stride_height if plan.is_ring else shape.kernel_height)
        beside = _filled(plan.staging.bytes) + (copy * (shape.kernel_height - shape.stride_height) if plan.is_ring else 0)
    if plan.patches:
        row += _laid_out(plan.patches, shape.out_width)
    count = plan.rows_together if plan.crosses_rows else 1
    groups, rest = divmod(rows, count)
    pixels = groups * _pixels(plan, count * shape.out_width)
    if plan.crosses_rows and rest:
        pixels += rest * _pixels(plan, shape.out_width) if shape.bands else _pixels(plan, rest * shape.out_width)
    return beside + rows * row + pixels


def _laid_out(patches: Patches, pixels: int) -> int:
    return CALL_OF_BLOCKS + pixels * patches.instructions


def _filled(size: int) -> int:
    return 6 + PER_VECTOR * -(-size // 16)


def _pixels(plan: Plan, count: int) -> int:
    """In blocks of four, and one of those that are left."""
    form, (whole, rest) = plan.product, divmod(count, PIXELS)
    blocks = whole * instructions_of(form) + (CALL_OF_A_PAIR if plan.is_stationary and whole else 0)
    left = instructions_of(form, rest) - form.rows * form.vectors * form.columns if rest else 0  # not as often loaded anew
    return CALL_OF_BLOCKS * ((whole > 0) + (rest > 0)) + form.pairs * (blocks + left)
