# SPDX-License-Identifier: MIT
"""The replay byte by byte: legal plans pass, every planted fault is found."""

from __future__ import annotations

import tracemalloc
from random import Random

import numpy
import pytest

from aidge_build.base.errors import CheckFailed
from aidge_build.plan.memory.replay import Joint, Move, Piece, Span, replay

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
        ({"y": Span("arena", 28, 8)}, "'y' is outside of arena"),
        ({"y": Span("elsewhere", 0, 8)}, "'y' is outside of elsewhere"),
    ],
)
def test_a_planted_fault_is_found(spans, text):
    with pytest.raises(CheckFailed, match=text):
        run(**spans)


@pytest.mark.requirement("G6")
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
        (WOVEN, {"b": Span("arena", 14, 8, 2, 24)}, "'b' is outside of arena"),
        (WOVEN, {"w": Span("elsewhere", 8, 12)}, "'w' is outside of elsewhere"),
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


def test_the_size_of_tensors_costs_nothing():
    huge = 1 << 43
    spans = {"x": Span("arena", 0, huge), "a": Span("arena", huge, huge), "y": Span("arena", 0, huge)}
    moves = (Move("one", ("x",), ("a",)), Move("two", ("a",), ("y",)))
    tracemalloc.start()
    replay(moves, spans, {"arena": 2 * huge}, {}, ["x"], ["y"])
    with pytest.raises(CheckFailed, match="'a' overwrites 'x' while it is read"):
        replay(moves, {**spans, "a": Span("arena", huge - 1, huge)}, {"arena": 2 * huge}, {}, ["x"], ["y"])
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_many_views_of_views_are_one_tensor():
    spans = {f"t{index}": Span("arena", 0, 8) for index in range(3000)} | {"y": Span("arena", 8, 8)}
    views = {f"t{index}": Piece(f"t{index - 1}") for index in range(1, 3000)}
    replay([Move("one", ("t2999",), ("y",))], spans, MEMORIES, views, ["t0"], ["y"])


