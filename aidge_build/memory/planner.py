# SPDX-License-Identifier: MIT
"""Chooses the offsets of buffers in one arena: greedy orders, then a walk, then an exhaustive search within a node limit."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.errors import AidgeError
from aidge_build.memory.buffer import Buffer
from aidge_build.memory.climb import climb, moves_for
from aidge_build.memory.greedy import best_greedy
from aidge_build.memory.plan import CapacityExceeded, MemoryPlan, Placement
from aidge_build.memory.problem import Problem


def plan(buffers: Sequence[Buffer], capacity_bytes: int | None = None, region: str = "") -> MemoryPlan:
    """Offsets with the smallest peak that was found, and whether it is proved that none is smaller.

    The result depends on the buffers alone: not on their order, the machine, or the time. Raises `CapacityExceeded`
    (code PLAN01) when the peak is above `capacity_bytes`.
    """
    if capacity_bytes is not None and capacity_bytes < 0:
        raise AidgeError(f"the capacity is {capacity_bytes} B", code="PLAN03", hint="this is a fault of the caller")
    problem = Problem.of(buffers)
    bound_bytes, bound_step = problem.lower_bound
    if capacity_bytes is not None and bound_bytes > capacity_bytes:
        raise _too_large(problem, bound_bytes, capacity_bytes, region, proved=True)
    found = climb(problem, best_greedy(problem), moves_for(problem))
    proved = found.peak_bytes == bound_bytes
    if capacity_bytes is not None and found.peak_bytes > capacity_bytes:
        raise _too_large(problem, found.peak_bytes, capacity_bytes, region, proved=proved)
    placements = tuple(map(Placement, problem.buffers, found.offsets))
    return MemoryPlan(placements, found.peak_bytes, bound_bytes, bound_step, proved, region)


def _too_large(problem: Problem, needed_bytes: int, capacity_bytes: int, region: str, *, proved: bool) -> CapacityExceeded:
    _, step = problem.lower_bound
    live = [buffer for buffer in problem.buffers if buffer.first <= step < buffer.last]
    live.sort(key=lambda buffer: (-buffer.size_bytes, buffer.name))
    return CapacityExceeded(needed_bytes, capacity_bytes, step, live, region=region, proved=proved)
