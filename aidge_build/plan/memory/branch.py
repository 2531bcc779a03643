# SPDX-License-Identifier: MIT
"""Exhaustive search for offsets within a capacity: depth first, from the lowest offset up, within a node limit.

The method is minimalloc (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS
2023). Every feasible question has an arrangement in which no buffer can be lowered; such an arrangement is met when the buffers
are placed in the order of (offset, rank), each at the lowest offset above its placed neighbours. Therefore

1. a candidate comes not before its predecessor in (offset, rank), and of equal buffers the first comes first;
2. a candidate that leaves room below it for another waiting buffer is dominated by placing that one;
3. a candidate without waiting neighbours can never be raised: if it fails, so does everything without it;
4. a section (a step with a maximal live set) must hold its waiting buffers above the lowest offset of each;
5. if no waiting buffer spans a boundary between sections, both sides are independent questions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import Enum

from aidge_build.plan.memory.problem import Problem
from aidge_build.plan.memory.stack import least_padding


class Outcome(Enum):
    """The result of a search."""

    FOUND = "found"
    IMPOSSIBLE = "impossible"
    LIMIT = "node limit"


class NodeBudget:
    """The nodes that are left; a count and not a time, so that every machine gives up at the same node.

    A node counts for several if its look-ahead visits more than `VISITS_PER_NODE` buffers: this limits the time of a search, too.
    """

    def __init__(self, nodes: int):
        self.left = nodes


class _LimitReached(Exception):
    """This attempt has used its nodes."""


RANKINGS = (
    ("total", "sections", "area"),
    ("total", "area", "sections"),
    ("total", "steps", "stretch"),
    ("sections", "area", "total"),
)
FIRST_ATTEMPT_NODES_PER_BUFFER = 4
VISITS_PER_NODE = 300
LONGEST_STACK = 12  # buffers: the least padding of more buffers is not searched
STACK_LINKS = 1_000
STACK_VISITS = 600


def search(problem: Problem, capacity_bytes: int, budget: NodeBudget) -> tuple[Outcome, tuple[int, ...]]:
    """Returns offsets within `capacity_bytes`, or the proof that none exist, unless `budget` ends before (offsets are empty
    then).

    The rankings take turns with doubled node limits, because which of them is quick differs widely between questions.
    """
    if not problem.buffers:
        return Outcome.FOUND, ()
    one_descent = len(problem) + 3 * sum([len(members) ** 2 for members in problem.sections]) // (2 * VISITS_PER_NODE)
    attempt_nodes = max(FIRST_ATTEMPT_NODES_PER_BUFFER * len(problem), one_descent)
    while budget.left:
        for ranking in RANKINGS:
            nodes = min(attempt_nodes, budget.left)
            attempt = _Attempt(problem, capacity_bytes, ranking, nodes)
            outcome = attempt.run()
            budget.left -= nodes - max(0, attempt.visits_left // VISITS_PER_NODE)
            if outcome is not Outcome.LIMIT:
                return outcome, tuple(attempt.offsets) if outcome is Outcome.FOUND else ()
        attempt_nodes *= 2
    return Outcome.LIMIT, ()


class _Attempt:
    """One depth-first search with one ranking. All changes go through a trail, so that they can be taken back.

    All buffers are aligned to at least `common` bytes. Sizes and capacity are rounded up to it, so that the look-ahead sees
    unavoidable padding; the exact end of each buffer is compared with the exact capacity.
    """

    def __init__(self, problem: Problem, capacity_bytes: int, ranking: tuple[str, ...], nodes: int):
        count = len(problem)
        self.problem = problem
        self.exact_capacity = capacity_bytes
        common = min(problem.alignments)
        self.sizes = [-(-size // common) * common for size in problem.sizes]
        self.holes = [rounded - size for rounded, size in zip(self.sizes, problem.sizes)]
        self.capacity = -(-capacity_bytes // common) * common
        self.cycle = max(problem.alignments)
        self.most_padding = self.cycle - common
        self.kinds = [(-alignment, size % self.cycle) for size, alignment in zip(self.sizes, problem.alignments)]
        self.paddings: dict[tuple[tuple[tuple[int, int], ...], int], int] = {}
        self.visits_left = nodes * VISITS_PER_NODE - sum(map(len, problem.sections))
        self.trail: list[tuple[list[int], int, int]] = []
        self.offsets = [-1] * count
        self.lowest = [0] * count
        self.members = problem.sections
        self.total = [sum(self.sizes[i] for i in members) for members in self.members]
        self.floor = [0] * len(self.members)
        inside = [list[int]() for _ in range(count)]
        for section, members in enumerate(self.members):
            for index in members:
                inside[index].append(section)
        self.begin = [sections[0] for sections in inside]
        self.end = [sections[-1] + 1 for sections in inside]
        self.rank = self._ranks(ranking)
        self.twin = self._previous_equal()

    def run(self) -> Outcome:
        """Searches everything, or until the nodes are used up."""
        recursion_limit = sys.getrecursionlimit()
        sys.setrecursionlimit(recursion_limit + 4 * len(self.offsets))  # _solve, _solve_parts, all, its generator
        try:
            return Outcome.FOUND if self._solve_parts(list(range(len(self.offsets))), 0, -1) else Outcome.IMPOSSIBLE
        except _LimitReached:
            return Outcome.LIMIT
        finally:
            sys.setrecursionlimit(recursion_limit)

    def _ranks(self, ranking: tuple[str, ...]) -> list[int]:
        """Returns the position of each buffer in the order of `ranking`: total of the fullest section, width in sections or
        steps, area of either."""
        sizes, problem = self.sizes, self.problem
        sections = [end - begin for begin, end in zip(self.begin, self.end, strict=True)]
        steps = [last - first for first, last in zip(problem.firsts, problem.lasts, strict=True)]
        measures = {
            "total": [max(self.total[self.begin[i] : self.end[i]]) for i in range(len(sizes))],
            "sections": sections,
            "area": [size * width for size, width in zip(sizes, sections, strict=True)],
            "steps": steps,
            "stretch": [size * width for size, width in zip(sizes, steps, strict=True)],
        }
        chosen = [measures[name] for name in ranking]
        order = sorted(range(len(sizes)), key=lambda i: (*(-measure[i] for measure in chosen), i))
        ranks = [0] * len(sizes)
        for rank, index in enumerate(order):
            ranks[index] = rank
        return ranks

    def _previous_equal(self) -> list[int | None]:
        """Returns, for each buffer, the equal buffer with the next lower rank, or None; equal sections mean equal conflicts."""
        previous: list[int | None] = [None] * len(self.rank)
        latest: dict[tuple[int, int, int, int], int] = {}
        for index in sorted(range(len(self.rank)), key=self.rank.__getitem__):
            key = (self.begin[index], self.end[index], self.problem.sizes[index], self.problem.alignments[index])
            previous[index] = latest.get(key)
            latest[key] = index
        return previous

    def _solve_parts(self, waiting: list[int], offset: int, rank: int) -> bool:
        """Solves the independent parts of `waiting` one by one, the part with the fullest section first."""
        parts = self._parts(waiting)
        if len(parts) > 1:
            parts.sort(key=lambda part: -max(self.floor[k] + self.total[k] for k in self._span(part)))
        return all(self._solve(part, self._span(part), offset, rank) for part in parts)

    def _span(self, part: list[int]) -> range:
        """Returns the sections of a part; no other waiting buffer is in them."""
        return range(min(self.begin[index] for index in part), max(self.end[index] for index in part))

    def _parts(self, waiting: list[int]) -> list[list[int]]:
        parts: list[list[int]] = []
        reach = 0
        for index in sorted(waiting, key=self.begin.__getitem__):
            if not parts or self.begin[index] >= reach:
                parts.append([])
            parts[-1].append(index)
            reach = max(reach, self.end[index])
        return parts

    def _solve(self, waiting: list[int], span: range, offset: int, rank: int) -> bool:
        """Places all of `waiting` not before (offset, rank); the offsets stay on success."""
        self._visit(VISITS_PER_NODE)
        lowest, sizes = self.lowest, self.sizes
        ceiling = min([lowest[index] + sizes[index] for index in waiting])
        ceiling = min(ceiling, self.capacity - max(self.total[span.start : span.stop]) + 1)
        for candidate in sorted([(lowest[index], self.rank[index], index) for index in waiting if lowest[index] < ceiling]):
            index = candidate[2]
            raisable = any(self.offsets[other] < 0 for other in self.problem.conflicts[index])
            if candidate[:2] < (offset, rank):
                if not raisable:
                    return False
                continue
            twin = self.twin[index]
            if twin is not None and self.offsets[twin] < 0:
                continue
            mark = len(self.trail)
            rest = [other for other in waiting if other != index]
            if self._put(index, candidate[0]) and self._solve_parts(rest, *candidate[:2]):
                return True
            self._take_back(mark)
            if not raisable:
                return False
        return False

    def _put(self, index: int, offset: int) -> bool:
        """Places a buffer and raises the waiting buffers in conflict with it; returns False as soon as a section cannot hold its
        waiting buffers."""
        if offset + self.problem.sizes[index] > self.exact_capacity:
            return False
        top = offset + self.sizes[index]
        self._set(self.offsets, index, offset)
        begin, end = self.begin[index], self.end[index]
        for section in range(begin, end):
            self._set(self.total, section, self.total[section] - self.sizes[index])
            self._set(self.floor, section, top)
        affected_begin, affected_end = begin, end
        for other in self.problem.conflicts[index]:
            if self.offsets[other] < 0 and self.lowest[other] < top:
                mask = self.problem.alignments[other] - 1
                self._set(self.lowest, other, (top + mask) & ~mask)
                affected_begin = min(affected_begin, self.begin[other])
                affected_end = max(affected_end, self.end[other])
        return self._sections_hold(range(affected_begin, affected_end))

    def _sections_hold(self, affected: Iterable[int]) -> bool:
        capacity, exact, offsets = self.capacity, self.exact_capacity, self.offsets
        lowest, sizes, holes = self.lowest, self.sizes, self.holes
        for section in affected:
            self._visit(len(self.members[section]))
            waiting = sorted(
                [(lowest[index], sizes[index], holes[index]) for index in self.members[section] if offsets[index] < 0]
            )
            height = 0
            for start, size, _ in waiting:
                height = (start if start > height else height) + size
            if height > exact and waiting and height - max([hole for _, _, hole in waiting]) > exact:
                return False
            if height > capacity or height + self.most_padding * len(waiting) > capacity and self._too_much_padding(section):
                return False
            if waiting and waiting[0][0] > self.floor[section]:
                self._set(self.floor, section, waiting[0][0])
        return True

    def _too_much_padding(self, section: int) -> bool:
        """Whether the padding that no order of the waiting buffers avoids exceeds the room above what is placed."""
        waiting = [index for index in self.members[section] if self.offsets[index] < 0]
        if len(waiting) > LONGEST_STACK:
            return False
        base = max(self.floor[section], min([self.lowest[index] for index in waiting]))
        kinds = tuple(sorted([self.kinds[index] for index in waiting]))
        key = (kinds, base % self.cycle)
        if key not in self.paddings:
            self._visit(STACK_VISITS)
            self.paddings[key] = least_padding(kinds, (1,) * len(kinds), base, self.cycle, STACK_LINKS)
        return base + self.total[section] + self.paddings[key] > self.capacity

    def _visit(self, count: int) -> None:
        self.visits_left -= count
        if self.visits_left < 0:
            raise _LimitReached

    def _set(self, values: list[int], index: int, value: int) -> None:
        self.trail.append((values, index, values[index]))
        values[index] = value

    def _take_back(self, mark: int) -> None:
        while len(self.trail) > mark:
            values, index, value = self.trail.pop()
            values[index] = value
