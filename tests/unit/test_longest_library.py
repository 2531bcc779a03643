# SPDX-License-Identifier: MIT
"""Functions of the C library whose meaning is known: what a call costs follows from their code, and from nothing else."""

from __future__ import annotations

from functools import partial
from unittest.mock import patch

import pytest

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.longest.library import _NORMAL, ARGUMENT_WORDS, ROUNDS, Cost, Library, _kind
from aidge_build.prove.longest.thumb.blocks import ThumbBlocks
from aidge_build.prove.longest.thumb.operands import NUMBERS, VECTORS
from aidge_build.prove.longest.values import Normal, Objects, assumed, flag_bits, holds, known_of, opposite
from tests.listings import TEXT, followed, followed_briefly, listed, longest

CALLER = "f:\npush {r4, lr}\nbl __aeabi_fdiv\npop {r4, pc}\n"
# A quotient of six rounds of a bit each, that ends early where the rest is zero, as libgcc divides.
DIVIDES = """
__aeabi_fdiv:
    mov r12, #32
.round:
    cmp r3, r1
    itt cs
    subcs r3, r3, r1
    orrcs r0, r0, r12
    lsls r3, r3, #1
    it ne
    lsrsne r12, r12, #1
    bne .round
    bx lr
"""
# 3 or 4 rounds, as data decide.
COUNTS = """
__aeabi_fdiv:
    mov r2, #3
    cmp r0, r1
    bls .round
    mov r2, #4
.round:
    sub r2, r2, #1
    cmp r2, #0
    bne .round
    bx lr
"""
# Until bit 7 is set, which is so after 8 rounds at most in what returns.
NORMALIZES = """
__aeabi_fdiv:
.round:
    lsl r0, r0, #1
    tst r0, #128
    beq .round
    bx lr
"""


def test_a_loop_over_the_bits_of_a_quotient_has_a_bound_though_data_may_end_it_earlier() -> None:
    # push, bl, mov; in each of six rounds cmp, itt and two more, lsls, it and one more, bne; bx, pop.
    assert longest(CALLER + DIVIDES, None, None) == 3 + 6 * 8 + 2


def test_rounds_that_are_counted_from_several_numbers_end_with_the_largest() -> None:
    assert longest(CALLER + COUNTS, None, None) == 2 + 4 + 4 * 3 + 2


def test_a_loop_that_shifts_until_a_bit_comes_to_its_place_is_bounded_by_the_bits() -> None:
    assert longest(CALLER + NORMALIZES, None, None) == 2 + (8 + 1) * 3 + 2


# Four instructions a round where the exponent of the second factor is 0, as products of denormal numbers do.
MULTIPLIES = """
__aeabi_fmul:
    mov r12, #255
    and r3, r12, r1, lsr #23
    lsl r2, r1, #1
    cmp r2, #0
    beq .done
    teq r3, #0
    bne .done
.round:
    lsl r1, r1, #1
    tst r1, #0x800000
    beq .round
.done:
    bx lr
"""
# So many rounds as two numbers say, of which nothing is known.
DIFFERS = """
OWN:
    subs r2, r0, r1
    beq .done
.round:
    subs r2, r2, #1
    cmp r2, #0
    bne .round
.done:
    bx lr
"""
ADDS, COUNTS_UP = "\n__aeabi_fadd:\nmov r0, r2\nbx lr\n", "\n__aeabi_i2f:\nmov r0, r2\nbx lr\n"
ONE, TINY = 0x3F80, 0x0D00  # upper halves of 1.0, and of 2^-101, whose sums may be denormal


def test_a_constant_factor_that_is_normal_needs_no_rounds_however_many_of_them_there_are() -> None:
    calls = "".join(f"movw r1, #{at}\nmovt r1, #{at}\nldr r0, [r4]\nbl __aeabi_fmul\n" for at in range(0x3F80, 0x3FB0))
    text = f"f:\npush {{r4, lr}}\n{calls}pop {{r4, pc}}\n{MULTIPLIES}"
    assert longest(text) == 2 + 48 * (4 + 8)


