# SPDX-License-Identifier: MIT
"""What RISC-V instructions make of known and partly known numbers, and what a branch says of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.contract.riscv.instruction import MOST_VECTOR_BYTES, Instruction
from aidge_build.contract.riscv.instruction import Operation as Encoded
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.elf.riscv_numbers import OF_ONE, OF_TWO
from aidge_build.prove.elf.riscv_walk import RiscvCode
from aidge_build.prove.longest.memory import Constants, Memory
from aidge_build.prove.longest.registers import Registers
from aidge_build.prove.longest.riscv.blocks import _convention, _vector_bits
from aidge_build.prove.longest.riscv.operations import NUMBERS, decided, learned, operation
from aidge_build.prove.longest.values import SIGN, WORD, Few, Near, Objects, OneLess, Partly, Span, Value
from tests.listings import listed

# By the manual, with the numbers at the edges of words.
RESULTS = {
    "add": [(WORD, 2, 1)],
    "sub": [(1, 2, WORD)],
    "and": [(12, 10, 8)],
    "or": [(12, 10, 14)],
    "xor": [(12, 10, 6)],
    "andn": [(12, 10, 4)],
    "orn": [(12, 10, WORD - 2)],
    "xnor": [(12, 10, WORD - 6)],
    "sll": [(3, 31, SIGN), (3, 33, 6)],
    "srl": [(SIGN, 31, 1), (SIGN, 33, SIGN >> 1)],
    "sra": [(SIGN, 31, WORD), (SIGN, 33, 0xC0000000)],
    "rol": [(0x80000001, 1, 3), (5, 32, 5), (0x12345678, 36, 0x23456781)],
    "ror": [(0x80000001, 1, 0xC0000000), (5, 32, 5)],
    "mul": [(WORD, WORD, 1), (0x10000, 0x10000, 0)],
    "mulh": [(WORD, WORD, 0), (SIGN, 2, WORD), (SIGN, SIGN, SIGN >> 1)],
    "mulhsu": [(WORD, WORD, WORD), (2, WORD, 1)],
    "mulhu": [(WORD, WORD, WORD - 1)],
    "div": [(7, WORD - 1, WORD - 2), (7, 0, WORD), (SIGN, WORD, SIGN), (WORD - 6, 2, WORD - 2)],
    "divu": [(WORD, 2, SIGN - 1), (7, 0, WORD)],
    "rem": [(7, WORD - 1, 1), (WORD - 6, 2, WORD), (WORD - 6, 0, WORD - 6), (SIGN, WORD, 0)],
    "remu": [(WORD, 10, 5), (7, 0, 7)],
    "sh1add": [(3, 5, 11)],
    "sh2add": [(3, 5, 17)],
    "sh3add": [(3, 5, 29)],
    "min": [(WORD, 1, WORD)],
    "minu": [(WORD, 1, 1)],
    "max": [(WORD, 1, 1)],
    "maxu": [(WORD, 1, WORD)],
    "pack": [(0x12345678, 0x9ABCDEF0, 0xDEF05678)],
    "slt": [(WORD, 1, 1), (1, WORD, 0), (1, 1, 0)],
    "sltu": [(WORD, 1, 0), (1, WORD, 1), (1, 1, 0)],
    "bset": [(0, 33, 2)],
    "bclr": [(WORD, 33, WORD - 2)],
    "binv": [(3, 33, 1)],
    "bext": [(4, 34, 1), (4, 1, 0)],
}
OF_A_WORD = {
    "clz": [(0, 32), (1, 31), (SIGN, 0)],
    "ctz": [(0, 32), (12, 2), (SIGN, 31)],
    "cpop": [(0xF0F, 8)],
    "sext.b": [(0x180, WORD - 127), (0x17F, 127)],
    "sext.h": [(0x18000, WORD - 0x7FFF), (0x17FFF, 0x7FFF)],
    "orc.b": [(0x01008000, 0xFF00FF00)],
    "rev8": [(0x12345678, 0x78563412)],
}
ARRAY, END = 0x20000100, 0x20000180
OBJECTS = Objects([Span(ARRAY, END)])
UPPER = Partly(0xFFFFFF00, 0)  # a byte
BIT = Partly(WORD - 1, 0)
SOME = Few(32)


@pytest.mark.parametrize("name", [*OF_TWO, *OF_ONE])
def test_results_of_known_words_are_by_the_manual(name: str) -> None:
    for *numbers, expected in (RESULTS | OF_A_WORD)[name]:
        assert after(Encoded(name, "a0", "a1", "a2"), a1=numbers[0], a2=numbers[-1])[0] == expected, numbers


def after(one: Encoded, bits: int = 0, **values: Value) -> tuple[Value, Registers, Memory]:
    """The value of a0 after an instruction, the registers and the memory: before it, the array holds 77 in each word."""
    memory = Memory(Constants(()), OBJECTS, END)
    for at in range(ARRAY, END, 4):
        memory.store(at, 4, 77)
    registers = Registers([0, *[None] * (len(NUMBERS) - 1)])
    for name, value in values.items():
        registers.values[NUMBERS[name]] = value
    change = operation(Instruction(0x8000, 4, one), OBJECTS, False, bits)
    if change is not None:
        change(registers, memory)
    assert registers.values[0] == 0
    return registers.values[NUMBERS["a0"]], registers, memory


@pytest.mark.parametrize(
    "one, values, expected",
    [
        (Encoded("lui", "a0", number=0x12345000), {}, 0x12345000),
        (Encoded("auipc", "a0", number=0xFFFFF000), {}, 0x7000),
        (Encoded("addi", "a0", "a1", number=-8), {"a1": 4}, WORD - 3),
        (Encoded("addi", "a0", "a1"), {"a1": SOME}, SOME),
        (Encoded("addi", "a0", "a1", number=-1), {"a1": SOME}, OneLess(SOME)),
        (Encoded("addi", "a0", "a1", number=8), {"a1": Near(ARRAY)}, Near(ARRAY)),
        (Encoded("addi", "a0", "a1", number=8), {}, None),
        (Encoded("add", "a0", "zero", "a1"), {"a1": SOME}, SOME),
        (Encoded("add", "a0", "a1", "zero"), {"a1": SOME}, SOME),
        (Encoded("add", "a0", "a1", "a2"), {"a1": SOME, "a2": WORD}, OneLess(SOME)),
        (Encoded("add", "a0", "a1", "a2"), {"a2": ARRAY}, Near(ARRAY)),
        (Encoded("add", "a0", "a1", "a1"), {"a1": UPPER}, Partly(0xFFFFFE01, 0)),
        (Encoded("sub", "a0", "a1", "a2"), {"a1": ARRAY}, Near(ARRAY)),
        (Encoded("sub", "a0", "a1", "a2"), {"a2": ARRAY}, None),
        (Encoded("sub", "a0", "a1", "zero"), {"a1": SOME}, SOME),
        (Encoded("sh2add", "a0", "a1", "a2"), {"a1": Near(ARRAY), "a2": 4}, None),
        (Encoded("sh2add", "a0", "a1", "a2"), {"a2": ARRAY}, Near(ARRAY)),
        (Encoded("andi", "a0", "a1", number=1), {}, Few(1, 1)),
        (Encoded("andi", "a0", "a1", number=0xFF), {"a1": UPPER}, UPPER),
        (Encoded("srli", "a0", "a1", number=24), {}, UPPER),
        (Encoded("slli", "a0", "a1", number=24), {}, Partly(0x00FFFFFF, 0)),
        (Encoded("srl", "a0", "a1", "a2"), {"a2": 24 + 32}, UPPER),
        (Encoded("srl", "a0", "a1", "a2"), {"a1": 3}, None),
        (Encoded("srai", "a0", "a1", number=24), {}, None),
        (Encoded("sltiu", "a0", "a1", number=1), {}, BIT),
        (Encoded("sltiu", "a0", "a1", number=256), {"a1": UPPER}, 1),
        (Encoded("sltiu", "a0", "a1", number=255), {"a1": UPPER}, BIT),
        (Encoded("slt", "a0", "a1", "zero"), {"a1": UPPER}, 0),
        (Encoded("mul", "a0", "a1", "a2"), {"a1": 3}, None),
        (Encoded("clz", "a0", "a1"), {}, None),
        (Encoded("lw", "a0", "a1", number=4), {"a1": ARRAY}, 77),
        (Encoded("lw", "a0", "a1", number=4), {"a1": Near(ARRAY)}, None),
        (Encoded("csrrs", "a0", number=0xB00), {"a0": 3}, None),
        (Encoded("other", "a0"), {"a0": 3}, None),
        (Encoded("other"), {"a0": 3}, 3),
        (Encoded("fence"), {"a0": 3}, 3),
        (Encoded("amo", "a0", "a1", width=4), {"a0": 3, "a1": ARRAY}, None),
    ],
    ids=str,
)
def test_what_is_known_of_a_result(one: Encoded, values: dict[str, Value], expected: Value) -> None:
    found = after(one, **values)[0]
    same = (found.most, found.mask) == (expected.most, expected.mask) if isinstance(expected, Few) else found == expected
    assert same or found is expected


@pytest.mark.parametrize(
    "name, one, two, expected",
    [
        ("beq", UPPER, 256, False),
        ("bne", UPPER, 256, True),
        ("beq", UPPER, 255, None),
        ("bltu", UPPER, 256, True),
        ("bgeu", UPPER, 256, False),
        ("bltu", UPPER, 255, None),
        ("bgeu", 255, UPPER, True),
        ("bltu", 254, UPPER, None),
        ("bltu", None, 0, False),
        ("blt", UPPER, 0, False),
        ("bge", UPPER, 0, True),
        ("blt", WORD, UPPER, True),
        ("blt", None, SIGN, False),
        ("blt", None, 5, None),
        ("blt", Partly(SIGN, SIGN), 0, True),
        ("bge", Partly(SIGN, SIGN), WORD, None),
        ("blt", WORD, 1, True),
        ("bltu", WORD, 1, False),
    ],
)
def test_known_bits_may_decide_a_branch(name: str, one: Value, two: Value, expected: bool | None) -> None:
    assert decided(name, one, two) is expected


@pytest.mark.parametrize(
    "name, is_taken, one, two, expected",
    [
        ("beq", True, None, 5, (5, 5)),
        ("beq", False, None, 5, (None, 5)),
        ("bne", False, 5, None, (5, 5)),
        ("beq", True, None, UPPER, (None, UPPER)),
        ("blt", True, None, 0, (Partly(SIGN, SIGN), 0)),
        ("bge", True, None, 0, (Partly(SIGN, 0), 0)),
        ("blt", True, None, 5, (None, 5)),
        ("bltu", True, None, 256, (UPPER, 256)),
        ("bltu", True, None, 257, (Partly(WORD ^ 0x1FF, 0), 257)),
        ("bgeu", False, None, 256, (UPPER, 256)),
        ("bltu", False, 255, None, (255, UPPER)),
        ("bgeu", True, 255, None, (255, UPPER)),
        ("bgeu", True, None, 255, (None, 255)),
        ("bltu", True, Partly(1, 1), 256, (Partly(0xFFFFFF01, 1), 256)),
    ],
)
def test_a_way_knows_what_its_branch_says(name: str, is_taken: bool, one: Value, two: Value, expected) -> None:
    assert learned(name, is_taken, one, two) == expected


def words(memory: Memory) -> list[Value]:
    return [memory.load(at, 4) for at in range(ARRAY, END, 4)]


def test_a_store_of_a_register_that_is_not_followed_makes_its_bytes_unknown() -> None:
    *_, memory = after(Encoded("store", "", "a1", "", 4, 4), a1=ARRAY)
    assert words(memory) == [77, None, *[77] * 30]
    *_, memory = after(Encoded("sw", "", "a1", "zero", 4, 4), a1=ARRAY)
    assert words(memory) == [77, 0, *[77] * 30]
    *_, memory = after(Encoded("sw", "", "a1", "zero", 4, 4), a1=Near(ARRAY))
    assert words(memory) == [None] * 32
    *_, memory = after(Encoded("amo", "zero", "a1", width=4), a1=ARRAY)
    assert words(memory) == [None, *[77] * 31]


@pytest.mark.parametrize("length, unknown", [(3, 2), (4, 2), (5, 3), (None, 31)])
def test_a_store_of_a_vector_reaches_as_far_as_its_elements(length: int | None, unknown: int) -> None:
    *_, memory = after(Encoded("vse16", "", "a1", "", width=MOST_VECTOR_BYTES), a1=ARRAY + 4, vl=length)
    assert words(memory) == [77, *[None] * unknown, *[77] * (31 - unknown)]


@pytest.mark.parametrize(
    "kind, asked, bits, expected",
    [
        (0b000_000, 5, 128, 5),  # e8, m1
        (0b000_000, 17, 128, 16),
        (0b010_011, 1000, 128, 32),  # e32, m8
        (0b010_011, 1000, 256, 64),
        (0b001_101, 9, 128, 1),  # e16, mf8
        (0b000_111, 9, 128, 8),  # e8, mf2
        (0b11_000_000, 5, 128, 5),  # with ta and ma
        (0b000_000, None, 128, None),
    ],
)
def test_a_vector_has_the_elements_that_are_asked_for_and_fit(kind: int, asked: int | None, bits: int, expected) -> None:
    found, registers, _ = after(Encoded("vsetvli", "a0", "a1", number=kind), bits, a1=asked)
    assert found == registers.values[NUMBERS["vl"]] == expected
    _, registers, _ = after(Encoded("vsetvli", "zero", "a1", number=kind), bits, a1=asked, vl=99)
    assert registers.values[NUMBERS["vl"]] == expected


def test_the_length_of_a_vector_may_be_the_largest_or_stay_or_be_unknown() -> None:
    assert after(Encoded("vsetvli", "a0", number=0), 128)[0] == 16
    assert after(Encoded("vsetvli", "zero", number=0), 128, vl=7)[1].values[NUMBERS["vl"]] == 7
    assert after(Encoded("vsetvl", "a0"), 128, a0=3, vl=7)[1].values[NUMBERS["vl"]] is None
    with pytest.raises(Refusal, match="how long vectors are for 'vsetvli' at 0x8000"):
        after(Encoded("vsetvli", "a0", "a1"), a1=4)


def test_with_16_registers_six_of_them_hold_arguments() -> None:
    image, _ = listed("f:\nbx lr")
    conventions = [
        _convention(RiscvCode(replace(image, machine="RISCV", extensions=words))) for words in ("rv32e1p9", "rv32i2p1")
    ]
    assert [[*one.arguments] for one in conventions] == [[*range(10, 16)], [*range(10, 18)]]
    assert all(one.values([7], 0x1000)[:11] == [0, None, 0x1000, *[None] * 7, 7] for one in conventions)


@pytest.mark.parametrize(
    "extensions, expected",
    [
        ("rv32i2p1_m2p0", 0),
        ("rv32i2p1_f2p2_v1p0", 128),
        ("rv32i2p1_zve32f1p0_zvl128b1p0_zvl32b1p0", 128),
        ("rv32i_zve32x1p0", 32),
    ],
)
def test_the_instruction_set_says_how_long_vectors_are_at_least(extensions: str, expected: int) -> None:
    assert _vector_bits(extensions) == expected
