# SPDX-License-Identifier: MIT
"""The memory planner: legal, deterministic, honest about what is proved."""

from __future__ import annotations

import csv
import inspect
import json
import os
import subprocess
import sys
from dataclasses import astuple, replace
from itertools import permutations
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.base.errors import AidgeError
from aidge_build.plan.memory import planner
from aidge_build.plan.memory.branch import NodeBudget, Outcome, search
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.greedy import Arrangement, best_greedy
from aidge_build.plan.memory.plan import CapacityExceeded, MemoryPlan, Placement
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.memory.problem import Problem
from tests.effort import counted

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"


def require(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.relative_to(ROOT.parent)} is absent: this checkout has no shared problem files")
    return path


def buffers_of(rows) -> list[Buffer]:
    return [Buffer(f"b{index}", size, 1, first, last) for index, (first, last, size) in enumerate(rows)]


def aligned_buffers(rows) -> list[Buffer]:
    return [Buffer(f"b{i}", size, alignment, first, first + length) for i, (first, length, size, alignment) in enumerate(rows)]


def gap_instances() -> list[dict]:
    return json.loads(require(DATA / "memplan" / "alloc" / "gap_instances.json").read_text())


def minimalloc(name: str) -> list[Buffer]:
    with require(DATA / "minimalloc" / f"{name}.csv").open() as file:
        return [Buffer(row["id"], int(row["size"]), 1, int(row["lower"]), int(row["upper"])) for row in csv.DictReader(file)]


def network_like(count: int, seed: int) -> list[Buffer]:
    """Buffers as a network makes them: most die soon, some live long, odd sizes, mixed alignment."""
    random = Random(seed)
    found = []
    for step in range(count):
        size = random.choice((random.randrange(1, 300), 16 * random.randrange(1, 2_000)))
        last = step + 2 + (random.randrange(20) if random.random() < 0.2 else 0)
        found.append(Buffer(f"t{step}", size, random.choice((1, 4, 16)), step, last))
    return found


@st.composite
def any_buffers(draw) -> list[Buffer]:
    row = st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(1, 40), st.sampled_from((1, 2, 4, 16)))
    return aligned_buffers(draw(st.lists(row, max_size=14)))


@settings(max_examples=150)
@given(any_buffers(), st.randoms(use_true_random=False))
def test_every_plan_passes_the_checker_and_ignores_the_order_of_the_question(buffers, random):
    found = plan(buffers, nodes=300)
    check(found, buffers)
    assert found.peak_bytes >= found.lower_bound_bytes
    shuffled = list(buffers)
    random.shuffle(shuffled)
    assert plan(shuffled, nodes=300) == found


@settings(max_examples=100)
@given(any_buffers())
def test_the_lower_bound_is_at_least_the_live_bytes_of_every_step(buffers):
    live = [sum(b.size_bytes for b in buffers if b.first <= step < b.last) for step in range(20)]
    found = plan(buffers, nodes=0)
    assert found.lower_bound_bytes >= max(live)
    bound_live = [p.buffer for p in found.live_at(found.bound_step)]
    assert bool(bound_live) == bool(buffers)


def test_the_lower_bound_counts_the_padding_that_no_arrangement_avoids():
    buffers = [Buffer(name, 10, 16, 0, 1) for name in "abc"]
    found = plan(buffers)
    assert (found.peak_bytes, found.lower_bound_bytes, found.offsets_proved_optimal) == (42, 42, True)


def test_small_unaligned_buffers_may_fill_the_padding_of_aligned_ones():
    buffers = [Buffer("a", 10, 16, 0, 1), Buffer("b", 10, 16, 0, 1), Buffer("c", 6, 1, 0, 1)]
    found = plan(buffers)
    assert (found.peak_bytes, found.lower_bound_bytes, found.offsets_proved_optimal) == (26, 26, True)


def test_no_buffers_make_an_empty_plan():
    found = plan([], capacity_bytes=0)
    assert (found.peak_bytes, found.lower_bound_bytes, found.offsets_proved_optimal, found.placements) == (0, 0, True, ())
    nothing = Problem.of([])
    assert nothing.lower_bound == nothing.fullest == (0, 0)
    assert search(nothing, 0, NodeBudget(5)) == (Outcome.FOUND, ())


