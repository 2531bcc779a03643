# SPDX-License-Identifier: MIT
"""The place of a model's inputs when the firmware calls it, as the claim in the program says it. No compiler."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.build.emit import emit
from aidge_build.plan.options import Options
from aidge_build.prove.elf.claim import claim_from
from aidge_build.prove.elf.claimed_call import ClaimedArgument, ClaimedCall
from aidge_build.run.emulate.entry_inputs import entered
from aidge_build.run.emulate.inferences import Inferences
from aidge_build.run.emulate.program import Entry
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


def called(function: str, passed: ClaimedCall, words: tuple[int, ...]) -> Entry:
    array = SimpleNamespace(address=ARRAY)
    image = SimpleNamespace(symbol=lambda name: array if name == "toy_arena" else None, path="app.elf")
    return entered(SimpleNamespace(passed=passed, image=image), function, words, STACK, read)


def found(passed: ClaimedCall, words: tuple[int, ...]) -> tuple[bytes, ...]:
    return called("toy_run", replace(passed, run="toy_run"), words).inputs


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
    assert claim.passed is not None and (claim.passed.first, claim.passed.arguments("toy_run")) == (first, arguments)
    place = re.search(r"#define TOY_INPUT\b.*(?:\[|\+ )(\d+)", made.files["toy.h"].decode())
    assert claim.passed.inputs[0].offset_bytes == (int(place[1]) if place else 0) and bool(place) == (options.io == "arena")


ROWS = ClaimedCall(
    (ClaimedArgument("x", "int8 [1, 4, 1, 6] NHWC", "no scale", 24, row_bytes=6),),
    (ClaimedArgument("y", "int8 [1, 4] NC", "no scale", 4),),
    run="toy_run",
    begins="toy_begin",
    pushes="toy_push_x",
)


def inferences(passed: ClaimedCall, *calls: tuple) -> Inferences:
    """Calls as (function, words of its arguments, code)."""
    found = Inferences(SimpleNamespace(passed=passed))
    for function, words, status in calls:
        found.add(replace(called(f"toy_{function}", passed, (*words, 0, 0, 0, 0)[:4]), status=status))
    return found


@pytest.mark.parametrize("first, own", [("", ()), ("instance", (RAM,))])
def test_rows_that_are_pushed_in_any_number_are_the_input_again(first, own):
    begin, third = ("begin", (*own, STACK), 0), ("push_x", (*own, ARENA, 3), 0)
    last, refused = ("push_x", (*own, ARRAY, 1), 0), ("push_x", (*own, ARRAY, 9), 3)
    left = ("push_x", (*own, STACK, 2), 0), begin  # after N_cancel
    more = ("push_x", (*own, ARENA, 3), 2)  # rows of the output must leave, then the same rows are pushed again
    calls = inferences(replace(ROWS, first=first), begin, *left, third, last, begin, more, third, refused, last, begin, third)
    assert [(entry.status, entry.inputs) for entry in calls.found] == [
        (0, (read(ARENA, 18) + read(ARRAY, 6),)),
        (3, (b"",)),
        (0, (read(ARENA, 18) + read(ARRAY, 6),)),
    ]
    assert ROWS.arguments("toy_push_x") == 2 and ROWS.arguments("toy_begin") == 1 and ROWS.arguments("toy_end") == 0


def test_rows_of_two_instances_in_turn_are_two_inputs():
    calls = [("begin", (own, STACK), 0) for own in (RAM, RAM + 4)]
    calls += [("push_x", (own, place, 2), 0) for place in (ARENA, ARRAY) for own in (RAM, RAM + 4)]
    found = inferences(replace(ROWS, first="instance"), *calls).found
    assert [entry.inputs for entry in found] == [(read(ARENA, 12) + read(ARRAY, 12),)] * 2


def test_rows_in_no_memory_are_no_part_of_an_input():
    calls = inferences(ROWS, ("begin", (STACK,), 0), ("push_x", (5, 3), 0), ("push_x", (ARRAY, 1), 0), ("push_x", (5, 3), 1))
    assert [(entry.status, entry.inputs) for entry in calls.found] == [(1, ())]


def test_a_claim_of_pushed_rows_says_how_long_they_are():
    port = {"name": "x", "type": "int8 [1, 9] NC", "scale": "no scale", "size_bytes": 9, "symbol": "", "offset_bytes": 0}
    functions = [f"kws_{name}" for name in ("run", "begin", "push_x", "end")]
    claim = {**CLAIM, "functions": functions, "passed": {"inputs": [{**port, "row_bytes": 3}], "outputs": [port]}}
    passed = claim_from(claim).passed
    assert passed is not None and passed.goes_by_rows
    assert (passed.first, passed.run, passed.begins, passed.pushes) == ("", *functions[:3])
    for wrong in ([], [port], [{**port, "row_bytes": 3}] * 2, [{**port, "row_bytes": -1}]):
        with pytest.raises(ValueError):
            claim_from({**claim, "passed": {"inputs": wrong, "outputs": []}})


def test_a_begin_that_only_asks_is_no_call_that_was_refused_unless_nothing_ever_begins():
    steps = ClaimedCall(inputs(1), (), run="toy_run", begins="toy_begin")
    asks, begins = ("begin", WORDS, 3), ("begin", WORDS, 0)
    calls = inferences(steps, begins, asks, asks, begins, ("begin", WORDS, 1))
    assert [entry.status for entry in calls.found] == [0, 0, 1] and calls.asked == 2
    assert calls.found[0].inputs == (read(RAM, 9),)
    assert [entry.status for entry in inferences(steps, asks, asks).found] == [3]
    rows = inferences(ROWS, begins, asks, ("push_x", (ARENA, 4), 0))
    assert [entry.status for entry in rows.found] == [0] and rows.asked == 1


def test_a_claim_of_an_older_version_does_not_say_what_is_passed_beside_the_arena():
    assert claim_from(CLAIM).passed is None
