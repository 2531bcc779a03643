# SPDX-License-Identifier: MIT
"""The replay byte by byte: legal plans pass, every planted fault is found."""

from __future__ import annotations

import pytest

from aidge_build.errors import CheckFailed
from aidge_build.memory.replay import Joint, Move, Piece, Span, replay

MEMORIES = {"arena": 32}
SPANS = {
    "x": Span("arena", 0, 8),
    "a": Span("arena", 8, 8),
    "v": Span("arena", 8, 8),
    "b": Span("arena", 16, 8),
    "y": Span("arena", 0, 8),
}
MOVES = (Move("one", ("x",), ("a",)), Move("two", ("a",), ("b",), Span("arena", 24, 8)), Move("three", ("v", "b"), ("y",)))


def run(moves=MOVES, **spans):
    replay(moves, {**SPANS, **spans}, MEMORIES, {"v": Piece("a")}, ["x"], ["y"])


def test_a_legal_plan_passes():
    run()


@pytest.mark.parametrize(
    "spans, text",
    [
        ({"b": Span("arena", 12, 8)}, "'b' overwrites 'a' while it is read"),
        ({"a": Span("arena", 4, 8)}, "'a' overwrites 'x' while it is read"),
        ({"b": Span("arena", 20, 8)}, "'scratch' and 'b' are written at once"),
        ({"y": Span("arena", 10, 8)}, "'y' overwrites 'v' while it is read"),
        ({"v": Span("arena", 7, 8)}, "byte 0 of 'v' holds 'x'"),
        ({"y": Span("arena", 28, 8)}, "'y' lies outside of arena"),
        ({"y": Span("elsewhere", 0, 8)}, "'y' lies outside of elsewhere"),
    ],
)
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
    for wrong, changed in (
        (Move("one", ("x",), ("y",)), {}),
        (Move("one", ("x",), ("y",), in_place=(0,)), {"y": Span("arena", 3, 8)}),
        (Move("one", ("x",), ("y",), leads=((0, 2),)), {"y": Span("arena", 3, 8)}),
    ):
        with pytest.raises(CheckFailed, match="'y' overwrites 'x' while it is read"):
            step(wrong, **changed)


JOINT = {"w": Joint(("a", "b"), rows=2)}
ROWS = {
    "x": Span("arena", 0, 8),
    "a": Span("arena", 8, 4, 2, 6),
    "b": Span("arena", 10, 8, 2, 6),
    "w": Span("arena", 8, 12),
    "y": Span("arena", 20, 8),
}
WOVEN = (Move("one", ("x",), ("a",)), Move("two", ("x",), ("b",)), Move("three", ("w",), ("y",)))


def woven(moves=WOVEN, **spans):
    replay(moves, {**ROWS, **spans}, MEMORIES, JOINT, ["x"], ["y"])


def test_members_that_lie_row_by_row_in_their_joint_tensor_make_it_whole():
    woven()
    woven((WOVEN[1], WOVEN[0], WOVEN[2]))


@pytest.mark.parametrize(
    "moves, spans, text",
    [
        ((WOVEN[0], WOVEN[2]), {}, "byte 2 of 'w' holds 'scratch or nothing'"),
        (WOVEN, {"b": Span("arena", 9, 8, 2, 6)}, "byte 1 of 'w' holds 'b'"),
        (WOVEN, {"a": Span("arena", 8, 4), "b": Span("arena", 12, 8)}, "byte 2 of 'w' holds 'a'"),
        (WOVEN, {"b": Span("arena", 14, 8, 2, 24)}, "'b' lies outside of arena"),
        (WOVEN, {"y": Span("arena", 12, 8)}, "'y' overwrites 'w' while it is read"),
        (
            (WOVEN[0], Move("four", ("x", "a"), ("b",)), WOVEN[2]),
            {"b": Span("arena", 9, 8, 2, 6)},
            "'b' overwrites 'a' while it is read",
        ),
    ],
)
def test_a_fault_in_the_rows_of_members_is_found(moves, spans, text):
    with pytest.raises(CheckFailed, match=text):
        woven(moves, **spans)


def test_a_piece_is_the_bytes_of_its_source_from_its_own_place_on():
    spans = {"x": Span("arena", 0, 8), "p": Span("arena", 4, 4), "y": Span("arena", 8, 4)}
    moves = (Move("one", ("p",), ("y",)),)
    replay(moves, spans, MEMORIES, {"p": Piece("x", 4)}, ["x"], ["y"])
    with pytest.raises(CheckFailed, match="byte 0 of 'p' holds 'x'"):
        replay(moves, {**spans, "p": Span("arena", 3, 4)}, MEMORIES, {"p": Piece("x", 4)}, ["x"], ["y"])
