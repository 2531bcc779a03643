# SPDX-License-Identifier: MIT
"""How far a search goes, what it says where it gives up, and which functions it went through."""

from __future__ import annotations

import pytest

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.calls import Calls
from aidge_build.prove.longest.ends import NOWHERE, Frame, State
from aidge_build.prove.longest.registers import Registers
from aidge_build.prove.longest.search import Search
from tests.listings import DATA, TEXT, followed, listed

TWO_RETURNS = "f:\ncmp r0, #1\nbeq .out\nnop\nnop\nbx lr\n.out:\nbx lr\n"
STRAIGHT = "f:\nnop\nnop\nnop\nnop\nnop\nbx lr\n"
FORKED = "f:\ncmp r0, #1\nbeq .out\nnop\nnop\nnop\n.out:\nbx lr\n"
# Data are asked twice in each of five rounds, and first once; the registers differ from round to round.
ROUNDS = """
f:
    cmp r0, #1
    beq .first
    nop
.first:
    mov r2, #5
.again:
    ldr r1, [r3]
    cmp r1, #1
    beq .one
    nop
.one:
    sub r2, r2, #1
    cmp r2, #0
    bne .again
    bx lr
"""


def refusal(calls: Calls, entry: int, limit: int, *arguments: int | None) -> str:
    with pytest.raises(Refusal) as refused:
        calls.call(entry, arguments, calls.memory(), limit)
    return str(refused.value)


@pytest.mark.parametrize(
    "text, length, reason",
    [
        (STRAIGHT, 6, ""),
        (FORKED, 6, " for some input; data decide most often at f"),
        (TWO_RETURNS, 5, " for some input; data decide most often at f"),
        (ROUNDS, 3 + 1 + 5 * 7 + 1, " for some input; data decide most often at 0x00008010"),
    ],
)
def test_a_path_is_followed_to_the_limit_and_no_further(text: str, length: int, reason: str) -> None:
    assert followed(text, limit=length).instructions == length
    calls = Calls(*listed(text))
    for _ in range(2):
        assert refusal(calls, TEXT, length - 1) == f"it takes more than {length - 1} instructions{reason}"


def test_a_refusal_says_nothing_of_the_calls_before() -> None:
    loop = "g:\nldr r1, [r0]\ncmp r1, #0\nbne g\nbx lr\n"
    calls = Calls(*listed(STRAIGHT + loop))
    for entry, reason in (
        (TEXT + 24, "how often the loop at g repeats depends on data"),
        (TEXT, "it takes more than 5 instructions"),
        (TEXT + 24, "how often the loop at g repeats depends on data"),
    ):
        assert refusal(calls, entry, 1000 if entry > TEXT else 5) == reason


def test_the_functions_that_a_path_or_one_of_several_calls_are_known_in_their_order() -> None:
    ends = "".join(f"{name}:\nbx lr\n" for name in "ghk")
    text = f"f:\npush {{r4, lr}}\nbl k\ncmp r0, #1\nbeq .out\nbl g\n.out:\nbl h\npop {{r4, pc}}\n{ends}"
    image, _ = listed(text)
    names = {symbol.address: symbol.name for symbol in image.symbols}
    assert [names[place] for place in followed(text).called] == ["k", "g", "h"]
    assert [names[place] for place in followed(text, 1).called] == ["k", "h"]


def test_a_loop_that_counts_in_one_call_and_not_in_another_is_told_apart() -> None:
    calls = Calls(*listed("f:\nldr r1, [r3]\nsub r0, r0, #1\ncmp r1, #0\nbne f\nbx lr"))
    counts = "it takes more than 100 instructions for some input; data decide most often at f"
    for number, reason in ((5, counts), (None, "how often the loop at f repeats depends on data"), (5, counts)):
        assert refusal(calls, TEXT, 100, number) == reason


def test_what_one_of_two_paths_stores_is_not_known_and_there_is_one_memory_again() -> None:
    stores = "str r1, [r3]\nb .both\n.a:\nstr r2, [r3]\n.both:\nldr r0, [r3]\nbx lr"
    state = followed(f"f:\ncmp r0, #1\nbeq .a\n{stores}", None, 5, 6, DATA)
    assert state.registers.values[0] is None and state.memory.is_alone
    assert followed(f"f:\ncmp r0, #1\nbeq .a\n{stores}", None, 5, 5, DATA).registers.values[0] == 5


# Blocks: f, f+8 (head of a loop), f+16; the loop of g has its head at g+4, and h is one block.
NESTED = """
f:
    nop
    nop
.f:
    nop
    bl g
    bne .f
    bx lr
g:
    nop
.g:
    nop
    bl h
    bne .g
    bx lr
h:
    nop
    bx lr
"""
F, G, H = TEXT, TEXT + 24, TEXT + 44


def search_and_state(frames: tuple[Frame, ...], at: int, position: tuple[int, ...] = ()) -> tuple[Search, State]:
    search = Calls(*listed(NESTED))._search
    return search, State(Registers([]), None, frames, at, position=position)


FRAMES = (Frame(NOWHERE, F, NOWHERE), Frame(F + 16, G, F + 8, (7, 7, 7)), Frame(G + 12, H, G + 4, (8, 8, 8)))


def test_a_single_path_is_at_the_beginning_of_all_its_loops() -> None:
    search, state = search_and_state(FRAMES, H)
    search._locate(state)
    assert [frame.position for frame in state.frames] == [(), search._order(F).begin(F + 8), search._order(G).begin(G + 4)]
    assert state.position == search._order(H).begin(H) and [frame.entry for frame in state.frames] == [F, G, H]


def test_a_path_moves_into_a_function_round_its_loops_and_back() -> None:
    search, state = search_and_state(FRAMES, G + 4, (9, 9, 9))
    search._go(state, G + 4, H)
    assert (state.at, state.position) == (H, search._order(H).begin(H))
    state.left, state.frames = G + 4, FRAMES[:2]
    state.position = before = search._order(G).begin(G + 4)
    search._go(state, H, G + 12)
    assert (state.at, state.position, state.left) == (G + 12, search._order(G).moved(before, G + 4, G + 12), None)
    search._go(state, G + 12, G + 4)
    assert search._order(G).rounds(state.position, G + 4) == 1
    state.frames = ()
    search._go(state, F + 16, NOWHERE)
    assert state.at == NOWHERE


def test_a_path_that_comes_back_to_the_first_block_of_its_function_goes_round_and_calls_nothing() -> None:
    search = Calls(*listed("f:\nnop\nbne f\nbx lr"))._search
    state = State(Registers([]), None, (Frame(NOWHERE, F, NOWHERE),), F, position=search._order(F).begin(F))
    search._go(state, F, F)
    assert search._order(F).rounds(state.position, F) == 1
