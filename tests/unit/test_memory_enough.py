# SPDX-License-Identifier: MIT
"""A search for offsets ends at a peak that is said to be enough, and not one byte above it."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from aidge_build.plan.memory import planner
from aidge_build.plan.memory.buffer import Buffer, Overlap
from aidge_build.plan.memory.climb import climb, moves_for
from aidge_build.plan.memory.greedy import best_greedy
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.memory.problem import Problem
from tests.unit.test_memory_overlap_search import random_question


class Walked(Exception):
    """A walk was begun."""


def crowded(seed: int) -> list[Buffer]:
    """Buffers of many sizes and lifetimes."""
    random = Random(seed)
    buffers = []
    for index in range(24):
        first = random.randrange(20)
        buffers.append(Buffer(f"t{index}", random.randrange(8, 200), 4, first, first + random.randrange(1, 8), "activation"))
    return buffers


def improvable():
    """Problems whose walk finds a smaller peak than the greedy orders; their start and their end."""
    for seed in range(60):
        problem = Problem.of(crowded(seed))
        start = best_greedy(problem)
        end = climb(problem, start, moves_for(problem))
        if end.peak_bytes < start.peak_bytes:
            yield problem, start, end


def test_a_walk_ends_at_the_first_peak_that_is_enough():
    checked = 0
    for problem, start, end in improvable():
        moves = moves_for(problem)
        assert climb(problem, start, moves, start.peak_bytes) is start
        below = climb(problem, start, moves, start.peak_bytes - 1)
        assert end.peak_bytes <= below.peak_bytes < start.peak_bytes
        assert climb(problem, start, moves, end.peak_bytes).peak_bytes == end.peak_bytes
        assert climb(problem, start, moves, end.peak_bytes - 1).peak_bytes == end.peak_bytes
        checked += 1
    assert checked


def overlapping(seed: int) -> tuple[list[Buffer], list[Overlap]]:
    """The same where one pair may overlap: no rectangles any more."""
    buffers = crowded(seed)
    pair = next((a, b) for a in buffers for b in buffers if a.last == b.first + 1 and a is not b)
    return buffers, [Overlap(pair[1].name, pair[0].name, 8)]


@pytest.mark.parametrize("overlaps", [False, True], ids=["rectangles", "overlaps"])
def test_no_walk_is_begun_where_the_greedy_peak_is_enough(monkeypatch, overlaps):
    def walk(*_):
        raise Walked

    monkeypatch.setattr(planner, "climb", walk)
    walked = 0
    for seed in range(12):
        buffers, pairs = overlapping(seed) if overlaps else (crowded(seed), [])
        problem = Problem.of(buffers, pairs)
        peak = best_greedy(problem).peak_bytes
        assert plan(buffers, overlaps=pairs, enough_bytes=peak).peak_bytes == peak
        try:
            plan(buffers, overlaps=pairs, nodes=0, enough_bytes=peak - 1)
        except Walked:
            walked += 1
    assert walked


def test_no_walk_is_begun_where_buffers_may_overlap_and_the_greedy_peak_is_the_bound(monkeypatch):
    monkeypatch.setattr(planner, "climb", lambda *_: pytest.fail("a walk was begun"))
    checked = 0
    for seed in range(20):
        buffers, pairs = random_question(seed)
        problem = Problem.of(buffers, pairs)
        if best_greedy(problem).peak_bytes == problem.lower_bound[0] and not problem.is_rectangular:
            assert plan(buffers, overlaps=pairs).offsets_proved_optimal
            checked += 1
    assert checked


def test_the_order_that_is_known_may_be_enough(monkeypatch):
    helped = 0
    for problem, start, _ in improvable():
        best = plan(problem.buffers)
        if best.peak_bytes < start.peak_bytes:
            with monkeypatch.context() as patched:
                patched.setattr(planner, "climb", lambda *_: pytest.fail("a walk was begun"))
                found = plan(problem.buffers, nodes=0, like=best, enough_bytes=start.peak_bytes - 1)
            assert found.peak_bytes < start.peak_bytes
            helped += 1
    assert helped


def test_a_settled_search_leaves_out_the_long_walk_when_the_short_one_was_enough(monkeypatch):
    for seed in count():
        buffers, pairs = overlapping(seed)
        problem = Problem.of(buffers, pairs)
        full = plan(buffers, overlaps=pairs)
        start = best_greedy(problem).peak_bytes
        if full.lower_bound_bytes < full.peak_bytes < start and not full.offsets_proved_optimal:
            break
        if seed == 200:
            pytest.skip("no such question among the first ones")
    walks = []
    monkeypatch.setattr(planner, "climb", lambda *given: walks.append(given[2]) or climb(*given))
    assert plan(buffers, overlaps=pairs, enough_bytes=start - 1).peak_bytes < start
    quick = len(walks)
    assert plan(buffers, overlaps=pairs, enough_bytes=full.peak_bytes - 1).peak_bytes == full.peak_bytes
    assert quick < len(walks) - quick
