# SPDX-License-Identifier: MIT
"""How far a search goes, what it says where it gives up, and which functions it went through."""

from __future__ import annotations

import pytest

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.calls import Calls
from tests.listings import TEXT, followed, listed

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


def refusal(calls: Calls, entry: int, limit: int) -> str:
    with pytest.raises(Refusal) as refused:
        calls.call(entry, (), calls.memory(), limit)
    return str(refused.value)


@pytest.mark.parametrize(
    "text, length, reason",
    [
        (STRAIGHT, 6, ""),
        (FORKED, 6, " for some input; data decide most often at f"),
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