class Bytes:
    """The same by single bytes, as anybody would write it down."""

    def __init__(self, spans, unwritten):
        self.spans, self.unwritten, self.memory = spans, unwritten, [None] * 64

    def places(self, span):
        behind = [row * span.stride_bytes + byte for row in range(span.rows) for byte in range(span.row_bytes)]
        if not span.cont_bytes:
            return [span.offset_bytes + each for each in behind]
        shift = span.wrap_offset_bytes - span.cont_bytes
        return [each + (span.offset_bytes if each < span.cont_bytes else shift) for each in behind]

    def content(self, name):
        match self.unwritten.get(name):
            case Piece(source, first):
                return self.content(source)[first : first + self.spans[name].size_bytes]
            case Joint(members, rows):
                parts = [self.content(member) for member in members]
                return [
                    each
                    for row in range(rows)
                    for part in parts
                    for each in part[row * len(part) // rows : (row + 1) * len(part) // rows]
                ]
        return [(name, byte) for byte in range(self.spans[name].size_bytes)]

    def write(self, name):
        for place, value in zip(self.places(self.spans[name]), self.content(name), strict=True):
            self.memory[place] = value

    def whole(self, name):
        return [self.memory[place] for place in self.places(self.spans[name])] == self.content(name)

    def legal(self, moves, inputs, outputs):
        for name in inputs:
            self.write(name)
        for move in moves:
            read, written = ([set(self.places(self.spans[name])) for name in names] for names in (move.reads, move.writes))
            if not all(map(self.whole, move.reads)) or any(one & two for one in read for two in written):
                return False
            for name in move.writes:
                self.write(name)
        return all(map(self.whole, outputs))


@pytest.mark.requirement("G6")
def test_random_plans_are_judged_as_byte_by_byte():
    random, verdicts = Random(5), {True: 0, False: 0}
    for _ in range(400):
        width, rows = random.choice((1, 2, 3)), random.choice((1, 2, 4))
        gap = random.choice((2 * width, 2 * width, 2 * width + 1)) if rows > 1 else 0
        start = random.choice((0, 0, 1, 8))
        spans = {
            "x": Span("m", random.choice((30, 30, 24)), 8, *random.choice(((), (), (1, 0, 5, 60), (2, 4, 3, 56), (1, 0, 5, 22)))),
            "a": Span("m", start, width * rows, rows, gap),
            "b": Span("m", start + width + random.choice((0, 0, 0, 1)), width * rows, rows, gap),
            "w": Span("m", start, 2 * width * rows),
            "p": Span("m", start + width, width),
            "y": Span("m", random.choice((40, 40, 20)), 4),
        }
        unwritten = {"w": Joint(("a", "b"), rows), "p": Piece("w", width)}
        moves = [Move("1", ("x",), ("a",)), Move("2", ("x",), ("b",)), Move("3", ("w", "p"), ("y",))]
        if random.random() < 0.3:
            moves.insert(random.randrange(3), Move("again", (), (random.choice(("x", "y")),)))
        wanted = Bytes(spans, unwritten).legal(moves, ["x"], ["y"])
        try:
            replay(moves, spans, {"m": 64}, unwritten, ["x"], ["y"])
            found = True
        except CheckFailed:
            found = False
        assert found == wanted, (spans, moves)
        verdicts[wanted] += 1
    assert min(verdicts.values()) > 60


@pytest.mark.parametrize(
    "span, addresses",
    [
        (Span("arena", 10, 4), [10, 11, 12, 13]),
        (Span("arena", 100, 6, rows=3, stride_bytes=5), [100, 101, 105, 106, 110, 111]),
        (Span("arena", 10, 5, cont_bytes=3, wrap_offset_bytes=40), [10, 11, 12, 40, 41]),
        (Span("arena", 20, 4, rows=2, stride_bytes=4, cont_bytes=5, wrap_offset_bytes=0), [20, 21, 24, 0]),
    ],
)
def test_each_byte_of_a_tensor_has_its_place(span, addresses):
    assert span.address(numpy.arange(span.size_bytes)).tolist() == addresses


def test_a_tensor_that_wraps_ends_where_its_last_piece_ends():
    assert Span("arena", 24, 8, cont_bytes=4, wrap_offset_bytes=0).end_bytes == 28
    assert Span("arena", 8, 8, cont_bytes=4, wrap_offset_bytes=20).end_bytes == 24


def test_an_output_may_overlap_what_is_read_exactly_where_it_keeps_its_distance():
    """Random planes, whole, with gaps and around a ring, against each of their bytes."""
    source, seen = Random(5), set()
    for _ in range(400):
        read, written = (_random_span(source) for _ in range(2))
        lead, in_place = source.choice((0, 4, 8)), source.random() < 0.3
        places = {address: index for index, address in enumerate(_addresses(read))}
        behind = {index - places[address] for index, address in enumerate(_addresses(written)) if address in places}
        legal = not behind or in_place and behind == {0} or min(behind) >= lead
        move = Move("one", ("a",), ("b",), None, (0,) if in_place else (), ((0, lead),))
        try:
            replay([move], {"a": read, "b": written}, {"m": 256}, {}, ["a"], ["b"])
            accepted = True
        except CheckFailed:
            accepted = False
        assert accepted == legal
        seen.add((legal, bool(behind), read.is_whole and written.is_whole))
    assert len(seen) == 6


def _random_span(source: Random) -> Span:
    rows = source.choice((1, 4, 6))
    stride = 4 * source.choice((1, 1, 2)) if rows > 1 else 0
    reach = stride * (rows - 1) + 4 if rows > 1 else 24
    if rows > 1 and source.random() < 0.5:
        cont = stride * source.randint(1, rows - 1)
        wrap = 4 * source.randint(0, 10)
        return Span("m", wrap + reach + 4 * source.randint(0, 10), 4 * rows, rows, stride, cont, wrap)
    return Span("m", 4 * source.randint(0, 20), 4 * rows if rows > 1 else 24, rows, stride)


def _addresses(span: Span) -> list[int]:
    return [int(span.address(numpy.array([index]))[0]) for index in range(span.size_bytes)]
