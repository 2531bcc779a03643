# SPDX-License-Identifier: MIT
"""Instructions on registers of which some bits, or a few bits, are known; and the flags that they set or leave."""

from __future__ import annotations

import pytest

from aidge_build.contract.thumb.instruction import instruction_of_text
from aidge_build.prove.longest.memory import Constants, Memory
from aidge_build.prove.longest.registers import Registers
from aidge_build.prove.longest.thumb.operands import COUNT
from aidge_build.prove.longest.thumb.operations import operation
from aidge_build.prove.longest.thumb.words import plain
from aidge_build.prove.longest.values import Few, Near, Objects, OneLess, Partly, Span, flag_bits

OBJECTS = Objects([Span(100, 120)])
FEW = Few(3, 0xF0)
BEFORE = (True, False, True, False)  # N, Z, C, V
OPEN = (None, None, None, None)


def applied(text: str, *values, flags=("bits", *BEFORE)):
    """r0, and the flags, after an instruction on these registers from r1 on."""
    instruction = instruction_of_text(text)
    registers = Registers([None, *values, *[None] * (COUNT - 1 - len(values))], flags)
    operation(instruction, instruction.mnemonic, OBJECTS, 0)(registers, Memory(Constants(()), OBJECTS, 1 << 32))
    return registers.values[0], flag_bits(registers.flags)


@pytest.mark.parametrize(
    "text, values, expected",
    [
        ("lsl r0, r1, #4", (Partly(1, 1),), Partly(31, 16)),
        ("lsl r0, r1, r2", (Partly(1, 1), 260), Partly(31, 16)),
        ("lsl r0, r1, r2", (Partly(1, 1), None), None),
        ("lsl r0, r1, r2", (None, 4), None),
        ("lsr r0, r1, #28", (Partly(1 << 31, 1 << 31),), Partly(0xFFFFFFF8, 8)),
        ("asr r0, r1, #28", (Partly(1 << 31, 1 << 31),), None),
        ("and r0, r1, #1", (Partly(1, 1),), 1),
        ("and r0, r1, r2", (FEW, OneLess(FEW)), Few),
        ("bic r0, r1, #15", (Partly(0xFF, 0x35),), Partly(0xFF, 0x30)),
        ("mvn r0, r1", (Partly(1, 1),), None),
        ("mov r0, r1", (FEW,), FEW),
        ("add r0, r1, r1, lsl #1", (Partly(1, 1),), None),
        ("sub r0, r1, #1", (FEW,), OneLess(FEW)),
        ("sub r0, r1, #2", (FEW,), None),
        ("add r0, r1, #-1", (FEW,), OneLess(FEW)),
        ("add r0, r1, #1", (FEW,), None),
        ("sub r0, r1, r2", (FEW, 0xFFFFFFFF), None),
        ("rsb r0, r1, #1", (FEW,), None),
        ("add r0, r1, r2", (104, None), Near(104)),
        ("add r0, r1, r2", (None, 104), Near(104)),
        ("sub r0, r1, r2", (None, 104), None),
        ("rsb r0, r1, r2", (None, 104), None),
        ("adc r0, r1, r1", (Partly(1, 1),), Partly(3, 3)),
        ("adc r0, r1, r2", (Partly(1, 1), Partly(1, 1)), None),
        ("adc r0, r1, r1", (5,), 11),
        ("sbc r0, r1, r1", (None,), None),
        ("bfi r0, r1, #4, #4", (5,), None),
        ("csel r0, r1, r2, ge", (1, Near(104)), Near(104)),
        ("csinc r0, r1, r2, ge", (1, Near(104)), None),
        ("csinc r0, r1, r2, lt", (Near(104), 1), Near(104)),
        ("mla r0, r1, r2, r3", (3, 5, None), None),
        ("mla r0, r1, r2, s1", (3, 5), None),
        ("umull r0, r1, r2, s1", (3, 5), None),
        ("ubfx r0, r1, #4, #4", (Partly(1, 1),), None),
        ("ubfx r0, s1, #4, #4", (), None),
        ("uxtb r0, r1", (Partly(1, 1),), None),
    ],
)
def test_what_is_known_of_a_result(text: str, values: tuple, expected: object) -> None:
    found, flags = applied(text, *values)
    assert (type(found) if expected is Few else found) == expected and flags == BEFORE
    assert expected is not Few or (found.most, found.mask) == (2, 0xFFFFFFFF)


@pytest.mark.parametrize(
    "text", ["nop", "mov pc, r1", "mvn s1, r1", "umull r0, pc, r1, r2", "bfi r0, s1, #1, #2", "mla r0, pc, r1, r2"]
)
def test_an_instruction_with_another_operand_than_a_core_register_is_no_arithmetic_of_words(text: str) -> None:
    instruction = instruction_of_text(text)
    assert plain(instruction, instruction.mnemonic, OBJECTS, 0) is None


