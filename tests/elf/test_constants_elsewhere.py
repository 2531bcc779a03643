# SPDX-License-Identifier: MIT
"""Constants that were given a memory of their own: within it to the byte, and stored in flash where it is RAM."""

from __future__ import annotations

import hashlib

import pytest

from aidge_build.boards import Region
from aidge_build.prove.elf.claim import Claim, ClaimedConstant
from aidge_build.prove.elf.data_proof import check_constants
from aidge_build.prove.elf.image import Image, Section, Symbol
from aidge_build.prove.elf.waivers import NO_WAIVERS

FLASH = Region("FLASH", 0x8000000, 0x10000, "flash", ())
DTCM = Region("DTCM", 0x20000000, 0x1000, "ram", ())
SRAM = Region("SRAM", 0x20001000, 0x1000, "ram", ())
DATA = bytes(range(64))


def said(address: int, load_address: int, memory: tuple[int, int] | None = (0x20000000, 0x1000)) -> list[str]:
    """What the check says of 64 bytes at this address; the program's code has the address that they are copied from."""
    code = Section(".text", 0x8000000, 4, 0x8000000, False, True, load_address.to_bytes(4, "little"))
    section = Section(".aidge_constants_DTCM", address, 64, load_address, False, False, DATA)
    symbol = Symbol("kws_weights", "kws_weights", address, 64, "object", section.name)
    image = Image("a.elf", "ARM", "v7E-M", 0x101, (code, section), (symbol,), (), (), {"kws_weights": (symbol,)})
    region = "DTCM" if memory else ""
    constant = ClaimedConstant("kws_weights", 64, 4, hashlib.sha256(DATA).hexdigest(), region, memory)
    claim = Claim("kws", 0, (), True, constants=(constant,), weights_bytes=64)
    return [f"{one.code}: {one.text}" for one in check_constants(image, claim, (FLASH, DTCM, SRAM), NO_WAIVERS)]


@pytest.mark.parametrize("address", [0x20000000, 0x20000800, 0x20000FC0])
def test_in_their_memory_they_may_lie_in_ram_and_nowhere_else(address):
    assert said(address, 0x8000100) == []
    (other,) = said(address, 0x8000100, None)
    assert "MEM03" in other and "which is RAM" in other


@pytest.mark.requirement("MEM02")
@pytest.mark.parametrize("address", [0x8000100, 0x20000FC4, 0x20001000])
def test_elsewhere_the_memory_of_the_plan_is_named(address):
    first, *_ = said(address, 0x8000100)
    wanted = f"MEM02: weights kws_weights (64 B) are at 0x{address:08x}, the plan says DTCM (0x20000000 to 0x20000fff)"
    assert first == wanted


def test_below_their_memory_is_elsewhere_too():
    assert "the plan says" in said(0x20000000, 0x8000100, (0x20000004, 0x1000))[0]


@pytest.mark.requirement("MEM03")
def test_in_ram_without_a_copy_in_flash_nobody_fills_them():
    (found,) = said(0x20000000, 0x20000000)
    assert found.startswith("MEM03: ") and "no code copies them there after a reset" in found
