# SPDX-License-Identifier: MIT
"""The few instructions between a branch and a function too far away, as GNU ld, lld and armlink write them."""

from __future__ import annotations

import struct

import pytest

from aidge_build.prove.elf.veneers import reached

PLACE, FAR = 0x08000100, 0x20000040
MOVES = struct.pack("<4H", 0xF240, 0x0C41, 0xF2C2, 0x0C00)  # movw ip, #0x41; movt ip, #0x2000
VENEERS = {
    "ldr.w pc": struct.pack("<2HI", 0xF85F, 0xF000, FAR | 1),
    "ldr.w pc, upwards": struct.pack("<2HI", 0xF8DF, 0xF000, FAR | 1),
    "Thumb-1 of ld": struct.pack("<6HI", 0xB401, 0x4802, 0x4684, 0xBC01, 0x4760, 0xBF00, FAR | 1),
    "the same with its other nop": struct.pack("<6HI", 0xB401, 0x4802, 0x4684, 0xBC01, 0x4760, 0x46C0, FAR | 1),
    "Thumb-1 of lld": struct.pack("<4HI", 0xB403, 0x4801, 0x9001, 0xBD01, FAR | 1),
    "by halves": MOVES + struct.pack("<H", 0x4760),
    "a branch": struct.pack("<2H", 0xF000, 0xB9DE) + bytes(20),
    "an entry for non-secure code": struct.pack("<4H", 0xE97F, 0xE97F, 0xF000, 0xB9DC),
}
ENDS = {"a branch": 0x080004C0, "an entry for non-secure code": 0x080004C0}


def reading(content: bytes):
    return lambda address, count: content[address - PLACE :][:count] if address >= PLACE else b""


@pytest.mark.parametrize("name", VENEERS)
def test_a_veneer_leads_to_its_function(name):
    on_the_way = (PLACE + 4,) if name == "an entry for non-secure code" else ()
    assert reached(PLACE, reading(VENEERS[name])) == (*on_the_way, ENDS.get(name, FAR))


def test_a_veneer_that_counts_from_where_it_is_leads_there():
    """add ip, pc reads its own address and 4 more."""
    for number in (0x20000041, 0x20000040):  # with the Thumb bit, and without
        code = struct.pack("<6H", 0xF240, 0x0C00 | number & 0xFF, 0xF2C2, 0x0C00, 0x44FC, 0x4760)
        assert reached(PLACE, reading(code)) == ((number + PLACE + 12) & ~1,)


@pytest.mark.parametrize("name", VENEERS)
@pytest.mark.parametrize("bit", [3, 9, 12])
def test_other_instructions_are_no_veneer(name, bit):
    """Where the last instruction before the address differs, nothing is known."""
    code = bytearray(VENEERS[name])
    last = {"ldr.w pc": 2, "ldr.w pc, upwards": 2, "Thumb-1 of ld": 8, "the same with its other nop": 8, "Thumb-1 of lld": 6}
    if name in ENDS:
        code[1] ^= 0x08  # no branch any more, and no entry
    else:
        struct.pack_into("<H", code, last.get(name, 8), struct.unpack_from("<H", code, last.get(name, 8))[0] ^ 1 << bit)
    assert reached(PLACE, reading(bytes(code))) == ()


def test_code_that_is_cut_off_leads_nowhere_and_a_circle_ends():
    for name, code in VENEERS.items():
        assert not any(reached(PLACE, reading(code[:length])) for length in range(0, 4)), name
    assert reached(PLACE, reading(VENEERS["ldr.w pc"][:7])) == ()
    circle = struct.pack("<2H", 0xF7FF, 0xBFFE)  # b.w to itself
    assert reached(PLACE, reading(circle)) == (PLACE,) * 4


def test_a_veneer_may_lead_to_another_one():
    code = struct.pack("<2HI", 0xF85F, 0xF000, (PLACE + 8) | 1) + VENEERS["Thumb-1 of lld"]
    assert reached(PLACE, reading(code)) == (PLACE + 8, FAR)
