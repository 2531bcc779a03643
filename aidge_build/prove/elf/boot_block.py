# SPDX-License-Identifier: MIT
"""The block in flash that the boot ROM of a chip requires before it starts a program.

`second-stage`: 256 bytes at the start of flash that set up the flash; the last four are a CRC of the first 252 (RP2040 datasheet,
2.8.1.3.1). `image-definition`: a block between two marker words in the first 4 KB (RP2350 datasheet, 5.9.1 and 5.9.5).
"""

from __future__ import annotations

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf.image import Image

SECOND_STAGE, IMAGE_DEFINITION = "second-stage", "image-definition"
BOOT_BLOCKS = (SECOND_STAGE, IMAGE_DEFINITION)
_SECOND_STAGE_BYTES, _SEARCHED_BYTES = 256, 4096
_POLYNOMIAL, _ALL_ONES = 0x04C11DB7, 0xFFFFFFFF
_FIRST_MARKER, _LAST_MARKER = (0xFFFFDED3).to_bytes(4, "little"), (0xAB123579).to_bytes(4, "little")


# The words of the smallest definition: an image for the Arm cores in secure state or for the RISC-V cores, then the end of the
# block, which links to itself (RP2350 datasheet, 5.9.5).
_FOR_ARM, _FOR_RISCV = 0x10210142, 0x11010142
_END_OF_BLOCK = (0x000001FF, 0x00000000)


def second_stage(code: bytes) -> bytes:
    """Returns the 256 bytes of a second stage with this code; AidgeError (BOARD) if it is longer than 252 bytes."""
    if len(code) > _SECOND_STAGE_BYTES - 4:
        raise AidgeError(
            f"a second stage has {_SECOND_STAGE_BYTES - 4} bytes, this one {len(code)}",
            where="boot_source",
            code="BOARD",
            hint="name a shorter program in the board's file",
        )
    content = code.ljust(_SECOND_STAGE_BYTES - 4, b"\0")
    return content + crc32_of(content).to_bytes(4, "little")


def image_definition(is_riscv: bool = False) -> bytes:
    """Returns the block that says that the program is for the Arm cores, and begins with its vector table, or that it is for the
    RISC-V cores, and begins with its first instruction."""
    words = (_FOR_RISCV if is_riscv else _FOR_ARM, *_END_OF_BLOCK)
    return _FIRST_MARKER + b"".join(word.to_bytes(4, "little") for word in words) + _LAST_MARKER


def lacks_boot_block(image: Image, kind: str, origin: int) -> str:
    """Returns which block the boot ROM misses in the flash that begins at `origin`; "" if the block is there or none is
    required."""
    if kind == SECOND_STAGE and not _has_second_stage(_stored(image, origin, _SECOND_STAGE_BYTES)):
        return f"no second-stage boot code with its CRC in the first {_SECOND_STAGE_BYTES} bytes of flash"
    if kind == IMAGE_DEFINITION and not _has_definition(_stored(image, origin, _SEARCHED_BYTES)):
        return f"no image definition block in the first {_SEARCHED_BYTES} bytes of flash"
    return ""


def vectors_at(image: Image, kind: str, origin: int) -> int:
    """Returns the address of the vector table that the chip starts from. Flash, or the board's memory of vectors, begins at
    `origin`; a second stage starts the program that follows it."""
    has_stage = kind == SECOND_STAGE and not lacks_boot_block(image, kind, origin)
    return origin + _SECOND_STAGE_BYTES if has_stage else origin


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
    """Returns the CRC-32 of the boot ROM: most significant bit first, initial value all ones, no reflection, no final
    inversion."""
    remainder = _ALL_ONES
    for byte in content:
        remainder ^= byte << 24
        for _ in range(8):
            remainder = (remainder << 1 ^ _POLYNOMIAL if remainder >> 31 else remainder << 1) & _ALL_ONES
    return remainder


def _has_definition(content: bytes) -> bool:
    words = [content[at : at + 4] for at in range(0, len(content), 4)]
    return _FIRST_MARKER in words and _LAST_MARKER in words[words.index(_FIRST_MARKER) :]
