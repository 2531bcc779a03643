# SPDX-License-Identifier: MIT
"""Steps of small programs: the calls of an inference, wherever its inputs and outputs are, and why a step has no bound."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from aidge_build.prove.longest import StepBound, bound_steps
from aidge_build.prove.longest.steps import _Model
from tests.listings import DATA, DATA_BYTES, listed

# `array` holds the pointers to input and output, and then the number of the step.
BEGIN = """
net_begin:
    movw r3, #0
    movt r3, #8192
    str r0, [r3]
    str r1, [r3, #4]
    mov r2, #0
    str r2, [r3, #8]
    and r0, r0, #ACCEPTED
    bx lr
"""
# Three instructions more where the input is at an odd address, five more where the output is.
STEP = """
net_step:
    push {r4, lr}
    movw r3, #0
    movt r3, #8192
    ldr r0, [r3]
    ldr r1, [r3, #4]
    ldr r2, [r3, #8]
    add r4, r2, #1
    str r4, [r3, #8]
    cmp r2, #1
    beq .second
    bhi .third
    bl one
    bl two
    ldrb r4, [r0]
    tst r0, #1
    beq .even
    nop
    nop
    nop
.even:
    mov r0, #2
    pop {r4, pc}
.second:
    bl two
    ldrb r4, [r0]
    strb r4, [r1]
    tst r1, #1
    beq .more
    nop
    nop
    nop
    nop
    nop
.more:
    tst r0, #1
    beq .last
    nop
    nop
    nop
.last:
    mov r0, #2
    pop {r4, pc}
.third:
    mov r0, #0
    pop {r4, pc}
one:
    bx lr
two:
    bx lr
"""
FIRST, SECOND, THIRD = 10 + 1 + 4 + 3 + 2, 10 + 2 + 4 + 2 + 2, 11 + 2


def bound(text: str, **changes):
    claim = {"model": "net", "max_step": 30, "weights": (), "layers": ("one", "two"), "functions": (), "kept": (), "update": None}
    claim |= {"arenas": (), "arena_bytes": 0, "step_count": 3, "step_symbol": "net_step"} | changes
    return bound_steps(*listed(text), SimpleNamespace(**claim))


@pytest.mark.parametrize("accepted, first, second", [(0, 3, 8), (1, 0, 5), (3, 0, 5)])
def test_the_steps_of_an_inference_are_bounded_for_all_places_that_begin_accepts(accepted: int, first: int, second: int) -> None:
    found = bound(BEGIN.replace("ACCEPTED", str(accepted)) + STEP)
    assert found.steps == (StepBound("one", FIRST + first), StepBound("two", SECOND + second), StepBound("", THIRD))
    assert (found.model, found.max_step, found.reason, found.of_weights) == ("net", 30, "", False)
    assert found.longest == StepBound("two", SECOND + second)


def test_each_distance_to_a_multiple_of_four_that_begin_accepts_is_tried() -> None:
    found = bound(BEGIN.replace("and r0, r0, #ACCEPTED", "add r0, #1\nand r0, r0, #2") + STEP)  # 0 and 3
    assert [step.instructions for step in found.steps] == [FIRST + 3, SECOND + 8, THIRD]


def test_another_number_of_steps_than_promised_is_a_reason() -> None:
    text = BEGIN.replace("ACCEPTED", "0") + STEP
    assert bound(text, step_count=2).reason == "it has 3 steps, the claim promises 2"
    assert bound(text, step_count=4, update="bind").of_weights and bound(text, step_count=4).longest is None


def test_a_program_that_never_says_that_it_is_done_has_more_steps_than_promised() -> None:
    found = bound(BEGIN.replace("ACCEPTED", "0") + "net_step:\nmov r0, #2\nbx lr\n", step_count=4)
    assert found.reason == "it has 5 steps, the claim promises 4" and len(found.steps) == 5


OTHER_STEP = "net_step:\nldr r0, [r0]\nbx lr\n"


@pytest.mark.parametrize(
    "text, reason",
    [
        (BEGIN.replace("and r0, r0, #ACCEPTED", "mov r0, #1") + STEP, "net_begin may refuse its pointers"),
        (BEGIN.replace("and r0, r0, #ACCEPTED", "ldr r0, [r1]") + STEP, "net_begin may refuse its pointers"),
        (BEGIN.replace("ACCEPTED", "0") + OTHER_STEP, "what net_step returns depends on data"),
        (STEP, "net_begin is not in the program"),
        (BEGIN.replace("ACCEPTED", "0"), "net_step is not in the program"),
    ],
)
def test_a_step_without_a_bound_says_why(text: str, reason: str) -> None:
    assert bound(text).reason == reason


@pytest.mark.parametrize("nops, fits", [(57, True), (58, False)])
def test_a_step_is_followed_to_twice_the_promised_length(nops: int, fits: bool) -> None:
    step = "net_step:\ncmp r1, #1\n" + nops * "nop\n" + "mov r0, #0\nbx lr\n"
    found = bound(BEGIN.replace("ACCEPTED", "0") + step, step_count=1)
    assert found.steps == ((StepBound("", 60),) if fits else ())
    assert found.reason == ("" if fits else "it takes more than 60 instructions")


@pytest.mark.parametrize("count, fits", [(3, True), (4, False)])
def test_a_step_that_touches_many_arrays_is_refused(count: int, fits: bool) -> None:
    begin = "net_begin:\nmovw r12, #0\nmovt r12, #8192\n" + "".join(f"str r{at}, [r12, #{4 * at}]\n" for at in range(4))
    touch = "".join(f"ldr r1, [r12, #{4 * at}]\nldrb r1, [r1]\n" for at in range(count))
    step = f"net_step:\nmovw r12, #0\nmovt r12, #8192\n{touch}mov r0, #0\nbx lr\n"
    found = bound(f"{begin}mov r0, #0\nbx lr\n{step}", step_count=1)
    reason = f"a step touches {count} inputs and outputs, too many places for all of them"
    assert (found.reason, len(found.steps)) == (("", 1) if fits else (reason, 0))


def test_each_step_counts_the_arrays_that_it_touches_itself() -> None:
    begin = "net_begin:\nmovw r12, #0\nmovt r12, #8192\n" + "".join(f"str r{at}, [r12, #{4 * at}]\n" for at in range(4))
    steps = "".join(f".at{at}:\nldr r1, [r12, #{at}]\nldrb r1, [r1]\nldr r1, [r12, #{at + 4}]\nldrb r1, [r1]\n" for at in (0, 8))
    first, second = steps.split(".at8:\n")
    step = (
        "net_step:\nmovw r12, #0\nmovt r12, #8192\nldr r2, [r12, #16]\nmov r3, #1\nstr r3, [r12, #16]\ncmp r2, #1\nbeq .second\n"
    )
    text = f"{begin}mov r0, #0\nstr r0, [r12, #16]\nbx lr\n{step}{first}mov r0, #2\nbx lr\n.second:\n{second}mov r0, #0\nbx lr\n"
    found = bound(text, step_count=2)
    assert (found.reason, [step.instructions for step in found.steps]) == ("", [13, 13])


# The first argument of the calls is the memory of a model that others share: N_init gets two more, and N_begin the arrays.
OWN = """
net_init:
    str r1, [r0]
    str r2, [r0, #4]
    str r3, [r0, #16]
    bx lr
net_begin:
    str r1, [r0, #8]
    ldr r1, [sp, #44]
    str r1, [r0, #12]
    and r0, r1, #0
    bx lr
net_step:
    ldr r1, [r0]
    ldr r2, [r0, #4]
    ldr r3, [r0, #8]
    ldr r12, [r0, #12]
    sub r1, r1, r0
    sub r2, r2, r0
    sub r3, r3, r0
    sub r12, r12, r0
    cmp r1, #0x1000000
    bne .more
    cmp r2, #0x2000000
    bne .more
    ldr r12, [r0, #16]
    cmp r12, #0
    bne .given
    nop
    nop
.given:
    bic r3, r3, #3
    cmp r3, #0x3000000
    bne .more
    mov r0, #0
    bx lr
.more:
    ldr r0, [r1]
    bx lr
"""


def test_a_model_with_memory_of_its_own_gets_it_first_in_each_call() -> None:
    found = bound(OWN, functions=("net_init",), step_count=1)
    assert (found.reason, found.steps) == ("", (StepBound("", 22),))


# N_begin writes the last word of the arena; a step stores into the arena, and returns 0 if that word is still there.
GUARDED = """
net_init:
    str r1, [r0]
    mov r0, #0
    bx lr
net_begin:
    ARENA
    mov r2, #7
    str r2, [r1, #LAST]
    mov r0, #0
    bx lr
net_step:
    ARENA
    ldr r3, [r1]
    STORE
    ldr r0, [r1, #LAST]
    sub r0, #7
    bx lr
"""
ARRAY = {"arenas": (SimpleNamespace(symbol="array"),)}
INSTANCE = {"functions": ("net_init",), "arena_bytes": 16}


@pytest.mark.parametrize(
    "arena, last, claim",
    [("movw r1, #0\nmovt r1, #8192", DATA_BYTES - 4, ARRAY), ("ldr r1, [r0]", 12, INSTANCE)],
    ids=["array", "instance"],
)
@pytest.mark.parametrize(
    "store, known",
    [
        ("str r3, [r1, r3]", True),
        ("str r3, [r1, #BEFORE]", True),
        ("str r3, [r1, #LAST]", False),
        ("vst20.8 {q0, q1}, [r1, #BEFORE]", True),  # up to the end of the arena
    ],
)
def test_a_store_into_the_arena_leaves_the_last_word_as_begin_wrote_it(arena, last, claim, store, known) -> None:
    text = GUARDED.replace("ARENA", arena).replace("STORE", store).replace("LAST", str(last)).replace("BEFORE", str(last - 4))
    assert bound(text, step_count=1, **claim).reason == ("" if known else "what net_step returns depends on data")


def test_a_store_at_an_unknown_place_of_the_arena_leaves_a_word_before_the_layers_as_begin_wrote_it() -> None:
    text = GUARDED.replace("ARENA", "movw r1, #0\nmovt r1, #8192").replace("STORE", "str r3, [r1, r3]").replace("LAST", "12")
    assert bound(text, step_count=1, **ARRAY).reason == ""


# N_begin refuses an instance without weights, and a step reads their first word.
BOUND = """
net_init:
    mov r3, #0
    STORED
    mov r0, #0
    bx lr
net_begin:
    ldr r0, [r0, #PLACE]
    cmp r0, #0
    beq .none
    mov r0, #0
    bx lr
.none:
    mov r0, #4
    bx lr
net_step:
    mov r0, #0
    bx lr
"""
NO_WEIGHTS = "no weights are in the program: it never passes net_weights to net_bind"


@pytest.mark.parametrize("functions, place", [(("net_init",), 4), (("net_init", "net_reset"), 8)])
@pytest.mark.parametrize(
    "update, weights, reason",
    [("bind", "array", ""), ("bind", "other", NO_WEIGHTS), ("bind", "", NO_WEIGHTS), (None, "array", NO_WEIGHTS)],
)
def test_an_instance_has_the_weights_of_the_program_at_first_if_others_may_replace_them(
    functions, place, update, weights, reason
) -> None:
    text = BOUND.replace("STORED", "\n".join(f"str r3, [r0, #{at}]" for at in (4, 8))).replace("PLACE", str(place))
    found = bound(text, functions=functions, update=update, weights=(weights,) if weights else (), step_count=1)
    assert found.reason == reason


@pytest.mark.parametrize(
    "linked, update, weights, known",
    [
        (("net_bound", "array", "more"), "bind", ("array", "more"), True),
        (("net_bound", "array"), None, ("array",), False),
        (("net_bound", "array"), "bind", (), False),
        (("array",), "bind", ("array",), False),
        (("net_bound",), "bind", ("other",), False),
    ],
)
def test_the_weights_of_the_program_are_bound_at_first_if_others_may_replace_them(linked, update, weights, known) -> None:
    image, instructions = listed("f:\nbx lr")
    places = {"array": DATA + 16, "net_bound": DATA + 8, "more": DATA + 32}
    named = {name: (replace(image.symbols[-1], name=name, linked_name=name, address=places[name]),) for name in linked}
    claim = SimpleNamespace(model="net", kept=(), update=update, weights=weights, layers=())
    memory = _Model(replace(image, by_name=named), instructions, claim)._at_first()
    assert [memory.load(DATA + at, 4) for at in (4, 8, 12)] == [None, DATA + 16 if known else None, None]
    assert memory.load(DATA + 12, 1) is None


# The step takes two instructions more if the counter at the end of the model's memory is not zero, as it is at first.
COUNTING = """
net_init:
    mov r2, #0
    str r2, [r0, #8]
    str r2, [r0, #32]
    mov r0, #0
    bx lr
net_monitor_reset:
    mov r2, #0
    str r2, [r0, #32]
    bx lr
net_begin:
    mov r0, #0
    bx lr
net_step:
    ldr r1, [r0, #8]
    cmp r1, #0
    bne .full
    ldr r1, [r0, #32]
    cmp r1, #0
    beq .first
    nop
    nop
.first:
    mov r0, #0
    bx lr
.full:
    b .full
"""


def test_counters_of_earlier_inferences_may_have_any_value_in_an_instance() -> None:
    assert bound(COUNTING, functions=("net_init",), step_count=1).steps == (StepBound("", 10),)
    without = COUNTING.replace("net_monitor_reset", "net_other")
    assert bound(without, functions=("net_init",), step_count=1).steps == (StepBound("", 8),)


@pytest.mark.parametrize("word, instructions", [("monitor", 10), ("steps", 8)])
def test_counters_of_earlier_inferences_may_have_any_value_in_an_array(word, instructions) -> None:
    step = COUNTING[COUNTING.index("net_begin") :].replace("net_step:", "net_step:\nmovw r0, #0\nmovt r0, #8192")
    kept = (SimpleNamespace(word=word, symbol="array", size_bytes=64),)
    step = step.replace("ldr r1, [r0, #8]", "mov r1, #0")
    assert bound(step, kept=kept, step_count=1).steps == (StepBound("", instructions + 2),)
