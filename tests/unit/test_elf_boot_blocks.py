# SPDX-License-Identifier: MIT
"""The blocks that the boot ROMs of two chips require, by the numbers of their datasheets; no program is linked."""

from __future__ import annotations

import struct

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf.boot_block import (
    IMAGE_DEFINITION,
    SECOND_STAGE,
    crc32_of,
    image_definition,
    lacks_boot_block,
    second_stage,
    vectors_at,
)
from tests.golden.test_findings import image, section

FLASH = 0x10000000
STAGE = second_stage(bytes(range(1, 253)))
DEFINITION = struct.pack("<5I", 0xFFFFDED3, 0x10210142, 0x000001FF, 0, 0xAB123579)
FIRST, LAST = DEFINITION[:4], DEFINITION[-4:]


def lacks(kind: str, *parts: tuple[int, bytes]) -> bool:
    """Whether a program with these (distance from the start of flash, bytes) lacks the block."""
    sections = [section(f".s{place}", FLASH + place, content) for place, content in parts]
    elsewhere = [section(".bss", FLASH, 512), section(".data", FLASH + 8, b"data", 0x20000000)]
    return bool(lacks_boot_block(image([*sections, *elsewhere]), kind, FLASH))


def test_the_crc_is_the_one_of_the_boot_rom():
    """CRC-32/MPEG-2: the value for the nine digits is the check of the catalogue of CRCs."""
    assert crc32_of(b"123456789") == 0x0376E6E7 and crc32_of(b"") == 0xFFFFFFFF


def test_a_second_stage_is_its_code_zeros_and_their_crc():
    made = second_stage(b"code")
    assert made[:252] == b"code" + bytes(248) and made[252:] == crc32_of(made[:252]).to_bytes(4, "little")
    assert STAGE[:252] == bytes(range(1, 253)) and len(STAGE) == 256
    with pytest.raises(AidgeError, match="a second stage has 252 bytes, this one 253"):
        second_stage(bytes(253))


def test_a_definition_is_the_five_words_of_the_datasheet():
    assert image_definition() == DEFINITION
    assert image_definition(is_riscv=True) == struct.pack("<5I", 0xFFFFDED3, 0x11010142, 0x000001FF, 0, 0xAB123579)


@pytest.mark.parametrize(
    "parts, is_missing",
    [
        ([(0, STAGE)], False),
        ([(0, STAGE[:99]), (99, STAGE[99:] + b"program")], False),
        ([(-4, b"once" + STAGE)], False),
        ([(-4, b"once"), (0, STAGE), (256, b"program")], False),
        ([(1, STAGE)], True),
        ([(0, STAGE[:255])], True),
        ([(0, STAGE[:17] + b"\0" + STAGE[18:])], True),
        ([], True),
    ],
)
def test_a_second_stage_is_found_at_the_first_byte_of_flash_alone(parts, is_missing):
    assert lacks(SECOND_STAGE, *parts) == is_missing
    assert not lacks("", *parts)


@pytest.mark.parametrize(
    "parts, is_missing",
    [
        ([(0, DEFINITION)], False),
        ([(512, bytes(4) + DEFINITION)], False),
        ([(4096 - len(DEFINITION), DEFINITION)], False),
        ([(4096 - len(DEFINITION) + 4, DEFINITION)], True),
        ([(512, bytes(2) + DEFINITION)], True),
        ([(0, FIRST)], True),
        ([(0, LAST)], True),
        ([(0, LAST + FIRST)], True),
        ([(0, LAST + FIRST), (12, LAST)], False),
    ],
)
def test_a_definition_is_two_markers_in_order_among_the_first_words_of_flash(parts, is_missing):
    assert lacks(IMAGE_DEFINITION, *parts) == is_missing


def test_a_program_begins_after_its_second_stage():
    staged, bare = image([section(".boot", FLASH, STAGE)]), image([section(".text", FLASH, bytes(256))])
    assert vectors_at(staged, SECOND_STAGE, FLASH) == FLASH + 256
    assert {
        vectors_at(bare, SECOND_STAGE, FLASH),
        vectors_at(staged, IMAGE_DEFINITION, FLASH),
        vectors_at(staged, "", FLASH),
    } == {FLASH}
    assert lacks_boot_block(bare, SECOND_STAGE, FLASH) == "no second-stage boot code with its CRC in the first 256 bytes of flash"
    assert lacks_boot_block(bare, IMAGE_DEFINITION, FLASH) == "no image definition block in the first 4096 bytes of flash"
