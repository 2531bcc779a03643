# SPDX-License-Identifier: MIT
"""Chooses the offsets in one arena: greedy orders, the fullest steps first, a walk, an exhaustive search within a node limit."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.plan.memory.branch import NodeBudget, Outcome, search
from aidge_build.plan.memory.buffer import Buffer, Overlap
from aidge_build.plan.memory.climb import PAIR_VISITS, climb, moves_for
from aidge_build.plan.memory.greedy import Arrangement, best_greedy, place
from aidge_build.plan.memory.overlap_search import VISITS, overlap_search
from aidge_build.plan.memory.peak_first import peak_first
from aidge_build.plan.memory.plan import CapacityExceeded, MemoryPlan, Placement
from aidge_build.plan.memory.problem import Problem

NODES = 30_000
PROBE_NODES = 500
FULLEST_NODES = 12_000
CAPACITY_SHARE = 8  # the part of the nodes that the bound gets while a capacity is not reached
BISECTIONS = 6
SHORT_WALK, SHORT_SEARCH = PAIR_VISITS // 20, VISITS // 8  # visits; with few buffers the walk is as long as the long one
BISECTION_NODES = NODES // 8


def plan(
    buffers: Sequence[Buffer],
    capacity_bytes: int | None = None,
    region: str = "",
    *,
    nodes: int = NODES,
    overlaps: Sequence[Overlap] = (),
    like: MemoryPlan | None = None,
    enough_bytes: int = 0,
) -> MemoryPlan:
    """Returns the offsets with the smallest peak that was found, and whether it is proved that no peak is smaller.

    The result depends on the buffers, the capacity, the node limit `nodes` of the exhaustive search, `like` (a plan of nearly the
    same buffers: its order is tried, too), and `enough_bytes` (the search ends at a peak of at most so many bytes). It does not
    depend on the order of the buffers, the machine, or the time. Raises `CapacityExceeded` (code PLAN01) when the peak is above
    `capacity_bytes`.
    """
    if capacity_bytes is not None and capacity_bytes < 0:
        raise AidgeError(f"the capacity is {capacity_bytes} B", code="PLAN03", hint="this is a fault of the caller")
    problem = Problem.of(buffers, overlaps)
    bound_bytes, bound_step = problem.lower_bound
    if capacity_bytes is not None and bound_bytes > capacity_bytes:
        raise _too_large(problem, bound_bytes, capacity_bytes, region, proved=True)
    found, proved_bytes = _search(problem, capacity_bytes, nodes, like, enough_bytes)
    if capacity_bytes is not None and found.peak_bytes > capacity_bytes:
        raise _too_large(problem, found.peak_bytes, capacity_bytes, region, proved=found.peak_bytes == proved_bytes)
    placements = tuple(map(Placement, problem.buffers, found.offsets))
    return MemoryPlan(
        placements, found.peak_bytes, bound_bytes, bound_step, found.peak_bytes == proved_bytes, region, problem.overlaps
    )


def _search(
    problem: Problem, capacity_bytes: int | None, nodes: int, like: MemoryPlan | None, enough_bytes: int
) -> tuple[Arrangement, int]:
    """Returns the best arrangement and the bytes below which none exists; cheap methods first, each only while the two differ."""
    found, proved_bytes = best_greedy(problem), problem.lower_bound[0]
    known = None if like is None else place(problem, _order_of(problem, like))
    if min(found.peak_bytes, known.peak_bytes if known else found.peak_bytes) <= enough_bytes:
        return min(found, known or found, key=lambda each: each.peak_bytes), proved_bytes
    if not problem.is_rectangular:
        return _searched_with_overlaps(problem, found, proved_bytes, known, enough_bytes)
    if proved_bytes < found.peak_bytes:
        found, proved_bytes = _raise_bound(problem, found, proved_bytes, min(nodes, PROBE_NODES))
    if proved_bytes < found.peak_bytes:
        found, proved_bytes = peak_first(problem, found, proved_bytes, min(nodes, FULLEST_NODES))
    if proved_bytes < found.peak_bytes:
        found = climb(problem, found, moves_for(problem))
    if capacity_bytes is not None and proved_bytes < capacity_bytes < found.peak_bytes:
        found, proved_bytes = _reach(problem, found, proved_bytes, capacity_bytes, nodes)
        nodes //= CAPACITY_SHARE
    if proved_bytes < found.peak_bytes:
        found, proved_bytes = _raise_bound(problem, found, proved_bytes, nodes)
    if proved_bytes < found.peak_bytes:
        found, proved_bytes = _lower_peak(problem, found, proved_bytes, min(nodes, BISECTION_NODES))
    return min(found, known or found, key=lambda each: each.peak_bytes), proved_bytes


def _order_of(problem: Problem, like: MemoryPlan) -> list[int]:
    """Returns the buffers from the lowest offset in another plan to the highest, then the buffers that the plan does not have."""
    offsets = {placement.buffer.name: placement.offset_bytes for placement in like.placements}
    return sorted(range(len(problem)), key=lambda i: (offsets.get(problem.buffers[i].name, like.peak_bytes), i))


def _searched_with_overlaps(
    problem: Problem, start: Arrangement, proved_bytes: int, known: Arrangement | None, enough_bytes: int
) -> tuple[Arrangement, int]:
    """Returns the best arrangement and the proved bound. Short searches from `start` and from `known` mostly end with a proof;
    otherwise long searches follow."""
    short = moves_for(problem, SHORT_WALK), SHORT_SEARCH
    best = start
    for begin, (moves, visits) in ((start, short), (known, short), (start, (moves_for(problem), VISITS))):
        if begin is None or best.peak_bytes <= max(proved_bytes, enough_bytes):
            continue
        found, proved_bytes = overlap_search(problem, climb(problem, begin, moves, enough_bytes), proved_bytes, visits)
        best = min(best, found, key=lambda each: each.peak_bytes)
    return best, proved_bytes


def _reach(problem: Problem, found: Arrangement, proved_bytes: int, capacity_bytes: int, nodes: int) -> tuple[Arrangement, int]:
    """Looks first for any arrangement within the capacity. A tighter question may be easier, so the bound gets a share of the
    nodes."""
    found, proved_bytes = _raise_bound(problem, found, proved_bytes, nodes // CAPACITY_SHARE)
    if proved_bytes <= capacity_bytes < found.peak_bytes:
        outcome, offsets = search(problem, capacity_bytes, NodeBudget(nodes))
        if outcome is Outcome.FOUND:
            found = Arrangement.of(problem, offsets)
        elif outcome is Outcome.IMPOSSIBLE:
            proved_bytes = problem.next_peak(capacity_bytes)
    return found, proved_bytes


def _raise_bound(problem: Problem, found: Arrangement, proved_bytes: int, nodes: int) -> tuple[Arrangement, int]:
    """Searches exhaustively at the bound, then at the next peak that can exist, and so on: impossibility proves a gap."""
    budget = NodeBudget(nodes)
    while proved_bytes < found.peak_bytes and budget.left:
        outcome, offsets = search(problem, proved_bytes, budget)
        if outcome is Outcome.FOUND:
            found = Arrangement.of(problem, offsets)
        elif outcome is Outcome.IMPOSSIBLE:
            proved_bytes = problem.next_peak(proved_bytes)
    return found, proved_bytes


def _lower_peak(problem: Problem, found: Arrangement, proved_bytes: int, nodes: int) -> tuple[Arrangement, int]:
    """Asks for capacities between the proved bound and the found peak: a better peak, mostly without a proof."""
    unknown_bytes = proved_bytes
    for _ in range(BISECTIONS):
        wanted = (unknown_bytes + found.peak_bytes) // 2
        if wanted <= unknown_bytes:
            break
        outcome, offsets = search(problem, wanted, NodeBudget(nodes))
        if outcome is Outcome.FOUND:
            found = Arrangement.of(problem, offsets)
        else:
            unknown_bytes = wanted
        if outcome is Outcome.IMPOSSIBLE:
            proved_bytes = problem.next_peak(wanted)
    return found, proved_bytes


def _too_large(problem: Problem, needed_bytes: int, capacity_bytes: int, region: str, *, proved: bool) -> CapacityExceeded:
    _, step = problem.lower_bound
    live = [buffer for buffer in problem.buffers if buffer.first <= step < buffer.last]
    live.sort(key=lambda buffer: (-buffer.size_bytes, buffer.name))
    return CapacityExceeded(needed_bytes, capacity_bytes, step, live, region=region, proved=proved)
