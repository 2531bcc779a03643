# SPDX-License-Identifier: MIT
"""Offsets by one pass over an order of the buffers: each buffer takes the lowest, or the tightest, gap between the placed
buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.plan.memory.problem import Problem


@dataclass(frozen=True)
class Arrangement:
    """Offsets by buffer index, their peak, and an order in which greedy placement leads to them."""

    peak_bytes: int
    offsets: tuple[int, ...]
    order: tuple[int, ...]

    @staticmethod
    def of(problem: Problem, offsets: Sequence[int]) -> Arrangement:
        """Returns the arrangement with these offsets."""
        order = sorted(range(len(offsets)), key=lambda index: (offsets[index], index))
        return Arrangement(max(map(int.__add__, offsets, problem.sizes), default=0), tuple(offsets), tuple(order))


def place(problem: Problem, order: Sequence[int], *, tightest: bool = False, known: Sequence[int] = ()) -> Arrangement:
    """Places the buffers in `order`, each into the lowest gap that takes it, or with `tightest` into the smallest gap. `known`
    are the offsets of the first buffers in the order, from an order with the same beginning."""
    found = attempt(problem, order, tightest=tightest, known=known)
    assert found is not None  # nothing is refused
    return found


def attempt(
    problem: Problem,
    order: Sequence[int],
    *,
    tightest: bool = False,
    known: Sequence[int] = (),
    refuses: Callable[[int], bool] | None = None,
) -> Arrangement | None:
    """Returns the same, or None as soon as `refuses` says that the peak so far is too high. `refuses` is asked when the peak
    rises; for a problem that `is_wide`, at the end."""
    if problem.is_wide and not problem.distances:
        found = _placed_wide(problem, order, tightest=tightest)
        return None if refuses is not None and refuses(found.peak_bytes) else found
    offsets = [-1] * len(problem)
    ends = [0] * len(problem)
    sizes, alignments, conflicts, forbidden = problem.sizes, problem.alignments, problem.conflicts, problem.forbidden
    for index, offset in zip(order, known):
        offsets[index], ends[index] = offset, offset + sizes[index]
    peak_bytes = max(ends, default=0)
    for index in order[len(known) :]:
        size = sizes[index]
        if forbidden:
            taken = [(at - below, at + above) for other, below, above in forbidden[index] if (at := offsets[other]) >= 0]
        else:
            taken = [(offsets[other] - size, ends[other]) for other in conflicts[index] if offsets[other] >= 0]
        offsets[index] = _gap(taken, alignments[index] - 1, tightest)
        ends[index] = offsets[index] + size
        if ends[index] > peak_bytes:
            peak_bytes = ends[index]
            if refuses is not None and refuses(peak_bytes):
                return None
    return Arrangement(peak_bytes, tuple(offsets), tuple(order))


def _gap(taken: list[tuple[int, int]], mask: int, tightest: bool) -> int:
    """Returns the lowest offset outside of all half-open ranges that are `taken`, or with `tightest` the start of the smallest
    gap; `mask` are the bits of an offset that must be zero."""
    taken.sort()
    floor, chosen, chosen_gap = 0, -1, 0
    for start, end in taken:
        if start >= floor:
            if not tightest:
                return floor
            if chosen < 0 or start - floor < chosen_gap:
                chosen, chosen_gap = floor, start - floor
        if end > floor:
            floor = (end + mask) & ~mask
    return floor if chosen < 0 else chosen


def _placed_wide(problem: Problem, order: Sequence[int], *, tightest: bool) -> Arrangement:
    """Returns the same arrangement without a list of conflicts: the placed buffers are sorted by offset, and each search looks
    through all of them."""
    offsets: dict[int, int] = {}
    starts, stops, firsts, lasts = (numpy.zeros(len(problem), numpy.int64) for _ in range(4))  # of what is placed, by offset
    for count, index in enumerate(order):
        size, mask = problem.sizes[index], problem.alignments[index] - 1
        meets = (firsts[:count] < problem.lasts[index]) & (lasts[:count] > problem.firsts[index])
        begins = starts[:count][meets]
        floors = numpy.maximum.accumulate(numpy.concatenate(([0], (stops[:count][meets] + mask) & ~mask)))
        gaps = begins - size - floors[:-1]
        fitting = numpy.flatnonzero(gaps >= 0)
        if not len(fitting):
            offset = int(floors[-1])
        else:
            offset = int(floors[fitting[numpy.argmin(gaps[fitting])] if tightest else fitting[0]])
        at = int(numpy.searchsorted(starts[:count], offset, side="right"))
        for column, value in (
            (starts, offset),
            (stops, offset + size),
            (firsts, problem.firsts[index]),
            (lasts, problem.lasts[index]),
        ):
            column[at + 1 : count + 1] = column[at:count]
            column[at] = value
        offsets[index] = offset
    return Arrangement(int(stops.max()), tuple(offsets[index] for index in range(len(problem))), tuple(order))


def orders(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Yields the greedy orders, the most promising first; ties fall to the canonical index. A problem that `is_wide` gets only
    the orders that need no list of conflicts."""
    sizes = problem.sizes
    lifetimes = [last - first for first, last in zip(problem.firsts, problem.lasts, strict=True)]
    indices = range(len(problem))
    yield tuple(sorted(indices, key=lambda i: (-sizes[i], -lifetimes[i], i)))
    if not problem.is_wide:
        yield by_breadth(problem)
        weights = [sum(sizes[other] for other in others) for others in problem.conflicts]
        yield tuple(sorted(indices, key=lambda i: (-weights[i], -sizes[i], i)))
    yield tuple(sorted(indices, key=lambda i: (-sizes[i] * lifetimes[i], i)))
    yield tuple(sorted(indices, key=lambda i: (-lifetimes[i], -sizes[i], i)))
    yield tuple(indices)
    yield tuple(sorted(indices, key=lambda i: (-problem.lasts[i], -sizes[i], i)))
    if not problem.is_wide and any(size % max(problem.alignments) for size in sizes):
        yield by_padding(problem)


