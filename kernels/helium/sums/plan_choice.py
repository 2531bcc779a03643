# SPDX-License-Identifier: MIT
"""Which plan an int8 convolution has: that with the fewest instructions, by estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.geometry import Geometry
from ..core.patches import Patches
from ..core.staging import Staging
from .columns import Columns
from .plan import CALL_OF_A_PAIR, MOST_TAPS, PIXELS, SCRATCH_BYTES, Plan, instructions_of
from .plan_cost import instructions_of_call
from .product import LANES, Product


def plan_of(shape: Geometry, clamps: bool, offsets: bool) -> Plan:
    """The plan with the fewest instructions, by estimate."""
    usual = _usual(shape, clamps, offsets)
    if shape.is_pointwise:
        return Plan(shape, usual)
    whole = shape.channels % LANES == 0
    runs_are_whole = shape.dilation_width == 1 or shape.kernel_width == 1
    taps = replace(usual, taps=shape.kernel_width, tap_step=shape.dilation_width * shape.channels)
    taps = replace(taps, vectors=-(-shape.channels // LANES))
    candidates = [*([usual] if runs_are_whole else []), *([taps] if whole and shape.kernel_width <= MOST_TAPS else [])]
    row_is_whole = shape.kernel_width * shape.channels % LANES == 0 and runs_are_whole
    if shape.stays_inside and (whole or row_is_whole) and candidates:
        return Plan(shape, min(candidates, key=instructions_of))
    is_narrow = shape.bands is not None and shape.out_width < PIXELS
    best = min(_staged(shape, usual, candidates), key=_of_band if is_narrow else _of_block)
    columns = Columns(shape)
    return _by_columns(columns, usual, best) if columns.fits else best


def laid_out(shape: Geometry, clamps: bool) -> Plan:
    """The plan in which windows are laid out in scratch, with their words at multiples of 4."""
    return _staged(shape, _usual(shape, clamps, False), [])[-1]


def _usual(shape: Geometry, clamps: bool, offsets: bool) -> Product:
    """The product in which each row of the window is one run of bytes."""
    row = shape.kernel_width * shape.channels
    return Product(
        PIXELS,
        shape.stride_width * shape.channels,
        shape.kernel_height,
        shape.dilation_height * shape.in_width * shape.channels,
        1,
        row,
        -(-row // LANES),
        shape.outputs,
        clamps=clamps,
        offsets=offsets,
    )


def _staged(shape: Geometry, usual: Product, candidates: Sequence[Product]) -> list[Plan]:
    """The plans that copy rows of the image first; if windows are short, or no candidate is left, one lays windows out, too."""
    staging = Staging.of(shape)
    aligned = shape.channels % 4 == 0
    plans = [Plan(shape, replace(form, row_step=staging.row_bytes, aligned=aligned), staging) for form in candidates]
    row, tap_step = shape.kernel_width * shape.channels, shape.dilation_width * shape.channels
    runs = (1, row, row) if shape.dilation_width == 1 else (shape.kernel_width, tap_step, shape.channels)
    patches = Patches(shape.stride_width * shape.channels, shape.kernel_height, staging.row_bytes, *runs)
    if plans and patches.bytes > SCRATCH_BYTES // PIXELS:
        return plans
    patch = patches.vectors * LANES
    form = replace(usual, pixel_step=patch, rows=1, row_step=patch, tap_step=patch, vectors=patches.vectors, aligned=True)
    room = (SCRATCH_BYTES - staging.bytes - LANES) // patch // PIXELS * PIXELS
    return [*plans, replace(Plan(shape, form, staging, patches), batch=_batch(shape, max(PIXELS, room)))]


def _of_block(plan: Plan) -> float:
    """Instructions of a block of pixels and a pair of channels, nearly."""
    laid_out = PIXELS * plan.patches.instructions / plan.product.pairs if plan.patches else 0
    return instructions_of(plan.product) + laid_out


def _of_band(plan: Plan) -> float:
    """Instructions of a band whose rows have fewer pixels than a block, nearly: where windows are laid out, blocks go across the
    ends of rows."""
    return instructions_of_call(plan, plan.geometry.out_height)


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


def _batch(shape: Geometry, room: int) -> int:
    """How many pixels' windows are laid out at once: whole rows where they fit, and so that blocks come out even."""
    rows = min(shape.out_height, room // shape.out_width)
    if rows == 0:
        return room
    even = [count for count in range(rows, max(0, rows - PIXELS), -1) if count * shape.out_width % PIXELS == 0]
    return (even or [rows])[0] * shape.out_width
