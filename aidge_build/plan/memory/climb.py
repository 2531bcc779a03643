# SPDX-License-Identifier: MIT
"""Hill climbing over placement orders: what blocks the topmost buffer is moved; a fixed seed and a fixed number of moves."""

from __future__ import annotations

from math import exp
from random import Random

from aidge_build.plan.memory.greedy import Arrangement, attempt
from aidge_build.plan.memory.problem import Problem

SEED = 20231
PAIR_VISITS = 2_000_000
MOST_MOVES = 2_000
COOLING = 0.999
START_TEMPERATURE = 0.02


def moves_for(problem: Problem, visits: int = PAIR_VISITS) -> int:
    """Returns the number of moves: limited by work (visited pairs), never by time, so that every machine finds the same plan."""
    pairs = sum(len(others) for others in problem.conflicts)
    return min(MOST_MOVES, visits // (pairs + len(problem) + 1))


def climb(problem: Problem, start: Arrangement, moves: int, enough_bytes: int = 0) -> Arrangement:
    """Returns the best arrangement of a walk from `start`. The walk accepts a worse arrangement with falling probability, and
    ends at the first arrangement with a peak of at most `enough_bytes`."""
    bound_bytes, _ = problem.lower_bound
    random = Random(SEED)
    temperature = START_TEMPERATURE * bound_bytes
    best = current = start
    for _ in range(moves):
        if best.peak_bytes <= max(bound_bytes, enough_bytes):
            break
        order, kept = _moved(problem, current, random)
        # The first arrangement of the walk may come from another method.
        known = [current.offsets[index] for index in order[:kept]] if current is not start else ()
        found = attempt(problem, order, known=known, refuses=_Refusal(current.peak_bytes, temperature, random))
        temperature *= COOLING
        if found is None:
            continue
        current = found
        if found.peak_bytes < best.peak_bytes:
            best = found
    return best


class _Refusal:
    """Whether a peak is too high for the walk to go there: the chance is drawn once, when it is first above the present one."""

    def __init__(self, present_bytes: int, temperature: float, random: Random):
        self._present_bytes, self._temperature, self._random = present_bytes, max(1.0, temperature), random
        self._chance: float | None = None

    def __call__(self, peak_bytes: int) -> bool:
        rise = peak_bytes - self._present_bytes
        if rise <= 0:
            return False
        if self._chance is None:
            self._chance = self._random.random()
        return self._chance >= exp(-rise / self._temperature)


def _moved(problem: Problem, current: Arrangement, random: Random) -> tuple[list[int], int]:
    """Returns the order with a topmost buffer moved before a buffer below it, or with one of these two exchanged with any other;
    and how many of the first buffers keep their position."""
    offsets = current.offsets
    topmost = random.choice([i for i, offset in enumerate(offsets) if offset + problem.sizes[i] == current.peak_bytes])
    below = [other for other in problem.conflicts[topmost] if offsets[other] < offsets[topmost]]
    blocker = random.choice([*below, topmost])
    order = list(current.order)
    if random.random() < 0.5:
        here = order.index(topmost)
        del order[here]
        limit = order.index(blocker) + 1 if blocker != topmost else 1
        there = random.randrange(limit)
        order.insert(there, topmost)
        return order, min(there, here)
    here, there = order.index(blocker), random.randrange(len(order))
    order[here], order[there] = order[there], order[here]
    return order, min(here, there)