def test_a_search_has_room_for_four_calls_for_each_buffer_and_leaves_the_limit_as_it_was():
    together = Problem.of([Buffer(f"b{number}", 4, 1, 0, 1) for number in range(60)])
    usual, few = sys.getrecursionlimit(), len(inspect.stack()) + 40
    try:
        sys.setrecursionlimit(few)
        outcome, offsets = search(together, 240, NodeBudget(1_000))
        left = sys.getrecursionlimit()
    finally:
        sys.setrecursionlimit(usual)
    assert outcome is Outcome.FOUND and sorted(offsets) == [*range(0, 240, 4)] and left == few


def test_a_search_below_the_live_bytes_of_a_step_is_impossible():
    buffers = [Buffer("a", 8, 4, 0, 1), Buffer("b", 8, 4, 4, 6), Buffer("c", 7, 4, 5, 7)]
    assert search(Problem.of(buffers), 14, NodeBudget(9)) == (Outcome.IMPOSSIBLE, ())
    assert search(Problem.of(buffers), 15, NodeBudget(9))[0] is Outcome.FOUND


def test_a_buffer_that_ends_where_another_begins_gives_its_bytes():
    found = plan([Buffer("a", 8, 1, 0, 1), Buffer("b", 8, 1, 1, 2)])
    assert (found.offset_of("a"), found.offset_of("b"), found.peak_bytes) == (0, 0, 8)


def test_a_negative_capacity_is_a_fault_of_the_caller():
    with pytest.raises(AidgeError, match="the capacity is -1 B"):
        plan([], capacity_bytes=-1)


def test_padding_counts_in_the_bound_wherever_in_time_the_fullest_bytes_are():
    fullest = [Buffer(f"a{i}", 10, 1, 1000, 1001) for i in range(4)]
    padded = [Buffer(f"b{i}", 13, 16, 5, 6) for i in range(3)]
    assert Problem.of([*fullest, *padded]).lower_bound == (45, 5)


def test_no_bytes_are_live_outside_of_a_buffers_life_and_nothing_has_no_peak():
    assert Buffer("a", 8, 1, 2, 4).live_bytes(1) == Buffer("a", 8, 1, 2, 4).live_bytes(4) == (0, 0)
    assert Arrangement.of(Problem.of([]), ()) == Arrangement(0, (), ())


def test_the_report_says_how_far_the_peak_is_from_the_bound():
    buffers = [Buffer("a", 10, 1, 0, 1)]
    found = MemoryPlan((Placement(buffers[0], 3),), 13, 10, 7, False)
    assert found.report_line() == "peak 13 B; lower bound 10 B (max-live at step 7); gap 30.00 %; not proven (node limit)"
    assert found.report_line("conv", "order optimal").startswith(
        "peak 13 B; lower bound 10 B (max-live at conv); order optimal; gap"
    )


@pytest.mark.requirement("PLAN03")
def test_offset_of_an_unknown_buffer_is_refused():
    with pytest.raises(AidgeError, match="no such buffer"):
        plan([]).offset_of("x")


@pytest.mark.requirement("PLAN03")
def test_two_buffers_of_one_name_are_refused():
    with pytest.raises(AidgeError, match="buffer 'a': two buffers have this name"):
        plan([Buffer("a", 8, 1, 0, 1), Buffer("a", 8, 1, 1, 2)])


@pytest.mark.parametrize(
    "change, text",
    [
        ({"size_bytes": 0}, "the size is 0 B"),
        ({"alignment": 3}, "the alignment is 3"),
        ({"alignment": 0}, "the alignment is 0"),
        ({"alignment": -4}, "the alignment is -4"),
        ({"last": 0}, r"the lifetime \[0, 0\) is empty"),
        ({"first": -1}, "begins before step 0"),
        ({"kind": "weight"}, "the kind 'weight'"),
        ({"name": ""}, "needs a name"),
        ({"size_bytes": 1.5}, "must be Python integers"),
    ],
)
def test_an_impossible_buffer_is_refused(change, text):
    with pytest.raises(AidgeError, match=text):
        Buffer(**{"name": "a", "size_bytes": 4, "alignment": 4, "first": 0, "last": 1, **change})


