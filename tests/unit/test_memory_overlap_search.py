# SPDX-License-Identifier: MIT
"""Buffers that may overlap, or that are live in parts: the exhaustive search finds the optimum, and says so only then."""

from __future__ import annotations

from itertools import accumulate
from random import Random

import pytest

from aidge_build.plan.memory.buffer import Buffer, Overlap, Window
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.greedy import Arrangement, best_greedy
from aidge_build.plan.memory.overlap_search import VISITS, _OverlapSearch, overlap_search
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.memory.problem import Problem


def random_question(seed: int) -> tuple[list[Buffer], list[Overlap]]:
    """A chain of tensors, some of which may begin before the one before them; some change their size, some live long."""
    random = Random(seed)
    buffers, overlaps = [], []
    for step in range(random.randrange(3, 6)):
        size, last = random.randrange(1, 7), step + 2 + (random.randrange(3) if random.random() < 0.3 else 0)
        windows = ()
        if random.random() < 0.3 and last - step > 1:
            low, high = random.choice(((0, size), (0, (size + 1) // 2), (size // 2, size)))
            if low < high:
                windows = (Window(step, step + 1, 0, size), Window(step + 1, last, low, high))
        buffers.append(Buffer(f"t{step}", size, random.choice((1, 1, 2, 4)), step, last, "activation", windows))
        if step and buffers[step - 1].last == step + 1 and random.random() < 0.6:
            overlaps.append(Overlap(f"t{step}", f"t{step - 1}", random.randrange(0, size + 1)))
    return buffers, overlaps


def may_lie(one: Buffer, at: int, other: Buffer, there: int, overlaps: list[Overlap]) -> bool:
    """Byte by byte in every step; an overlap is allowed where a kernel stays far enough behind."""
    for lower, low, upper, high in ((one, at, other, there), (other, there, one, at)):
        if any((entry.lower, entry.upper) == (lower.name, upper.name) and low + entry.lead_bytes <= high for entry in overlaps):
            return True
    for step in range(max(one.first, other.first), min(one.last, other.last)):
        (low, high), (other_low, other_high) = one.live_bytes(step), other.live_bytes(step)
        if set(range(at + low, at + high)) & set(range(there + other_low, there + other_high)):
            return False
    return True


def least_peak(buffers: list[Buffer], overlaps: list[Overlap]) -> int:
    """By trying all offsets."""

    def fits(capacity: int, offsets: tuple[int, ...]) -> bool:
        if len(offsets) == len(buffers):
            return True
        new = buffers[len(offsets)]
        return any(
            all(may_lie(buffers[i], offsets[i], new, at, overlaps) for i in range(len(offsets)))
            and fits(capacity, (*offsets, at))
            for at in range(0, capacity - new.size_bytes + 1, new.alignment)
        )

    peak = max(buffer.size_bytes for buffer in buffers)
    while not fits(peak, ()):
        peak += 1
    return peak


def test_the_optimum_of_all_offsets_is_found_and_proved():
    gaps = 0
    for seed in range(120):
        buffers, overlaps = random_question(seed)
        found = plan(buffers, overlaps=overlaps)
        check(found, buffers)
        assert (found.peak_bytes, found.offsets_proved_optimal) == (least_peak(buffers, overlaps), True), (buffers, overlaps)
        gaps += found.gap_bytes > 0
    assert gaps > 10


def test_the_search_improves_what_it_is_given():
    better = 0
    for seed in range(120):
        buffers, overlaps = random_question(seed)
        problem = Problem.of(buffers, overlaps)
        start = best_greedy(problem)
        found, proved = overlap_search(problem, start, problem.lower_bound[0])
        assert found.peak_bytes <= start.peak_bytes and proved == found.peak_bytes
        better += found.peak_bytes < start.peak_bytes
    assert better > 3


def test_without_visits_nothing_is_proved():
    for seed in range(40):
        buffers, overlaps = random_question(seed)
        problem = Problem.of(buffers, overlaps)
        start = best_greedy(problem)
        found, proved = overlap_search(problem, start, problem.lower_bound[0], visits=0)
        assert (found, proved) == (start, problem.lower_bound[0])


@pytest.mark.parametrize("lead, peak", [(0, 10), (3, 13), (10, 20)])
def test_an_output_begins_as_far_before_its_input_as_it_must(lead, peak):
    buffers = [Buffer("x", 10, 1, 0, 1), Buffer("y", 10, 1, 0, 1)]
    found = plan(buffers, overlaps=[Overlap("y", "x", lead)])
    assert (found.peak_bytes, found.offsets_proved_optimal) == (peak, True)


def test_it_agrees_with_the_other_exhaustive_search_where_both_can_answer():
    for seed in range(120):
        random = Random(seed)
        spans = [(first := random.randrange(6), first + 1 + random.randrange(4)) for _ in range(10)]
        buffers = [Buffer(f"b{i}", random.randrange(1, 9), random.choice((1, 1, 4)), *span) for i, span in enumerate(spans)]
        problem, expected = Problem.of(buffers), plan(buffers)
        assert expected.offsets_proved_optimal
        heights = [8 * index for index in range(len(buffers))]  # a poor start
        found, proved = overlap_search(problem, Arrangement.of(problem, heights), expected.lower_bound_bytes)
        assert found.peak_bytes == proved == expected.peak_bytes


class Watched(_OverlapSearch):
    """A search that looks at its heads and tails after every decision."""

    def _decide(self, lower: int, distance: int, upper: int) -> None:
        super()._decide(lower, distance, upper)
        for below, entries in enumerate(self.above):
            for above, bytes_between in entries:
                assert self.heads[above] >= self.heads[below] + bytes_between
                assert self.tails[below] >= self.tails[above] + bytes_between


def poor_starts(seeds: int):
    """Questions with each buffer above all before it, for which the search has much to do."""
    for seed in range(seeds):
        problem = Problem.of(*random_question(seed))
        ends = list(accumulate((size + 3 & ~3 for size in problem.sizes), initial=0))
        yield problem, Arrangement.of(problem, ends[:-1]), problem.lower_bound[0]


def test_heads_and_tails_follow_from_all_decisions_and_no_visit_is_in_vain():
    """A rule of the search that gets lost takes more visits than these."""
    visits = 0
    for problem, start, bound in poor_starts(200):
        search = Watched(problem, start, bound, VISITS)
        search.run()
        visits += VISITS - search.visits_left
    assert visits == 5_274


def test_the_search_ends_with_the_visit_that_reaches_the_bound():
    reached = 0
    for problem, start, bound in poor_starts(60):
        search = _OverlapSearch(problem, start, bound, VISITS)
        search.run()
        if search.best.peak_bytes == bound < start.peak_bytes:
            one_visit_less = VISITS - search.visits_left - 1
            assert overlap_search(problem, start, bound, one_visit_less)[0].peak_bytes > bound
            reached += 1
    assert reached > 20
