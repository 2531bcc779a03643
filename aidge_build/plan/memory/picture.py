# SPDX-License-Identifier: MIT
"""The arena as text: columns are schedule steps, rows are addresses, the lowest address at the bottom."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_letters, digits
from types import MappingProxyType

from aidge_build.base.errors import printable
from aidge_build.plan.memory.plan import MemoryPlan, Placement

SYMBOLS = ascii_letters + digits
FREE = "·"
MOST_ROWS = 16
LONGEST_NAME = 40


def render_text(plan: MemoryPlan, steps: int, width: int = 80, read: Mapping[str, str] = MappingProxyType({})) -> str:
    """Returns a drawing of `plan` over the steps `[0, steps)` in at most `width` columns, then a list of the buffers of the peak.

    A cell shows the buffer that fills most of it; `·` is free. The column of the peak is marked below the picture.
    `read` has shorter names of buffers.
    """
    if not plan.placements:
        return "the arena is empty\n"
    margin = len(f"{plan.peak_bytes:,}")
    columns = max(1, min(steps, width - margin - 3))
    edges = [column * steps // columns for column in range(columns + 1)]
    rows = min(MOST_ROWS, plan.peak_bytes)
    lines = []
    for row in reversed(range(rows)):
        low, high = row * plan.peak_bytes // rows, (row + 1) * plan.peak_bytes // rows
        lines.append(f"{low:>{margin},} |{_cells(plan, edges, low, high)}|")
    marked = "".join("^" if low <= plan.bound_step < high else " " for low, high in zip(edges, edges[1:], strict=False))
    lines.append(f"{'':>{margin}}  {marked}".rstrip())
    lines.append(f"peak: step {plan.bound_step}, {plan.lower_bound_bytes:,} B")
    lines += [_legend_line(plan, placement, read) for placement in reversed(plan.live_at(plan.bound_step))]
    return "\n".join(lines) + "\n"


def _cells(plan: MemoryPlan, edges: list[int], low: int, high: int) -> str:
    """Returns one row of the picture: the symbol with the most byte-steps in each cell."""
    columns = len(edges) - 1
    filled: list[dict[str, int]] = [{} for _ in range(columns)]
    for index, placement in enumerate(plan.placements):
        symbol = SYMBOLS[index % len(SYMBOLS)]
        for window in placement.buffer.extents:
            first, last = placement.offset_bytes + window.low_bytes, placement.offset_bytes + window.high_bytes
            byte_count = min(high, last) - max(low, first)
            if byte_count <= 0:
                continue
            for column in range(columns):
                step_count = min(edges[column + 1], window.last) - max(edges[column], window.first)
                if step_count > 0:
                    filled[column][symbol] = filled[column].get(symbol, 0) + byte_count * step_count
    return "".join(max(sorted(cell), key=cell.__getitem__) if cell else FREE for cell in filled)


def _legend_line(plan: MemoryPlan, placement: Placement, read: Mapping[str, str]) -> str:
    symbol = SYMBOLS[plan.placements.index(placement) % len(SYMBOLS)]
    buffer = placement.buffer
    name = printable(buffer.name if len(buffer.name) <= LONGEST_NAME else read.get(buffer.name, buffer.name))
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 3]}..."
    return (
        f"  {symbol}  {name}  {buffer.size_bytes:,} B at {placement.offset_bytes:,}  "
        f"steps [{buffer.first}, {buffer.last})  {buffer.kind}"
    )