@pytest.mark.parametrize(
    "made, rounds",
    [
        ("bl __aeabi_i2f\n", False),
        (f"movw r1, #0\nmovt r1, #{ONE}\nbl __aeabi_fadd\n", False),
        (f"movw r1, #0\nmovt r1, #{TINY}\nbl __aeabi_fadd\n", True),
        (f"movw r1, #0\nmovt r1, #{TINY + 0x80}\nbl __aeabi_fadd\n", False),
        ("ldr r1, [r4]\nbl __aeabi_fadd\n", True),
    ],
)
def test_what_an_integer_or_a_sum_with_a_large_constant_gives_is_no_denormal_number(made: str, rounds: bool) -> None:
    text = f"f:\npush {{r4, lr}}\n{made}mov r1, r0\nldr r0, [r4]\nbl __aeabi_fmul\npop {{r4, pc}}\n{MULTIPLIES}{ADDS}{COUNTS_UP}"
    before = 5 + made.count("\n") + 2  # of the caller, and of the sum
    assert longest(text, None, None) == before + 7 + (1 + (24 + 1) * 3 if rounds else 1)


@pytest.mark.parametrize("name", sorted(ROUNDS))
def test_a_loop_whose_rounds_are_known_by_the_meaning_of_its_function_has_a_bound(name: str) -> None:
    text = CALLER + "\n__aeabi_fdiv:\npush {r4, lr}\nbl OWN\npop {r4, pc}\n" + DIFFERS
    rounds = 64 if "di" in name else 277
    assert longest(text.replace("OWN", name), None, None) == 2 + 3 + 2 + (rounds + 1) * 3 + 1 + 1


@followed_briefly
def test_the_same_loop_under_another_name_has_no_bound() -> None:
    called = "\n__aeabi_fdiv:\npush {r4, lr}\nbl own_division\npop {r4, pc}\n" + DIFFERS.replace("OWN", "own_division")
    for text in (CALLER + called, (CALLER + COUNTS).replace("__aeabi_fdiv", "own_division")):
        with pytest.raises(Refusal, match="repeats depends on data"):
            longest(text, None, None)


def test_arguments_that_are_known_are_followed_as_they_are() -> None:
    assert longest(CALLER + NORMALIZES, 1, 1) == 2 + 7 * 3 + 2
    assert longest(CALLER + NORMALIZES, 64, None) == 2 + 3 + 2


@pytest.mark.parametrize("store", ["str r0, [r1]", "movw r2, #0\nmovt r2, #8192\nstr r0, [r2]"])
@followed_briefly
def test_a_function_that_writes_beside_its_stack_is_not_that_of_the_library(store: str) -> None:
    with pytest.raises(Refusal, match="repeats depends on data"):
        longest(CALLER + COUNTS.replace("bx lr", f"{store}\nbx lr"), None, None)


KEPT = (*(f"r{number}" for number in range(4, 12)), *(f"s{number}" for number in range(16, 32)))
ENDS_OF_KEPT = ("r4", "r11", "s16", "s31")
OTHERS = ("r12", *(f"s{number}" for number in range(16)))
CHANGED = ("r0", "r1", "r2", "r3")  # the registers of arguments, and the one in which it counts


@pytest.mark.parametrize("name", ENDS_OF_KEPT)
@followed_briefly
def test_a_function_that_changes_what_it_must_keep_is_not_that_of_the_library(name: str) -> None:
    changes = f"vldr {name}, [r3]" if name[0] == "s" else f"ldr {name}, [r3]"
    with pytest.raises(Refusal, match="repeats depends on data"):
        longest(CALLER + COUNTS.replace("bx lr", f"{changes}\nbx lr"), None, None)


