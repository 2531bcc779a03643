# SPDX-License-Identifier: MIT
"""The checker of memory plans finds every planted fault, and knows nothing of the planner."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aidge_build.plan.memory.checker as checker
from aidge_build.base.errors import CheckFailed
from aidge_build.plan.memory.buffer import Buffer, Overlap
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.plan import MemoryPlan, Placement
from tests.effort import counted
from tests.refusals import own_words


def plan_of(*placements: tuple[Buffer, int]) -> MemoryPlan:
    """A plan with a true peak and a true bound, whatever its offsets are."""
    placed = tuple(Placement(*placement) for placement in placements)
    live = {step: sum(p.buffer.size_bytes for p in placed if p.buffer.first <= step < p.buffer.last) for step in range(32)}
    step = max(live, key=live.__getitem__)
    peak = max((p.end_bytes for p in placed), default=0)
    return MemoryPlan(placed, peak, live[step], step, peak == live[step])


def fault(plan: MemoryPlan, *buffers: Buffer, **options) -> str:
    with pytest.raises(CheckFailed) as caught:
        check(plan, buffers or [placement.buffer for placement in plan.placements], **options)
    assert (caught.value.code, caught.value.exit_code) == ("PLAN02", 1)
    return own_words(caught.value)


A = Buffer("a", 8, 4, 0, 3)
B = Buffer("b", 8, 4, 2, 5)
C = Buffer("c", 8, 4, 3, 6)


def test_a_legal_plan_passes():
    check(plan_of((A, 0), (B, 8), (C, 0)), [C, B, A])
    check(plan_of(), [])


@pytest.mark.requirement("G5")
def test_an_overlap_names_both_buffers_and_the_step():
    assert fault(plan_of((A, 0), (B, 4), (C, 12))) == (
        "memory plan, step 2: buffers 'a' [0, 8) live in steps [0, 3) and 'b' [4, 12) live in steps [2, 5) overlap"
    )


def test_bytes_that_are_reused_one_step_too_early_are_found():
    text = fault(plan_of((replace(A, last=4), 0), (B, 8), (C, 0)))
    assert "step 3: buffers 'a'" in text and "'c'" in text


@pytest.mark.requirement("PLAN02")
def test_a_buffer_inside_another_is_found():
    inner = Buffer("inner", 1, 1, 1, 2)
    assert "overlap" in fault(plan_of((Buffer("outer", 64, 4, 0, 3), 0), (inner, 5)))
    assert "overlap" in fault(plan_of((inner, 5), (Buffer("outer", 64, 4, 1, 3), 0), (Buffer("tail", 4, 4, 0, 4), 64)))


@pytest.mark.requirement("PLAN02")
def test_a_misaligned_buffer_is_found():
    plan = plan_of((A, 0), (replace(B, alignment=16), 8))
    assert fault(plan) == "memory plan, step 2: buffer 'b' at offset 8 is not aligned to 16 B"


@pytest.mark.requirement("PLAN02", "G5")
def test_a_buffer_outside_the_arena_is_found():
    plan = replace(plan_of((A, 0), (B, 8)), peak_bytes=12)
    assert "buffer 'b' at [8, 16) is outside the arena of 12 B" in fault(plan)
    assert "buffer 'a' at [-4, 4) is outside" in fault(plan_of((A, -4), (B, 4)))


def test_a_wrong_peak_is_found():
    assert "the plan says peak 20 B, its buffers end at 16 B" in fault(replace(plan_of((A, 0), (B, 8)), peak_bytes=20))


def test_a_plan_above_the_capacity_is_found():
    assert "beyond the capacity of 15 B" in fault(plan_of((A, 0), (B, 8)), capacity_bytes=15)


def test_a_lower_bound_that_is_no_bound_is_found():
    plan = plan_of((A, 0), (B, 8))
    assert "the lower bound 17 B" in fault(replace(plan, lower_bound_bytes=17))
    assert "the lower bound 15 B" in fault(replace(plan, lower_bound_bytes=15))
    sharing = replace(plan, overlaps=(Overlap("a", "b", 4),), lower_bound_bytes=-1)
    assert "the lower bound -1 B" in fault(sharing)


def test_missing_foreign_changed_and_doubled_buffers_are_found():
    plan = plan_of((A, 0), (B, 8))
    assert "buffer 'c' has no place" in fault(plan, A, B, C)
    assert "buffer 'b' is placed, but is no buffer of the schedule" in fault(plan, A)
    assert "buffer 'b' is placed as" in fault(plan, A, replace(B, size_bytes=9))
    assert "named or placed twice" in fault(plan_of((A, 0), (A, 8)), A)


placements = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 4), st.integers(1, 6), st.integers(0, 20)), min_size=1, max_size=7
)


@pytest.mark.requirement("G5")
@settings(max_examples=300)
@given(placements)
def test_the_checker_agrees_with_an_owner_per_byte_and_step(rows):
    plan = plan_of(
        *((Buffer(f"b{i}", size, 1, first, first + length), offset) for i, (first, length, size, offset) in enumerate(rows))
    )
    cells = [
        (step, byte)
        for p in plan.placements
        for step in range(p.buffer.first, p.buffer.last)
        for byte in range(p.offset_bytes, p.end_bytes)
    ]
    buffers = [p.buffer for p in plan.placements]
    if len(cells) == len(set(cells)):
        check(plan, buffers)
    else:
        assert "overlap" in fault(plan, *buffers)


def test_the_effort_of_a_check_grows_with_the_buffers_and_not_with_their_pairs():
    plan = plan_of(*((Buffer(f"b{i}", 16, 16, i % 30, i % 30 + 2), 16 * i) for i in range(10_000)))
    _, calls = counted(lambda: check(plan, [placement.buffer for placement in plan.placements]))
    assert calls < 20 * 10_000


@pytest.mark.requirement("G5")
def test_the_checker_imports_nothing_of_the_planner():
    tree = ast.parse(Path(checker.__file__).read_text())
    ours = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module.startswith("aidge_build")}
    assert ours == {"aidge_build.base.errors", "aidge_build.plan.memory.buffer", "aidge_build.plan.memory.plan"}
