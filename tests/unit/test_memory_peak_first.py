# SPDX-License-Identifier: MIT
"""The search of the steps of the peak: what it claims is true, and it packs networks that orders and walks do not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.greedy import best_greedy, place
from aidge_build.plan.memory.peak_first import peak_first
from aidge_build.plan.memory.plan import MemoryPlan, Placement
from aidge_build.plan.memory.problem import Problem
from tests.unit.test_memory_planner import aligned_buffers, least_peak
from tests.unit.test_memory_random import buffers_of

row = st.tuples(st.integers(0, 5), st.integers(1, 3), st.integers(1, 5), st.sampled_from((1, 1, 2, 4)))
rows = st.lists(row, min_size=1, max_size=6)


@settings(max_examples=150)
@given(rows)
def test_bytes_are_called_necessary_only_where_they_are(handful):
    problem = Problem.of(aligned_buffers(handful))
    start = place(problem, range(len(problem)))
    found, proved_bytes = peak_first(problem, start, problem.lower_bound[0], 2_000)
    placements = tuple(map(Placement, problem.buffers, found.offsets))
    check(MemoryPlan(placements, found.peak_bytes, *problem.lower_bound, False), problem.buffers)
    assert proved_bytes <= least_peak(list(problem.buffers)) <= found.peak_bytes <= start.peak_bytes


@pytest.mark.parametrize("seed, count, gap_bytes", [(249, 240, 0), (261, 160, 0), (275, 240, 0), (285, 160, 0), (288, 160, 5)])
def test_a_network_that_no_greedy_order_packs_is_packed_and_its_peak_proved(seed, count, gap_bytes):
    problem = Problem.of(buffers_of(seed, count, ordered=False))
    start, (bound_bytes, _) = best_greedy(problem), problem.lower_bound
    assert start.peak_bytes > bound_bytes
    found, proved_bytes = peak_first(problem, start, bound_bytes, 12_000)
    assert (found.peak_bytes, proved_bytes) == (bound_bytes + gap_bytes, bound_bytes + gap_bytes)


def test_a_moment_that_cannot_be_stacked_to_its_bound_proves_that_nothing_can():
    """The smallest known question whose optimum is above its bound, beside a long tail of small buffers."""
    handful = [(0, 1, 2), (0, 2, 2), (1, 3, 1), (2, 3, 1), (1, 4, 1), (2, 4, 1), (3, 5, 2), (4, 5, 2)]
    tail = [Buffer(f"t{step}", 1, 1, step, step + 2) for step in range(5, 60)]
    small = [Buffer(f"b{index}", size, 1, first, last) for index, (first, last, size) in enumerate(handful)]
    problem = Problem.of([*small, *tail])
    found, proved_bytes = peak_first(problem, place(problem, range(len(problem))), problem.lower_bound[0], 1_000)
    assert (problem.lower_bound[0], proved_bytes) == (4, 5)
