# SPDX-License-Identifier: MIT
"""The place of a model's inputs when the firmware calls it, as the claim in the program says it. No compiler."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.build.emit import emit
from aidge_build.plan.options import Options
from aidge_build.prove.elf.claim import ClaimedArgument, ClaimedCall, claim_from
from aidge_build.run.emulate.entry_inputs import stored_inputs
from tests.emitted import chain
from tests.programs import CLAIM

RAM, STACK, ARRAY, ARENA = 0x20000000, 0x20000400, 0x20000800, 0x20000900
MEMORY = bytes(number % 251 for number in range(0x1000))


def read(address: int, size: int) -> bytes:
    """Bytes of a RAM that has other content at each address, with the address of the arena at its begin."""
    if not RAM <= address <= RAM + len(MEMORY) - size:
        raise AidgeError("in no memory")
    stored = ARENA.to_bytes(4, "little") + MEMORY[4:]
    for index in range(3):  # further arguments
        at = STACK - RAM + 4 * index
        stored = stored[:at] + (RAM + 64 * (index + 1)).to_bytes(4, "little") + stored[at + 4 :]
    return stored[address - RAM :][:size]


def found(passed: ClaimedCall, words: tuple[int, ...]) -> tuple[bytes, ...]:
    array = SimpleNamespace(address=ARRAY)
    image = SimpleNamespace(symbol=lambda name: array if name == "toy_arena" else None)
    return stored_inputs(SimpleNamespace(passed=passed, image=image), words, STACK, read)


def inputs(count: int, symbol: str = "", offset: int = 0) -> tuple[ClaimedArgument, ...]:
    return tuple(
        ClaimedArgument(f"x{n}", "int8 [1, 9] NC", "no scale", 9, symbol, (offset + 16 * n) * bool(symbol)) for n in range(count)
    )


WORDS = (RAM, RAM + 0x111, RAM + 0x222, RAM + 0x333)


@pytest.mark.parametrize("first, places", [("", WORDS[:2]), ("arena", WORDS[1:3]), ("instance", WORDS[1:3])])
def test_pointers_to_inputs_follow_an_arena_or_an_instance(first, places):
    assert found(ClaimedCall(inputs(2), (), first), WORDS) == tuple(read(place, 9) for place in places)


@pytest.mark.parametrize("first, last", [("", 2), ("arena", 3)])
def test_pointers_that_no_register_holds_are_on_the_stack(first, last):
    assert found(ClaimedCall(inputs(6), (), first), WORDS)[-1] == read(RAM + 64 * last, 9)


@pytest.mark.parametrize("first, arena", [("", ARRAY), ("arena", RAM), ("instance", ARENA)])
def test_inputs_in_the_arena_are_found_from_its_address_whoever_owns_it(first, arena):
    passed = ClaimedCall(inputs(2, "toy_arena", 32), (), first)
    assert found(passed, WORDS) == (read(arena + 32, 9), read(arena + 48, 9))


@pytest.mark.parametrize("symbol, first, word", [("gone", "", RAM), ("toy_arena", "instance", 5), ("", "arena", RAM)])
def test_inputs_without_a_known_place_are_unknown_and_not_others(symbol, first, word):
    assert found(ClaimedCall(inputs(1, symbol), (), first), (word, 5, 5, 5)) == ()


@pytest.mark.parametrize(
    "options, first, arguments",
    [
        (Options(), "", 2),
        (Options(io="arena"), "", 0),
        (Options(arena="caller"), "arena", 3),
        (Options(arena="caller", io="arena"), "arena", 1),
        (Options(arena="caller", max_step=1000), "instance", 3),
        (Options(max_step=1000), "", 2),
    ],
)
def test_the_claim_says_what_the_firmware_passes(options, first, arguments):
    made = emit(chain(options=options))
    claim = claim_from(made.manifest["claim"])
    assert claim.passed is not None and (claim.passed.first, claim.passed.arguments) == (first, arguments)
    assert (claim.calls == claim.passed) == (options.arena == "static")
    place = re.search(r"#define TOY_INPUT\b.*(?:\[|\+ )(\d+)", made.files["toy.h"].decode())
    assert claim.passed.inputs[0].offset_bytes == (int(place[1]) if place else 0) and bool(place) == (options.io == "arena")


def test_a_claim_of_an_older_version_does_not_say_what_is_passed_beside_the_arena():
    assert claim_from(CLAIM).passed is None
