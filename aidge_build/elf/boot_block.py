# SPDX-License-Identifier: MIT
"""What the boot ROM of a chip wants to find in flash before it starts a program, beside the program.

`second-stage`: 256 bytes at the start of flash that set it up, of which the last four are a CRC of the others (RP2040 datasheet,
2.8.1.3.1). `image-definition`: a block between two marker words in the first 4 KB (RP2350 datasheet, 5.9.1 and 5.9.5).
"""

from __future__ import annotations

from aidge_build.elf.image import Image

SECOND_STAGE, IMAGE_DEFINITION = "second-stage", "image-definition"
BOOT_BLOCKS = (SECOND_STAGE, IMAGE_DEFINITION)
_SECOND_STAGE_BYTES, _SEARCHED_BYTES = 256, 4096
_POLYNOMIAL, _ALL_ONES = 0x04C11DB7, 0xFFFFFFFF
_FIRST_MARKER, _LAST_MARKER = (0xFFFFDED3).to_bytes(4, "little"), (0xAB123579).to_bytes(4, "little")


def lacks_boot_block(image: Image, kind: str, origin: int) -> str:
    """What the boot ROM does not find in flash, which begins at `origin`; "" where it finds it or wants nothing."""
    if kind == SECOND_STAGE and not _has_second_stage(_stored(image, origin, _SECOND_STAGE_BYTES)):
        return f"no second-stage boot code with its CRC in the first {_SECOND_STAGE_BYTES} bytes of flash"
    if kind == IMAGE_DEFINITION and not _has_definition(_stored(image, origin, _SEARCHED_BYTES)):
        return f"no image definition block in the first {_SEARCHED_BYTES} bytes of flash"
    return ""


def _stored(image: Image, origin: int, size: int) -> bytes:
    content = bytearray(size)
    for section in image.sections:
        if section.load_address is None or not section.content:
            continue
        begin = section.load_address - origin
        for at in range(max(begin, 0), min(begin + len(section.content), size)):
            content[at] = section.content[at - begin]
    return bytes(content)


def _has_second_stage(content: bytes) -> bool:
    return crc32_of(content[:-4]) == int.from_bytes(content[-4:], "little")


def crc32_of(content: bytes) -> int:
    """The CRC of the boot ROM: bits from the highest down, all ones to begin with, nothing reflected or inverted."""
    remainder = _ALL_ONES
    for byte in content:
        remainder ^= byte << 24
        for _ in range(8):
            remainder = (remainder << 1 ^ _POLYNOMIAL if remainder >> 31 else remainder << 1) & _ALL_ONES
    return remainder


def _has_definition(content: bytes) -> bool:
    words = [content[at : at + 4] for at in range(0, len(content), 4)]
    return _FIRST_MARKER in words and _LAST_MARKER in words[words.index(_FIRST_MARKER) :]
