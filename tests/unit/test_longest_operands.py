# SPDX-License-Identifier: MIT
"""Operands as functions of the registers, and the memory that a function of the library may write."""

from __future__ import annotations

import pytest

from aidge_build.contract.thumb.instruction import Instruction
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.memory import Room
from aidge_build.prove.longest.registers import require_known
from aidge_build.prove.longest.thumb.operands import COUNT, Address, address, program_counter, reader
from aidge_build.prove.longest.values import WORD, Near, Objects, Partly, Span

VALUES = [*range(1000, 1000 + 16 * 13, 16), 5000, 6000, None, *range(COUNT - 16)]  # r0 to r12, sp, lr
ODD = 0x8002  # the address of an instruction that is no multiple of four


def placed(*operands: str, written_bytes: int = 0) -> Address:
    return address(Instruction(ODD, 4, "ldr", operands), Objects([Span(900, 1100)]), written_bytes)


def test_pc_is_four_bytes_further_and_the_base_of_an_address_is_aligned() -> None:
    instruction = Instruction(ODD, 2, "add", ("r0", "pc"))
    assert [program_counter(instruction, aligned) for aligned in (False, True)] == [ODD + 4, ODD + 2]
    assert reader(instruction, ("pc",))([]) == ODD + 4
    assert reader(instruction._replace(operands=("r0", "pc", "#8")), ("pc",))([]) == ODD + 2
    for operand, place in (("[pc]", ODD + 2), ("[pc, #8]", ODD + 10), ("[pc, #-4]", ODD - 2), ("[pc, r1]", None)):
        assert placed("r0", operand).base is None and placed("r0", operand).place(VALUES) == place
    assert placed("r0", "[pc, r1, lsl #2]").place(VALUES) is None


@pytest.mark.parametrize(
    "operands, place, base, after",
    [
        (("r0", "[r1]"), 1016, None, None),
        (("r0", "[r1, #-4]"), 1012, None, None),
        (("r0", "[r1, #8]!"), 1024, 1, 1024),
        (("r0", "[r1]", "#8"), 1016, 1, 1024),
        (("r0", "[r1]", "r2"), 1016, 1, 1016 + 1032),
        (("r0", "[r1]!"), 1016, 1, 1016 + 12),
        (("r0", "[r1, r2, lsl #2]"), 1016 + 4 * 1032, None, None),
        (("r0", "r3", "[lr]"), 6000, None, None),
        (("r0", "[q1]"), None, None, None),
        (("r0", "[r1, q1]"), Near(1016), None, None),
    ],
)
def test_an_address_is_a_base_and_an_offset_and_may_move_the_base(operands, place, base, after) -> None:
    found = placed(*operands, written_bytes=12)
    assert (found.place(VALUES), found.base) == (place, base) and (base is None or found.after(VALUES) == after)


@pytest.mark.parametrize(
    "words, expected",
    [
        (("#12",), 12),
        (("#-1",), WORD),
        (("r2",), 1032),
        (("sp",), 5000),
        (("r2", "lsl #3"), 1032 << 3),
        (("r2", "lsr #1"), 516),
        (("r2", "lsl r0"), 1032 << (1000 & 255) & WORD),
        (("r2", "rrx"), None),
    ],
)
def test_an_operand_is_a_number_a_register_or_a_shifted_register(words: tuple[str, ...], expected: int | None) -> None:
    assert reader(Instruction(ODD, 4, "add", ("r0", *words)), words)(VALUES) == expected


@pytest.mark.parametrize("words", [("s1",), ("#4", "lsl #1"), ("r2", "sxtw #1"), ("r2", "lsl #1", "r3"), ("pc", "lsl #1")])
def test_other_operands_have_no_reader(words: tuple[str, ...]) -> None:
    assert reader(Instruction(ODD, 4, "add", ("r0", *words)), words) is None


def test_a_shifted_register_is_known_as_far_as_its_bits_are() -> None:
    by_number, by_register = (reader(Instruction(ODD, 4, "add", ()), ("r0", shift)) for shift in ("lsl #4", "lsl r1"))
    assert by_number([Partly(1, 1), 4]) == Partly(31, 16) and by_register([Partly(1, 1), 4]) is by_number([None, 4]) is None
    assert by_register([3, None]) is by_register([None, 3]) is None and by_register([3, 0x103]) == 24


def test_a_base_with_an_unknown_offset_stays_in_its_object() -> None:
    values = [Near(1000), 950, None, Partly(3, 0)]
    for base, offset, expected in (("r0", "#4", Near(1000)), ("r1", "#4", 954), ("r2", "#4", None), ("r3", "#4", None)):
        assert placed("r4", f"[{base}, {offset}]").place(values) == expected
    assert placed("r4", "[r2, #1000]").place(values) is None
    assert placed("r4", "[r1, r2]").place(values) == Near(950) and placed("r4", "[r1, r1]").place(values) == 1900


def test_a_number_that_must_be_known_is_given_or_refused() -> None:
    assert require_known(5, "the count") == 5
    with pytest.raises(Refusal, match="the count depends on data"):
        require_known(Near(5), "the count")


def test_a_function_of_the_library_writes_its_stack_and_errno_only() -> None:
    room = Room(0x10000, 0x20000)
    assert room.lowest == 0x10000
    for place, lowest in ((0xFFFF, 0xFFFF), (0xF000, 0xF000), (0xFFF0, 0xF000), (0x20000, 0xF000), (0x20003, 0xF000)):
        room.take(place)
        assert room.lowest == lowest
    for place in (0x10000, 0x1FFFF, 0x20004, 0xEFFF):
        with pytest.raises(Refusal, match=f"a store to 0x{place:x}"):
            room.take(place)