@pytest.mark.requirement("PLAN01")
def test_a_moment_above_the_capacity_is_refused_with_its_buffers():
    buffers = [Buffer("relu_1", 147_456, 16, 3, 5), Buffer("conv_2", 65_536, 16, 4, 6), Buffer("input", 4, 4, 0, 1)]
    with pytest.raises(CapacityExceeded) as caught:
        plan(buffers, capacity_bytes=131_072, region="SRAM1")
    assert str(caught.value) == (
        "the buffers need 212,992 B, region SRAM1 has 131,072 B; "
        "peak: step 4 needs 'relu_1' 147,456 B + 'conv_2' 65,536 B at once. "
        "Hint: a larger region, a smaller model, or int8 instead of float32"
    )
    assert caught.value.code == "PLAN01"
    assert (caught.value.step, caught.value.needed_bytes, caught.value.available_bytes) == (4, 212_992, 131_072)
    assert [buffer.name for buffer in caught.value.live] == ["relu_1", "conv_2"]


def test_a_capacity_between_bound_and_optimum_is_refused_without_claiming_the_bound():
    instance = gap_instances()[0]
    with pytest.raises(CapacityExceeded) as caught:
        plan(buffers_of(instance["buffers"]), capacity_bytes=instance["max_live"])
    assert caught.value.needed_bytes == instance["optimum"]
    with pytest.raises(CapacityExceeded) as caught:
        plan(buffers_of(instance["buffers"]), capacity_bytes=instance["max_live"] - 1)
    assert caught.value.needed_bytes == instance["max_live"] and caught.value.proved
    check(plan(buffers_of(instance["buffers"]), capacity_bytes=instance["optimum"]), buffers_of(instance["buffers"]))


def test_a_capacity_that_proves_impossible_between_bound_and_peak_raises_the_bound():
    for instance in gap_instances():
        buffers = [replace(buffer, size_bytes=8 * buffer.size_bytes, alignment=8) for buffer in buffers_of(instance["buffers"])]
        problem = Problem.of(buffers)
        found, proved_bytes = planner._lower_peak(problem, best_greedy(problem), problem.lower_bound[0], planner.BISECTION_NODES)
        assert found.peak_bytes == proved_bytes == 8 * instance["optimum"] > problem.lower_bound[0]


