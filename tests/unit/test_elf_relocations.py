# SPDX-License-Identifier: MIT
"""Each field that a linker fills in: its bits are those that its number is read from, and no others."""

from __future__ import annotations

import pytest
from elftools.elf.enums import ENUM_RELOC_TYPE_ARM

from aidge_build.prove.elf.jump_tables import THUMB1_SWITCHES
from aidge_build.prove.elf.relocations import FIELDS, addend_of

READ = {kind: field for kind, field in FIELDS.items() if field.read}
# What is left out: widths in bytes, and bits (Armv7-M Architecture Reference Manual, A7.7: LDR literal, ADR, CBZ).
LEFT_OUT = {
    "NONE": (0, 0),
    "V4BX": (0, 0),
    "TARGET2": (4, 0xFFFFFFFF),
    "THM_JUMP6": (2, 0b0000_0010_1111_1000),
    "THM_PC8": (2, 0xFF),
    "THM_ALU_PREL_11_0": (4, 0b0111_0000_1111_1111 << 16 | 0b0000_0100_1010_0000),
    "THM_PC12": (4, 0b0000_1111_1111_1111 << 16 | 0b0000_0000_1000_0000),
    **{name: (4, 0xFFFFFFFF) for name in ("GOT_BREL", "GOT_PREL", "GOTOFF32", "BASE_PREL", "SBREL32")},
}


@pytest.mark.parametrize("kind", READ, ids=lambda kind: FIELDS[kind].name)
def test_a_field_is_read_from_its_bits_alone_and_holds_as_many_as_it_says(kind):
    field = READ[kind]
    for word in (0, 0x5A5A5A5A, 0xFFFFFFFF):
        changed = {bit for bit in range(32) if field.found(word ^ 1 << bit) != field.found(word)}
        assert changed == {bit for bit in range(32) if field.mask >> bit & 1}
    is_halved = field.is_branch  # branches count in steps of two bytes
    assert bin(field.mask).count("1") == field.bits - is_halved
    assert field.found(0xFFFFFFFF) < 1 << field.bits and (not is_halved or field.found(0x12345678) % 2 == 0)
    if field.name.startswith("THM_"):
        assert field.width == (4 if field.mask > 0xFFFF else 2)
    else:
        assert field.width == (field.bits + 7) // 8


def test_what_is_left_out_are_the_bits_of_its_instruction():
    assert {field.name: (field.width, field.mask) for field in FIELDS.values() if not field.read} == LEFT_OUT
    assert all(field.found(0xFFFFFFFF) == 0 for field in FIELDS.values() if not field.read)


@pytest.mark.parametrize(
    "kind, word, addend", [(10, 0xFFFEF7FF, -4), (102, 0xE7FE, -4), (2, 0xFFFFFFF8, -8), (5, 0x8000, -32768)]
)
def test_an_addend_has_a_sign(kind, word, addend):
    assert addend_of(FIELDS[kind], word) == addend


# What a linker writes (IHI 0044, 4.6.1): S the symbol, A the addend, T the Thumb bit, P the place; and the lowest bit of it that
# the field holds.
FORMULAS = {
    **dict.fromkeys(("ABS32", "TARGET1", "THM_MOVW_ABS_NC", "THM_ALU_ABS_G0"), ("(S + A) | T", 0)),
    **dict.fromkeys(("ABS32_NOI", "ABS16", "ABS8"), ("S + A", 0)),
    **{name: ("S + A", low) for name, low in (("THM_ALU_ABS_G1", 8), ("THM_ALU_ABS_G2", 16), ("THM_ALU_ABS_G3", 24))},
    **dict.fromkeys(("REL32", "PREL31", "THM_MOVW_PREL_NC"), ("((S + A) | T) - P", 0)),
    "REL32_NOI": ("S + A - P", 0),
    **dict.fromkeys(("THM_CALL", "THM_JUMP24", "THM_JUMP19", "THM_JUMP11", "THM_JUMP8"), ("S + A - P", 0)),
    "THM_MOVT_ABS": ("S + A", 16),
    "THM_MOVT_PREL": ("S + A - P", 16),
}


@pytest.mark.parametrize("kind", READ, ids=lambda kind: FIELDS[kind].name)
@pytest.mark.parametrize(
    "place, symbol, thumb, addend", [(0x8000100, 0x8000200, 1, 0), (0x20000000, 0x12345678, 0, -4), (4, 8, 1, 6)]
)
def test_a_linker_writes_what_the_formula_of_a_relocation_says(kind, place, symbol, thumb, addend):
    field = READ[kind]
    formula, low = FORMULAS[field.name]
    total = eval(formula, {"S": symbol, "A": addend, "T": thumb, "P": place})
    assert field.number(place, symbol, thumb, addend) == (total & 0xFFFFFFFF) >> low & (1 << field.bits) - 1
    assert field.is_branch == field.name.startswith(("THM_CALL", "THM_JUMP"))
    assert field.is_whole == (formula.endswith("P") or field.bits == 32)


def test_relocations_have_the_numbers_of_the_format():
    known = {name.removeprefix("R_ARM_"): number for name, number in ENUM_RELOC_TYPE_ARM.items()}
    numbers = known | {f"THM_ALU_ABS_G{at}": 132 + at for at in range(4)}
    names = {field.name for field in FIELDS.values()}
    assert {field.name: kind for kind, field in FIELDS.items()} == {name: numbers[name] for name in names}
    assert len(names) == len(FIELDS) == 33
    groups = [field.name for field in FIELDS.values() if field.group == "bytes"]
    assert groups == [f"THM_ALU_ABS_G{number}" for number in range(4)]
    moves = {kind: field.group for kind, field in FIELDS.items() if field.name.startswith("THM_MOV")}
    assert moves[47] == moves[48] != moves[49] == moves[50]


def test_switches_of_libgcc_are_called_after_the_entries_of_their_tables():
    for name, (width, signed, scale) in THUMB1_SWITCHES.items():
        kind = name.rpartition("_")[2]
        assert (
            width == {"qi": 1, "hi": 2, "si": 4}[kind[-2:]] and signed == (kind[0] != "u") and scale == (1 if kind == "si" else 2)
        )
    assert len(THUMB1_SWITCHES) == 5
