# SPDX-License-Identifier: MIT
"""Each field that a linker fills in: its bits are those that its number is read from, and no others."""

from __future__ import annotations

import pytest

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
