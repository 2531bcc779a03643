# SPDX-License-Identifier: MIT
"""Exhaustive search for buffers that may overlap: which of two buffers is above the other is decided pair by pair, within limits.

If two buffers are live together, one begins far enough above the other (`Problem.separations`): a question of disjunctive
scheduling. Heads are the lowest offsets under what is decided, tails the bytes from a buffer's first one to the highest of all; a
decision that leaves no room between them is impossible and decides the pair (Carlier and Pinson 1989). Branching takes the pair
with the costliest decision.
"""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.plan.memory.greedy import Arrangement
from aidge_build.plan.memory.problem import Problem

VISITS = 600_000
MOST_PAIRS = 600


def overlap_search(problem: Problem, found: Arrangement, proved_bytes: int, visits: int = VISITS) -> tuple[Arrangement, int]:
    """Returns the best arrangement from `found` on, and the bytes below which none exists: its peak, if the search has ended."""
    if found.peak_bytes == proved_bytes or len(problem.separations) > MOST_PAIRS:
        return found, proved_bytes
    search = _OverlapSearch(problem, found, proved_bytes, visits)
    everything = search.run()
    return search.best, search.best.peak_bytes if everything else proved_bytes


class _Impossible(Exception):
    """No arrangement below the best one has these decisions."""


class _Ended(Exception):
    """The visits are used up, or the best arrangement has the bytes below which none exists."""


class _OverlapSearch:
    def __init__(self, problem: Problem, found: Arrangement, proved_bytes: int, visits: int):
        count = len(problem)
        self.problem, self.best, self.proved_bytes, self.visits_left = problem, found, proved_bytes, visits
        self.heads, self.tails = [0] * count, list(problem.sizes)
        self.masks, self.no_masks = [alignment - 1 for alignment in problem.alignments], [0] * count
        self.above: list[list[tuple[int, int]]] = [[] for _ in range(count)]  # (upper, bytes)
        self.below: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self.trail: list[tuple[list, int | None, int | None]] = []

    def run(self) -> bool:
        """Whether everything was searched."""
        try:
            self._branch(list(self.problem.separations))
        except _Ended:
            return False
        except _Impossible:
            pass  # nothing better exists
        return True

    def _branch(self, open_pairs: Sequence[tuple[int, int, int, int]]) -> None:
        """Searches every arrangement below the best one; raises `_Impossible` if decisions contradict, returns when all are
        searched."""
        open_pairs = self._propagated(open_pairs)
        chosen = self._costliest(open_pairs)
        if chosen is None:
            self.best = Arrangement.of(self.problem, self.heads)
            if self.best.peak_bytes == self.proved_bytes:
                raise _Ended
            return
        one, one_bytes, other, other_bytes = chosen
        rest = [pair for pair in open_pairs if pair is not chosen]
        sides = [
            (self._rise(one, one_bytes, other), one, one_bytes, other),
            (self._rise(other, other_bytes, one), other, other_bytes, one),
        ]
        for _, lower, distance, upper in sorted(sides):
            mark = len(self.trail)
            try:
                self._decide(lower, distance, upper)
                self._branch(rest)
            except _Impossible:
                pass  # nothing better exists on this side
            finally:
                self._take_back(mark)

    def _propagated(self, pairs: Sequence[tuple[int, int, int, int]]) -> Sequence[tuple[int, int, int, int]]:
        """Decides each pair with one way left, until nothing follows; returns the pairs that stay open."""
        heads, tails, peak_bytes = self.heads, self.tails, self.best.peak_bytes  # one visit after the other: no calls
        changed = True
        while changed:
            changed, left = False, list[tuple[int, int, int, int]]()
            self.visits_left -= len(pairs)
            if self.visits_left < 0:
                raise _Ended
            keep = left.append
            for pair in pairs:
                one, one_bytes, other, other_bytes = pair
                if heads[one] + one_bytes + tails[other] < peak_bytes:
                    if heads[other] + other_bytes + tails[one] < peak_bytes:
                        keep(pair)
                        continue
                    self._decide(one, one_bytes, other)
                elif heads[other] + other_bytes + tails[one] < peak_bytes:
                    self._decide(other, other_bytes, one)
                else:
                    raise _Impossible
                changed = True
            pairs = left
        return pairs

    def _costliest(self, pairs: Sequence[tuple[int, int, int, int]]) -> tuple[int, int, int, int] | None:
        """Returns the pair that collides at the heads and has the costliest cheaper decision; None if no pair collides."""
        worst, chosen, heads = 0, None, self.heads
        for pair in pairs:
            one, one_bytes, other, other_bytes = pair
            between = heads[one] - heads[other]
            if one_bytes + between > worst and other_bytes - between > worst:
                worst, chosen = min(one_bytes + between, other_bytes - between), pair
        return chosen

    def _rise(self, lower: int, distance: int, upper: int) -> int:
        return self.heads[lower] + distance - self.heads[upper]

    def _decide(self, lower: int, distance: int, upper: int) -> None:
        """Decides that `upper` begins at least `distance` above the beginning of `lower`, and raises the heads and tails that
        follow. Earlier decisions hold already: of the entries of the two buffers only the new one can raise a head or tail, and
        all count as visited."""
        above, below = self.above[lower], self.below[upper]
        above.append((upper, distance))
        below.append((lower, distance))
        self.trail += ((above, None, None), (below, None, None))
        self.visits_left -= len(above) + len(below)
        self._raise(self.heads, upper, self.heads[lower] + distance, self.above, self.masks)
        self._raise(self.tails, lower, self.tails[upper] + distance, self.below, self.no_masks)

    def _raise(
        self, values: list[int], index: int, least: int, entries: Sequence[list[tuple[int, int]]], masks: Sequence[int]
    ) -> None:
        """Raises a head or tail to `least` or more, and by `entries` the heads or tails that follow."""
        waiting = [(index, least)]
        while waiting:
            index, least = waiting.pop()
            if least <= values[index]:
                continue
            self.trail.append((values, index, values[index]))
            values[index] = value = (least + masks[index]) & ~masks[index]
            if self.heads[index] + self.tails[index] >= self.best.peak_bytes:
                raise _Impossible
            self.visits_left -= len(entries[index])
            waiting += [(other, value + between) for other, between in entries[index]]

    def _take_back(self, mark: int) -> None:
        while len(self.trail) > mark:
            values, index, value = self.trail.pop()
            if index is None:
                values.pop()
            else:
                values[index] = value
