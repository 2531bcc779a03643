# SPDX-License-Identifier: MIT
"""Windows (which bytes of a buffer are live when) and overlaps that kernels allow: planned, bounded and checked."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.plan.memory.buffer import Buffer, Overlap, Window
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.plan import MemoryPlan, Placement
from aidge_build.plan.memory.planner import plan

SHRINKING = Buffer("a", 8, 1, 0, 4, windows=(Window(0, 2, 0, 8), Window(2, 4, 0, 3)))


def test_bytes_that_are_free_for_a_while_are_used():
    buffers = [SHRINKING, Buffer("b", 5, 1, 2, 3), Buffer("c", 5, 1, 3, 4)]
    found = plan(buffers)
    check(found, buffers)
    assert (found.peak_bytes, found.lower_bound_bytes, found.offsets_proved_optimal) == (8, 8, True)
    assert (found.offset_of("b"), found.offset_of("c")) == (3, 3)


def test_a_ring_leaves_what_it_does_not_hold():
    ring = Buffer("ring", 8, 1, 0, 3, windows=(Window(0, 1, 0, 4), Window(1, 2, 2, 6), Window(2, 3, 4, 8)))
    buffers = [ring, Buffer("late", 4, 1, 2, 3), Buffer("early", 4, 1, 0, 1)]
    found = plan(buffers)
    check(found, buffers)
    assert found.peak_bytes == found.lower_bound_bytes == 8


@pytest.mark.parametrize(
    "windows, text",
    [
        ((Window(0, 2, 0, 8),), "the windows end at step 2"),
        ((Window(1, 4, 0, 8),), "a gap at step 0"),
        ((Window(0, 3, 0, 8), Window(2, 4, 0, 8)), "a gap at step 3, or overlap"),
        ((Window(0, 4, 0, 9),), r"\[0, 9\) is no part of 8 B"),
        ((Window(0, 0, 0, 8), Window(0, 4, 0, 8)), "a gap at step 0, or overlap"),
        ((Window(0, 4, 3, 3),), r"\[3, 3\) is no part of 8 B"),
        ((Window(0, 4, -1, 3),), r"\[-1, 3\) is no part of 8 B"),
    ],
)
def test_windows_that_make_no_life_are_refused(windows, text):
    with pytest.raises(AidgeError, match=text):
        replace(SHRINKING, windows=windows)


def placed(offsets: dict[str, int], buffers, overlaps=()) -> MemoryPlan:
    placements = tuple(Placement(buffer, offsets[buffer.name]) for buffer in buffers)
    peak = max(placement.end_bytes for placement in placements)
    return MemoryPlan(placements, peak, min(8, peak), 0, False, "", tuple(overlaps))


def test_the_checker_sees_a_window_that_is_used_too_early():
    early = [SHRINKING, Buffer("b", 5, 1, 1, 3)]
    with pytest.raises(CheckFailed, match=r"step 1: buffers 'a' .* and 'b' .* overlap"):
        check(placed({"a": 0, "b": 3}, early), early)


PAIR = [Buffer("in", 8, 1, 0, 2), Buffer("out", 8, 1, 1, 3)]


def test_an_output_follows_its_input_at_the_allowed_distance():
    found = plan(PAIR, overlaps=[Overlap("out", "in", 2)])
    check(found, PAIR)
    assert (found.offset_of("out"), found.offset_of("in"), found.peak_bytes, found.lower_bound_bytes) == (0, 2, 10, 10)


@pytest.mark.parametrize(
    "offsets, overlaps",
    [
        ({"out": 0, "in": 1}, [Overlap("out", "in", 2)]),
        ({"out": 2, "in": 0}, [Overlap("out", "in", 2)]),
        ({"out": 0, "in": 2}, []),
    ],
)
def test_the_checker_sees_an_overlap_that_no_kernel_allows(offsets, overlaps):
    with pytest.raises(CheckFailed, match="overlap"):
        check(placed(offsets, PAIR, overlaps), PAIR)


def test_an_overlap_with_an_input_that_is_read_later_is_refused():
    buffers = [Buffer("in", 8, 1, 0, 3), PAIR[1]]
    with pytest.raises(CheckFailed, match="overlap"):
        check(placed({"out": 0, "in": 2}, buffers, [Overlap("out", "in", 2)]), buffers)


@pytest.mark.parametrize("seed", range(25))
def test_every_plan_with_windows_and_overlaps_passes_the_checker(seed):
    random = Random(seed)
    buffers, overlaps = [], []
    for index in range(random.randrange(2, 25)):
        first, length, size = random.randrange(20), random.randrange(1, 8), random.randrange(1, 60)
        windows = ()
        if length > 1 and random.random() < 0.5:
            middle, low = first + random.randrange(1, length), random.randrange(size)
            windows = (Window(first, middle, 0, size), Window(middle, first + length, low, random.randrange(low + 1, size + 1)))
        buffers.append(Buffer(f"b{index}", size, random.choice((1, 4, 16)), first, first + length, windows=windows))
    for upper in buffers:
        lower = next((buffer for buffer in buffers if buffer.first == upper.last - 1 and buffer.name > upper.name), None)
        if lower and random.random() < 0.7:
            overlaps.append(Overlap(lower.name, upper.name, random.randrange(30)))
    found = plan(buffers, overlaps=overlaps)
    check(found, buffers)
    assert (
        found.lower_bound_bytes <= found.peak_bytes <= plan([replace(buffer, windows=()) for buffer in buffers]).peak_bytes * 1.1
    )