def test_a_call_keeps_the_registers_that_the_code_of_the_function_does_not_change() -> None:
    values = "".join(f"mov {name}, #7\n" for name in (*KEPT, *OTHERS, *CHANGED) if name[0] == "r" and name != "r0")
    floats = "".join(f"vmov {name}, r4\n" for name in (*KEPT, *OTHERS) if name[0] == "s" and name != "s16")
    text = f"f:\nvmov s16, lr\n{values}{floats}bl __aeabi_fdiv\nvmov lr, s16\nbx lr\n"
    after = followed(text + COUNTS).registers.values
    places = {name: NUMBERS[name] if name[0] == "r" else VECTORS + int(name[1:]) for name in (*KEPT, *OTHERS, *CHANGED)}
    assert {name for name, place in places.items() if after[place] is None} == {*CHANGED}


def test_a_call_keeps_what_functions_keep_and_nothing_else_is_known_behind_it() -> None:
    text = "f:\nmov r4, #7\nmov r2, #5\nmov r6, lr\nbl __aeabi_fdiv\nmov lr, r6\nbx lr\n" + DIVIDES
    values = followed(text, None, None).registers.values
    assert values[4] == 7 and values[0] is values[1] is values[2] is values[3] is values[12] is None


@pytest.mark.parametrize("below, known", [(4, False), (8, False), (12, True)])
def test_a_call_changes_the_stack_that_its_function_uses_and_no_more(below: int, known: bool) -> None:
    text = f"f:\nmov r4, #7\nstr r4, [sp, #-{below}]\nmov r6, lr\nbl __aeabi_fdiv\nldr r4, [sp, #-{below}]\nmov lr, r6\nbx lr\n"
    divides = DIVIDES.replace("fdiv:", "fdiv:\npush {r4, lr}").replace("bx lr", "pop {r4, pc}")
    assert followed(text + divides, None, None).registers.values[4] == (7 if known else None)


def test_where_errno_lies_is_known_to_be_apart() -> None:
    text = "f:\npush {r4, lr}\nmov r4, #3\nsub sp, #8\nstr r4, [sp]\nmov r0, #1\nbl __errno\nstr r4, [r0]\n"
    assert followed(f"{text}ldr r0, [sp]\nadd sp, #8\npop {{r4, pc}}\n__errno:\nldr r0, [r1]\nbx lr\n").registers.values[0] == 3


@pytest.mark.parametrize("condition", ["eq", "ne", "cs", "hs", "cc", "mi", "pl", "vs", "vc", "hi"])
def test_a_condition_that_is_assumed_holds(condition: str) -> None:
    assert holds(condition, assumed(condition, None)) is True
    assert opposite(opposite(condition)) == {"hs": "cs"}.get(condition, condition)


def test_what_several_flags_decide_together_leaves_them_open() -> None:
    assert [flag_bits(assumed(condition, None)) for condition in ("ls", "ge", "lt", "gt", "le")] == [(None,) * 4] * 5


# The prototypes of the run-time ABI (IHI 0043, 4.1 to 4.3) by their arguments, a letter each: int, long long, float, double.
PROTOTYPES = {
    "dd": "dadd ddiv dmul drsub dsub dcmpeq dcmplt dcmple dcmpge dcmpgt dcmpun",
    "ff": "fadd fdiv fmul frsub fsub fcmpeq fcmplt fcmple fcmpge fcmpgt fcmpun",
    "d": "d2iz d2uiz d2lz d2ulz d2f",
    "f": "f2iz f2uiz f2lz f2ulz f2d",
    "i": "i2d ui2d i2f ui2f",
    "l": "l2d ul2d l2f ul2f",
    "ll": "lmul ldivmod uldivmod lcmp ulcmp",
    "li": "llsl llsr lasr",
    "ii": "idiv uidiv idivmod uidivmod",
}