def test_a_capacity_that_the_bound_has_reached_is_still_looked_for_with_all_nodes():
    random = Random(9407)  # impossible at the bound of 77 B, and long to search one byte above
    firsts = [random.randrange(10) for _ in range(21)]
    rows = [(first, random.randrange(1, 30), random.choice((1, 2, 8)), first + random.randrange(1, 7)) for first in firsts]
    problem = Problem.of([Buffer(f"b{i}", size, alignment, first, last) for i, (first, size, alignment, last) in enumerate(rows)])
    start, nodes = best_greedy(problem), 800
    assert planner._raise_bound(problem, start, 77, nodes // planner.CAPACITY_SHARE) == (start, 78)
    found, proved_bytes = planner._reach(problem, start, 77, 78, nodes)
    assert found.peak_bytes == proved_bytes == 78


def test_the_plan_is_the_same_under_every_hash_seed():
    program = (
        "from tests.unit.test_memory_planner import network_like; from aidge_build.plan.memory.planner import plan;"
        "print([p.offset_bytes for p in plan(network_like(60, 1)).placements])"
    )
    outputs = set()
    for seed in ("0", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        outputs.add(
            subprocess.run(
                [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True, env=environment
            ).stdout
        )
    assert len(outputs) == 1


def test_one_buffer_more_than_a_thousand_makes_no_other_effort():
    buffers = network_like(1_001, 3)
    found, calls = counted(lambda: plan(buffers))
    assert calls < 3_000 * len(buffers)
    check(found, buffers)
    assert found.peak_bytes <= 1.05 * found.lower_bound_bytes


def test_the_optimum_of_every_gap_instance_is_found_and_proved_and_never_called_the_bound():
    for instance in gap_instances():
        buffers = buffers_of(instance["buffers"])
        found = plan(buffers)
        check(found, buffers)
        assert (found.peak_bytes, found.lower_bound_bytes) == (instance["optimum"], instance["max_live"])
        assert found.offsets_proved_optimal
        assert found.report_line().endswith("offsets optimal")


def test_without_an_exhaustive_search_nothing_above_the_bound_is_called_optimal():
    for instance in gap_instances():
        found = plan(buffers_of(instance["buffers"]), nodes=0)
        assert found.peak_bytes >= instance["optimum"]
        assert not found.offsets_proved_optimal
        assert "; gap " in found.report_line() and found.report_line().endswith(" %; not proven (node limit)")


def least_peak(buffers: list[Buffer]) -> int:
    """The optimum by trying every order of stacking; for a handful of buffers."""
    best = sum(b.size_bytes + b.alignment for b in buffers)
    for order in permutations(buffers):
        ends: dict[Buffer, int] = {}
        for buffer in order:
            below = max((end for other, end in ends.items() if other.meets(buffer)), default=0)
            ends[buffer] = -(-below // buffer.alignment) * buffer.alignment + buffer.size_bytes
        best = min(best, max(ends.values(), default=0))
    return best


tiny = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.integers(1, 5), st.sampled_from((1, 1, 2, 4))), max_size=6)


@settings(max_examples=150)
@given(tiny)
def test_the_optimum_of_a_handful_of_buffers_is_found_and_proved(rows):
    buffers = aligned_buffers(rows)
    found = plan(buffers)
    assert (found.peak_bytes, found.offsets_proved_optimal) == (least_peak(buffers), True)


@settings(max_examples=150)
@given(tiny, st.integers(0, 3))
def test_a_search_finds_an_arrangement_exactly_where_one_exists(rows, slack):
    buffers = aligned_buffers(rows)
    problem = Problem.of(buffers)
    capacity = problem.lower_bound[0] + slack
    outcome, offsets = search(problem, capacity, NodeBudget(10_000))
    if least_peak(buffers) > capacity:
        assert (outcome, offsets) == (Outcome.IMPOSSIBLE, ())
    else:
        assert outcome is Outcome.FOUND
        placements = tuple(map(Placement, problem.buffers, offsets))
        peak = max((placement.end_bytes for placement in placements), default=0)
        assert peak <= capacity
        check(MemoryPlan(placements, peak, *problem.lower_bound, False), buffers)


@pytest.mark.parametrize("name", ["C.1048576", "F.1048576", "G.1048576"] if "AIDGE_STRESS" in os.environ else ["F.1048576"])
def test_an_accelerator_trace_is_packed_to_its_bound(name):
    instance = minimalloc(name)
    found = plan(instance, capacity_bytes=1_048_576, nodes=300_000)
    check(found, instance, capacity_bytes=1_048_576)
    assert found.peak_bytes == found.lower_bound_bytes


def test_the_smallest_minimalloc_example_is_packed_to_its_bound():
    found = plan(minimalloc("example.12"))
    assert (found.peak_bytes, found.lower_bound_bytes, found.offsets_proved_optimal) == (12, 12, True)


def test_the_order_of_a_plan_of_nearly_the_same_buffers_is_tried(monkeypatch):
    monkeypatch.setattr(planner, "climb", lambda problem, start, moves: start)
    helped = 0
    for seed in range(20):
        buffers = network_like(40, seed)
        best, changed = plan(buffers), [*buffers[:-1], Buffer("new", *astuple(buffers[-1])[1:])]
        quick, again = plan(changed, nodes=0), plan(changed, nodes=0, like=best)
        check(again, changed)
        assert again.peak_bytes <= quick.peak_bytes
        helped += again.peak_bytes < quick.peak_bytes
    assert helped
