# SPDX-License-Identifier: MIT
"""The UF2 format (github.com/microsoft/uf2, README): addressed blocks of 512 bytes that a boot loader takes as a file."""

from __future__ import annotations

import struct

from aidge_build.prove.elf.image import Image

_FIRST_MAGIC, _SECOND_MAGIC, _LAST_MAGIC = 0x0A324655, 0x9E5D5157, 0x0AB16F30
_FAMILY_FLAG = 0x00002000
_PAYLOAD = 256


def uf2_of(image: Image, family: int) -> bytes:
    """Returns the stored sections of `image` for chips of `family`, in whole pages that are filled with zeros."""
    pages: dict[int, bytearray] = {}
    for section in image.sections:
        for offset, byte in enumerate(section.content if section.load_address is not None else b""):
            address = section.load_address + offset
            pages.setdefault(address // _PAYLOAD * _PAYLOAD, bytearray(_PAYLOAD))[address % _PAYLOAD] = byte
    blocks = []
    for number, (address, page) in enumerate(sorted(pages.items())):
        header = struct.pack("<8I", _FIRST_MAGIC, _SECOND_MAGIC, _FAMILY_FLAG, address, _PAYLOAD, number, len(pages), family)
        blocks.append(header + bytes(page) + bytes(476 - _PAYLOAD) + struct.pack("<I", _LAST_MAGIC))
    return b"".join(blocks)