def test_the_words_of_arguments_are_those_of_the_run_time_abi():
    expected = {
        f"__aeabi_{name}": sum({"i": 1, "f": 1, "l": 2, "d": 2}[kind] for kind in kinds)
        for kinds, names in PROTOTYPES.items()
        for name in names.split()
    }
    assert {name: words for name, words in ARGUMENT_WORDS.items() if name.startswith("__aeabi_")} == expected


# The functions of GCC's library (GCC Internals, 4) by their arguments: the last letters of a name are for arguments and result.
OF_GCC = {
    "dd": "adddf3 subdf3 muldf3 divdf3 eqdf2 nedf2 ltdf2 ledf2 gtdf2 gedf2 unorddf2",
    "ff": "addsf3 subsf3 mulsf3 divsf3 eqsf2 nesf2 ltsf2 lesf2 gtsf2 gesf2 unordsf2",
    "d": "fixdfsi fixunsdfsi fixdfdi fixunsdfdi truncdfsf2",
    "f": "fixsfsi fixunssfsi fixsfdi fixunssfdi extendsfdf2",
    "i": "floatsisf floatunsisf floatsidf floatunsidf clzsi2 ctzsi2 popcountsi2",
    "l": "floatdisf floatundisf floatdidf floatundidf clzdi2 ctzdi2",
    "ll": "muldi3 divdi3 udivdi3 moddi3 umoddi3 cmpdi2 ucmpdi2",
    "li": "ashldi3 lshrdi3 ashrdi3",
    "ii": "mulsi3 divsi3 udivsi3 modsi3 umodsi3",
}


def test_the_words_of_arguments_of_gccs_library_are_by_their_types():
    names = {f"__{name}": kinds for kinds, names in OF_GCC.items() for name in names.split()}
    found = {name: words for name, words in ARGUMENT_WORDS.items() if words and not name.startswith("__aeabi_")}
    assert found == {name: sum({"i": 1, "f": 1, "l": 2, "d": 2}[kind] for kind in kinds) for name, kinds in names.items()}


def test_the_choices_for_a_float_that_is_not_denormal_are_all_such_floats_and_no_other() -> None:
    choices = [known_of(choice) for choice in _NORMAL]
    for exponent in range(256):
        for fraction in (0, 1, 0x400000, 0x7FFFFF):
            for sign in (0, 1 << 31):
                number = sign | exponent << 23 | fraction
                chosen = sum(number & choice.mask == choice.bits for choice in choices)
                assert chosen == (exponent > 0 or fraction == 0) == (_kind(number) == Normal()), hex(number)


def test_a_function_that_becomes_another_one_without_a_stack_writes_nothing() -> None:
    text = CALLER + "__aeabi_fdiv:\nb __aeabi_idiv\n" + COUNTS.replace("fdiv", "idiv")
    assert longest(text, None, None) == 2 + 1 + 4 + 4 * 3 + 2


def test_functions_that_different_numbers_choose_do_not_meet() -> None:
    begin = f"{CALLER}__aeabi_fdiv:\npush {{r4, lr}}\n"
    text = f"{begin}movw r3, #ONE\ncmp r0, r1\nbls .on\nmovw r3, #TWO\n.on:\nblx r3\npop {{r4, pc}}\n"
    ends = "b .GNAME\n.GNAME:\nbx lr\n"
    for body in (f"movs r3, #0\ncmp r3, r3\n{ends}", "push {r4, lr}\nmovs r3, #0\ncmp r3, r3\nbl k\npop {r4, pc}\n"):
        both = (
            "".join(f"{name}:\n{body.replace('GNAME', name)}" for name in "gh")
            + "k:\npush {r4, lr}\nmov lr, #0\nb .k\n.k:\npop {r4, pc}\n"
        )
        size = body.count("\n") - body.count(":")
        first = TEXT + 4 * (3 + 7)
        with pytest.raises(Refusal, match="a call of an address that is not known"):
            longest((text + both).replace("ONE", str(first)).replace("TWO", str(first + 4 * size)), None, None)


