# SPDX-License-Identifier: MIT
"""Proves that a memory plan is legal. Independent of the planner: shares with it only the values `Buffer` and `MemoryPlan`.

It replays the schedule: at every step where a lifetime or window begins or ends, byte ranges are released and claimed. It refuses
a claim that meets a live range (unless a kernel allows that overlap), an unaligned or outside range, a missing or foreign buffer,
a wrong peak, and a false bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy

from aidge_build.base.errors import CheckFailed
from aidge_build.plan.memory.buffer import Buffer, Window
from aidge_build.plan.memory.plan import MemoryPlan, Placement


def check(plan: MemoryPlan, buffers: Sequence[Buffer], capacity_bytes: int | None = None) -> None:
    """Raises `CheckFailed` (code PLAN02) unless `plan` is a legal arrangement of exactly `buffers`."""
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
            raise _fault(plan, f"buffer {name!r} is placed, but is no buffer of the schedule")
        if asked[name] != placed[name]:
            raise _fault(plan, f"buffer {name!r} is placed as {placed[name]}, but it is {asked[name]}")


def _check_range(placement: Placement, peak_bytes: int) -> None:
    buffer, offset = placement.buffer, placement.offset_bytes
    if offset < 0 or offset + buffer.size_bytes > peak_bytes:
        raise CheckFailed(
            f"buffer {buffer.name!r} at [{offset:,}, {offset + buffer.size_bytes:,}) is outside the arena of {peak_bytes:,} B",
            where=f"memory plan, step {buffer.first}",
            code="PLAN02",
        )
    if offset % buffer.alignment:
        raise CheckFailed(
            f"buffer {buffer.name!r} at offset {offset:,} is not aligned to {buffer.alignment} B",
            where=f"memory plan, step {buffer.first}",
            code="PLAN02",
        )


def _check_bound(plan: MemoryPlan) -> None:
    """Raises `CheckFailed` if the bound is above the peak, or below the live bytes of its own step (unless buffers share
    bytes)."""
    extents = [p.buffer.live_bytes(plan.bound_step) for p in plan.placements]
    live = 0 if plan.overlaps else sum(high - low for low, high in extents)
    if not live <= plan.lower_bound_bytes <= plan.peak_bytes:
        raise _fault(
            plan,
            f"the lower bound {plan.lower_bound_bytes:,} B is not between the {live:,} B live at "
            f"step {plan.bound_step} and the peak {plan.peak_bytes:,} B",
        )


def _replay(plan: MemoryPlan) -> None:
    """Walks through the steps; releases come before claims, because lifetimes are half-open."""
    leads = {(overlap.lower, overlap.upper): overlap.lead_bytes for overlap in plan.overlaps}
    events = []
    for index, p in enumerate(plan.placements):
        for w in p.buffer.windows or (Window(p.buffer.first, p.buffer.last, 0, p.buffer.size_bytes),):
            events.append((w.last, 0, index, p.offset_bytes + w.low_bytes, p.offset_bytes + w.high_bytes))
            events.append((w.first, 1, index, p.offset_bytes + w.low_bytes, p.offset_bytes + w.high_bytes))
    live = numpy.zeros((2, len(plan.placements)), numpy.int64)  # the lowest byte of each and one past its last; (0, 0): none
    for step, begins, index, low, high in sorted(events):
        live[:, index] = 0
        if not begins:
            continue
        for other in ((live[0] < high) & (low < live[1])).nonzero()[0]:
            if not _is_allowed(plan.placements[other], plan.placements[index], leads):
                raise _overlap(step, plan.placements[other], plan.placements[index])
        live[:, index] = low, high


def _is_allowed(one: Placement, other: Placement, leads: Mapping[tuple[str, str], int]) -> bool:
    """Whether a kernel allows that both overlap: it is the last that reads one and the first that writes the other."""
    for lower, upper in ((one, other), (other, one)):
        lead = leads.get((lower.buffer.name, upper.buffer.name))
        if lead is not None and lower.offset_bytes + lead <= upper.offset_bytes and upper.buffer.last == lower.buffer.first + 1:
            return True
    return False


def _overlap(step: int, one: Placement, other: Placement) -> CheckFailed:
    texts = [
        f"{p.buffer.name!r} [{p.offset_bytes:,}, {p.offset_bytes + p.buffer.size_bytes:,}) "
        f"live in steps [{p.buffer.first}, {p.buffer.last})"
        for p in (one, other)
    ]
    return CheckFailed(f"buffers {texts[0]} and {texts[1]} overlap", where=f"memory plan, step {step}", code="PLAN02")


def _fault(plan: MemoryPlan, what: str) -> CheckFailed:
    return CheckFailed(what, where=f"memory plan of region {plan.region}" if plan.region else "memory plan", code="PLAN02")
