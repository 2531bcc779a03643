# SPDX-License-Identifier: MIT
"""Offsets of the fullest steps first: an exhaustive search for their buffers alone, then greedy orders for the others.

A few steps decide the peak of a network. If their buffers alone do not fit, no plan fits: that raises the bound at little cost.
If they fit and the other buffers find no place around them, less full steps join the search.
"""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.plan.memory.branch import NodeBudget, Outcome, search
from aidge_build.plan.memory.greedy import Arrangement, orders, place
from aidge_build.plan.memory.problem import Problem

PERCENTS = (99, 95, 90, 85, 80, 75, 70, 65, 60, 50, 40)  # of the bound: steps with at least so many live bytes are searched
NODES_OF_A_SEARCH = 4_000
MOST_RAISES = 40


def peak_first(problem: Problem, found: Arrangement, proved_bytes: int, nodes: int) -> tuple[Arrangement, int]:
    """Returns the best arrangement from `found` on, and the bytes below which none exists, within a node limit."""
    bound_bytes, waiting, raises = proved_bytes, list(PERCENTS), 0
    while waiting and nodes and raises <= MOST_RAISES and proved_bytes < found.peak_bytes:
        chosen = _live_at_fullest(problem, bound_bytes * waiting[0] // 100)
        given = min(nodes, NODES_OF_A_SEARCH)
        budget = NodeBudget(given)
        outcome, offsets = search(Problem.of([problem.buffers[index] for index in chosen]), proved_bytes, budget)
        nodes -= given - budget.left
        if outcome is Outcome.LIMIT:
            break
        if outcome is Outcome.IMPOSSIBLE:
            proved_bytes = problem.next_peak(proved_bytes)
            raises += 1
        else:
            upwards = [index for _, index in sorted(zip(offsets, chosen, strict=True))]
            found = _completed(problem, upwards, found, proved_bytes)
            waiting.pop(0)
    return found, proved_bytes


def _live_at_fullest(problem: Problem, least_bytes: int) -> list[int]:
    """Returns the buffers of the sections that hold at least `least_bytes`."""
    full = [members for members in problem.sections if sum(problem.sizes[index] for index in members) >= least_bytes]
    return sorted({index for members in full for index in members})


def _completed(problem: Problem, upwards: Sequence[int], found: Arrangement, enough_bytes: int) -> Arrangement:
    """Returns the best of `found` and the greedy orders that begin with `upwards`, buffers in the order of their offsets."""
    first = dict.fromkeys(upwards)
    for order in orders(problem):
        for tightest in (False, True):
            if found.peak_bytes > enough_bytes:
                other = place(problem, tuple(first | dict.fromkeys(order)), tightest=tightest)
                found = min(found, other, key=lambda each: each.peak_bytes)
    return found