def test_the_kind_of_a_float_says_that_it_is_not_denormal() -> None:
    assert {_kind(number) for number in (0, 1 << 31, 0x800000, 0x3F800000, 0x7F800000, Normal())} == {Normal()}
    assert {_kind(number) for number in (1, 1 << 31 | 1, 0x7FFFFF, None)} == {None}


def test_a_function_is_followed_for_some_arguments_and_then_for_the_kinds_of_floats() -> None:
    image, instructions = listed("f:\nbx lr\n__aeabi_fmul:\nbx lr\n__aeabi_idiv:\nbx lr\n")
    library = Library(image, partial(ThumbBlocks, Code(image, instructions)), Objects(()), lambda: None, 0, 0)
    cost, normal, denormal = Cost(1, 0, frozenset()), range(0x3F800000, 0x3F800064), range(1, 9)
    for entry, kinds in ((TEXT + 4, [(Normal(), None), (None, None)]), (TEXT + 8, [(None, None)])):
        with patch.object(Library, "_most", side_effect=lambda entry, known: cost) as most:
            for number in (*[normal[0]] * 50, *normal, *denormal):
                assert library._cost(entry, (number, None)) is cost
        assert [call.args for call in most.call_args_list] == [
            *((entry, (number, None)) for number in normal[:32]),
            *((entry, kind) for kind in kinds),
        ]


def test_a_call_with_known_arguments_gives_what_the_code_computes_and_other_calls_change_the_flags() -> None:
    own = "__aeabi_fdiv:\nadd r0, r0, r1\nbx lr\n"
    text = f"f:\nmov r6, lr\nmov r4, #7\ncmp r4, r4\nbl __aeabi_fdiv\nit eq\nmoveq r4, #8\nbx r6\n{own}"
    assert followed(text, 2, 3).registers.values[0:5:4] == [5, 8]
    assert followed(text, 2, None).registers.values[0:5:4] == [None, None]


def test_a_function_whose_arguments_may_be_in_the_fpu_has_a_cost() -> None:
    assert longest((CALLER + COUNTS).replace("__aeabi_fdiv", "expf"), 1, 2) == longest(CALLER + COUNTS, None, None)


@followed_briefly
def test_functions_that_call_each_other_without_end_have_no_bound() -> None:
    own = "__aeabi_fdiv:\npush {r4, lr}\nbl __aeabi_fmul\npop {r4, pc}\n"
    with pytest.raises(Refusal):
        longest(CALLER + own + own.replace("fmul", "?").replace("fdiv", "fmul").replace("?", "fdiv"), None, None)


def test_numbers_of_which_there_are_many_keep_the_bits_in_which_they_agree() -> None:
    choices = "".join(f"cmp r0, #{at}\nbeq .on\nadd r2, #1\n" for at in range(10))
    text = f"{CALLER}__aeabi_fdiv:\nmov r2, #128\n{choices}.on:\ntst r2, #128\nbne .out\nnop\nnop\nnop\n.out:\nbx lr\n"
    assert longest(text, None, None) == 2 + 1 + 30 + 3 + 1


def test_the_address_to_return_to_has_the_bit_of_thumb_code() -> None:
    assert followed("f:\nmov r0, lr\nbx lr").registers.values[0] == 0xFFFFFFFF
    for call in ("bl g", "blx r0"):
        text = f"f:\nmov r6, lr\n{call}\nbx r6\ng:\nmov r0, lr\nbx lr"
        assert followed(text, TEXT + 13).registers.values[0] == TEXT + 8 + 1


def test_a_register_with_many_numbers_keeps_no_paths_apart() -> None:
    choices = "".join(f"cmp r0, #{at}\nbeq .on{at}\nadd r3, #{1 << at}\n.on{at}:\n" for at in range(14))
    text = CALLER + COUNTS.replace("mov r2, #3", f"mov r3, #0\n{choices}mov r2, #3")
    assert longest(text, None, None) == longest(CALLER + COUNTS, None, None) + 1 + 3 * 14
