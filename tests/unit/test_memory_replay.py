# SPDX-License-Identifier: MIT
"""The replay byte by byte: legal plans pass, every planted fault is found."""

from __future__ import annotations

import pytest

from aidge_build.errors import CheckFailed
from aidge_build.memory.replay import Move, Span, replay

MEMORIES = {"arena": 32}
SPANS = {"x": Span("arena", 0, 8), "a": Span("arena", 8, 8), "v": Span("arena", 8, 8), "b": Span("arena", 16, 8), "y": Span("arena", 0, 8)}
MOVES = (Move("one", ("x",), ("a",)), Move("two", ("a",), ("b",), Span("arena", 24, 8)), Move("three", ("v", "b"), ("y",)))


def run(moves=MOVES, **spans):
    replay(moves, {**SPANS, **spans}, MEMORIES, {"v": "a"}, ["x"], ["y"])


def test_a_legal_plan_passes():
    run()


@pytest.mark.parametrize("spans, text", [
    ({"b": Span("arena", 12, 8)}, "'b' overwrites 'a' while it is read"),
    ({"a": Span("arena", 4, 8)}, "'a' overwrites 'x' while it is read"),
    ({"b": Span("arena", 20, 8)}, "'scratch' and 'b' are written at once"),
    ({"y": Span("arena", 10, 8)}, "'y' overwrites 'v' while it is read"),
    ({"v": Span("arena", 7, 8)}, "byte 0 of 'v' holds 'x'"),
    ({"y": Span("arena", 28, 8)}, "'y' lies outside of arena"),
    ({"y": Span("elsewhere", 0, 8)}, "'y' lies outside of elsewhere"),
])
def test_a_planted_fault_is_found(spans, text):
    with pytest.raises(CheckFailed, match=text):
        run(**spans)


def test_a_tensor_that_is_overwritten_too_early_is_found():
    with pytest.raises(CheckFailed, match="step 'three': byte 0 of 'v' holds 'scratch or nothing'"):
        run((MOVES[0], MOVES[1], Move("noise", (), (), Span("arena", 8, 8)), MOVES[2]))
    with pytest.raises(CheckFailed, match="end: byte 0 of 'y' holds 'x'"):
        run((*MOVES, Move("late", (), ("x",))))


def test_in_place_is_allowed_only_where_the_kernel_says_so_and_from_the_first_byte_on():
    spans = {"x": Span("arena", 4, 8), "y": Span("arena", 4, 8)}

    def step(move, **changed):
        replay([move], {**spans, **changed}, MEMORIES, {}, ["x"], ["y"])

    step(Move("one", ("x",), ("y",), in_place=(0,)))
    step(Move("one", ("x",), ("y",), leads=((0, 2),)), y=Span("arena", 2, 8))
    for wrong, changed in ((Move("one", ("x",), ("y",)), {}), (Move("one", ("x",), ("y",), in_place=(0,)), {"y": Span("arena", 3, 8)}),
                           (Move("one", ("x",), ("y",), leads=((0, 2),)), {"y": Span("arena", 3, 8)})):
        with pytest.raises(CheckFailed, match="'y' overwrites 'x' while it is read"):
            step(wrong, **changed)