def test_twice_a_number_without_a_known_carry_has_an_unknown_lowest_bit() -> None:
    assert applied("adcs r0, r1, r1", Partly(1 << 31 | 1, 1), flags=None) == (Partly(2, 2), (None, None, False, None))
    assert applied("adcs r0, r1, r1", 5, flags=None) == (Partly(0xFFFFFFFE, 10), (None, None, False, None))
    assert applied("adc r0, r1, r1", Partly(1 << 31, 1 << 31), flags=None)[1] == OPEN


@pytest.mark.parametrize(
    "text, values, expected",
    [
        ("lsls r0, r1, #31", (Partly(1, 1),), (True, False, None, None)),
        ("ands r0, r1, #1", (Partly(1, 1),), (False, False, True, None)),
        ("ands r0, r1, #255", (12,), (False, False, True, None)),
        ("ands r0, r1, #256", (12,), (False, True, None, None)),
        ("ands r0, r1, #-2", (12,), (False, False, None, None)),
        ("movs r0, r1, lsl r2", (12, 2), (False, False, None, None)),
        ("movs r0, r1, lsl #0", (12,), (False, False, None, None)),
        ("ands r0, r1, r2, rrx", (12, 4), (False, None, None, None)),
        ("movs r0, r1, lsr #3", (12,), (False, False, True, None)),
        ("movs r0, r1, lsr #2", (12,), (False, False, False, None)),
        ("lsrs r0, r1, r2", (0x80000000, 32), (False, True, True, None)),
        ("lsrs r0, r1, r2", (0xFFFFFFFF, 33), (False, True, False, None)),
        ("lsls r0, r1, r2", (1, 32), (False, True, True, None)),
        ("asrs r0, r1, r2", (0x80000000, 40), (True, False, True, None)),
        ("lsrs r0, r1, r2", (12, 256), (False, False, True, None)),
        ("muls r0, r1, r2", (5, 0), (False, True, True, None)),
        ("muls r0, r1, r2", (5, None), OPEN),
        ("adds r0, r1, #1", (0xFFFFFFFF,), (False, True, True, False)),
        ("adds r0, r1, #1", (0x7FFFFFFF,), (True, False, False, True)),
        ("adds r0, r1, r2", (1, None), OPEN),
        ("subs r0, r1, #1", (0,), (True, False, False, False)),
        ("rsbs r0, r1, #1", (0,), (False, False, True, False)),
        ("rsbs r0, r1, #0", (1,), (True, False, False, False)),
        ("adcs r0, r1, r2", (0xFFFFFFFF, 0), (False, True, True, False)),
        ("adcs r0, r1, r2", (0xFFFFFFFF, None), OPEN),
        ("sbcs r0, r1, r2", (5, 5), (False, True, True, False)),
        ("cmp r1, #5", (5,), (False, True, True, False)),
        ("cmp r1, #5", (Partly(1, 0),), (None, False, None, None)),
        ("cmp r1, #5", (Partly(1, 1),), OPEN),
        ("cmp r1, #5", (None,), OPEN),
        ("cmn r1, #5", (0xFFFFFFFB,), (False, True, True, False)),
        ("tst r1, #4", (Partly(4, 4),), (False, False, None, None)),
        ("tst r1, #15", (FEW,), (False, True, None, None)),
        ("tst r1, #16", (FEW,), (False, None, None, None)),
        ("teq r1, #5", (Partly(1, 0),), (None, False, None, None)),
        ("teq r1, #5", (5,), (False, True, True, None)),
        ("teq r1, r2", (5, None), OPEN),
    ],
)
def test_the_flags_after_an_instruction_are_known_as_far_as_its_result_is(text: str, values: tuple, expected: tuple) -> None:
    assert applied(text, *values)[1] == expected


def test_a_carry_goes_into_the_next_sum_and_difference() -> None:
    for carry in (False, True):
        flags = ("bits", None, None, carry, None)
        assert applied("adc r0, r1, r2", 7, 5, flags=flags)[0] == 12 + carry
        assert applied("sbc r0, r1, r2", 7, 5, flags=flags)[0] == 1 + carry
        assert applied("adcs r0, r1, r2", 0xFFFFFFFF, 0, flags=flags)[1] == (not carry, carry, carry, False)
        assert applied("sbcs r0, r1, r2", 7, 7, flags=flags)[1] == (not carry, carry, carry, False)
        assert applied("mov r0, r1", 7, flags=flags)[1] == (None, None, carry, None)
