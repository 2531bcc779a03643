# SPDX-License-Identifier: MIT
"""Proves that a memory plan is legal. Independent of the planner: shares with it only the values `Buffer` and `MemoryPlan`.

It replays the schedule: at every step where a lifetime begins or ends, bytes are released and claimed in an ordered list of
the live byte ranges. Refused are a claim that meets a live range, an unaligned or outside range, a missing or foreign buffer,
a wrong peak, and a bound that is none.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from aidge_build.errors import CheckFailed
from aidge_build.memory.buffer import Buffer
from aidge_build.memory.plan import MemoryPlan, Placement


def check(plan: MemoryPlan, buffers: Sequence[Buffer], capacity_bytes: int | None = None) -> None:
    """Raise `CheckFailed` (code PLAN02) unless `plan` is a legal arrangement of exactly `buffers`, in O(n log n)."""
    _check_completeness(plan, buffers)
    for placement in plan.placements:
        _check_range(placement, plan.peak_bytes)
    highest = max((placement.offset_bytes + placement.buffer.size_bytes for placement in plan.placements), default=0)
    if highest != plan.peak_bytes:
        raise _fault(plan, f"the plan says peak {plan.peak_bytes:,} B, its buffers end at {highest:,} B")
    if capacity_bytes is not None and highest > capacity_bytes:
        raise _fault(plan, f"the buffers end at {highest:,} B, beyond the capacity of {capacity_bytes:,} B")
    _replay(plan)
    _check_bound(plan)


def _check_completeness(plan: MemoryPlan, buffers: Sequence[Buffer]) -> None:
    asked = {buffer.name: buffer for buffer in buffers}
    placed = {placement.buffer.name: placement.buffer for placement in plan.placements}
    if len(asked) != len(buffers) or len(placed) != len(plan.placements):
        raise _fault(plan, "a buffer is named or placed twice")
    for name in sorted(asked.keys() | placed.keys()):
        if name not in placed:
            raise _fault(plan, f"buffer {name!r} has no place")
        if name not in asked:
            raise _fault(plan, f"buffer {name!r} is placed, but nobody asked for it")
        if asked[name] != placed[name]:
            raise _fault(plan, f"buffer {name!r} is placed as {placed[name]}, but it is {asked[name]}")


def _check_range(placement: Placement, peak_bytes: int) -> None:
    buffer, offset = placement.buffer, placement.offset_bytes
    if offset < 0 or offset + buffer.size_bytes > peak_bytes:
        raise CheckFailed(f"buffer {buffer.name!r} at [{offset:,}, {offset + buffer.size_bytes:,}) lies outside "
                          f"the arena of {peak_bytes:,} B",
                          where=f"memory plan, step {buffer.first}", code="PLAN02")
    if offset % buffer.alignment:
        raise CheckFailed(f"buffer {buffer.name!r} at offset {offset:,} is not aligned to {buffer.alignment} B",
                          where=f"memory plan, step {buffer.first}", code="PLAN02")


def _check_bound(plan: MemoryPlan) -> None:
    """The bound may not be above the peak, nor below the bytes that are live at its own step."""
    live = sum(p.buffer.size_bytes for p in plan.placements if p.buffer.first <= plan.bound_step < p.buffer.last)
    if not live <= plan.lower_bound_bytes <= plan.peak_bytes:
        raise _fault(plan, f"the lower bound {plan.lower_bound_bytes:,} B is not between the {live:,} B live at "
                           f"step {plan.bound_step} and the peak {plan.peak_bytes:,} B")


def _replay(plan: MemoryPlan) -> None:
    """Walk through the steps; releases come before claims, because lifetimes are half-open."""
    events = [(p.buffer.last, 0, p.offset_bytes, index) for index, p in enumerate(plan.placements)]
    events += [(p.buffer.first, 1, p.offset_bytes, index) for index, p in enumerate(plan.placements)]
    live: list[tuple[int, int, int]] = []
    for step, begins, offset, index in sorted(events):
        claimed = (offset, offset + plan.placements[index].buffer.size_bytes, index)
        position = bisect_left(live, claimed)
        if not begins:
            del live[position]
            continue
        for other in live[max(0, position - 1):position + 1]:
            if other[0] < claimed[1] and claimed[0] < other[1]:
                raise _overlap(step, plan.placements[other[2]], plan.placements[index])
        insort(live, claimed)


def _overlap(step: int, one: Placement, other: Placement) -> CheckFailed:
    texts = [f"{p.buffer.name!r} [{p.offset_bytes:,}, {p.offset_bytes + p.buffer.size_bytes:,}) "
             f"live in steps [{p.buffer.first}, {p.buffer.last})" for p in (one, other)]
    return CheckFailed(f"buffers {texts[0]} and {texts[1]} overlap", where=f"memory plan, step {step}", code="PLAN02")


def _fault(plan: MemoryPlan, what: str) -> CheckFailed:
    return CheckFailed(what, where=f"memory plan of region {plan.region}" if plan.region else "memory plan", code="PLAN02")