def by_breadth(problem: Problem) -> tuple[int, ...]:
    """Returns the buffers of the fullest step first, the largest of a step first (Pisarchyk and Lee 2020, greedy by breadth)."""
    fullest = sorted(problem.live_sets, key=lambda entry: (-sum(problem.sizes[i] for i in entry[1]), entry[0]))
    order: dict[int, None] = {}
    for _, live in fullest:
        order.update(dict.fromkeys(sorted(live, key=lambda i: (-problem.sizes[i], i))))
    return tuple(order)


def by_padding(problem: Problem) -> tuple[int, ...]:
    """Returns the buffers of the fullest step as a stack with little padding, the longest-lived first; then the other buffers by
    breadth."""
    step = problem.lower_bound[1]
    waiting = [index for moment, live in problem.live_sets if moment == step for index in live]
    waiting.sort(key=lambda i: (problem.firsts[i] - problem.lasts[i], -problem.sizes[i], i))
    order: dict[int, None] = {}
    end = 0
    while waiting:
        position = min(range(len(waiting)), key=lambda p: (-end % problem.alignments[waiting[p]], p))
        index = waiting.pop(position)
        end += -end % problem.alignments[index] + problem.sizes[index]
        order[index] = None
    return tuple(order | dict.fromkeys(by_breadth(problem)))


def best_greedy(problem: Problem) -> Arrangement:
    """Returns the best arrangement of all orders with both fits; stops as soon as the lower bound is reached."""
    bound_bytes, _ = problem.lower_bound
    best = None
    for order, tightest in ((order, tightest) for order in orders(problem) for tightest in (False, True)):
        if best is not None and best.peak_bytes == bound_bytes:
            return best
        found = place(problem, order, tightest=tightest)
        if best is None or found.peak_bytes < best.peak_bytes:
            best = found
    assert best is not None  # there are always orders
    return best
