# SPDX-License-Identifier: MIT
"""A linked program as files that flash tools and the drives of boards take: the plain bytes, and Intel HEX.

Source: Intel, "Hexadecimal Object File Format Specification", revision A, 1988.
"""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.prove.elf.image import Image

_ERASED = b"\xff"
_DATA, _END, _UPPER_ADDRESS = 0, 1, 4
_RECORD, _SEGMENT = 16, 1 << 16


def binary_of(image: Image) -> bytes:
    """Returns the stored bytes from the first to the last; gaps hold 0xff as in erased flash."""
    found = bytearray()
    stored = _stored(image)
    for address, content in stored:
        found += _ERASED * (address - stored[0][0] - len(found)) + content
    return bytes(found)


def hex_of(image: Image) -> bytes:
    """Returns the stored bytes as Intel HEX: records of 16 bytes with their addresses."""
    lines, upper = [], None
    for address, content in _stored(image):
        for start, record in _records(address, content):
            if start // _SEGMENT != upper:
                upper = start // _SEGMENT
                lines.append(_line(_UPPER_ADDRESS, 0, upper.to_bytes(2, "big")))
            lines.append(_line(_DATA, start % _SEGMENT, record))
    lines.append(_line(_END, 0, b""))
    return "".join(f"{line}\r\n" for line in lines).encode()


def _stored(image: Image) -> list[tuple[int, bytes]]:
    found = [(section.load_address, section.content) for section in image.sections if section.load_address is not None]
    return sorted(found)


def _records(address: int, content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the content in pieces that end at multiples of 16."""
    end = address + len(content)
    while address < end:
        size = min(_RECORD - address % _RECORD, end - address)
        yield address, content[len(content) - (end - address) :][:size]
        address += size


def _line(kind: int, address: int, content: bytes) -> str:
    """Returns a record; its last byte makes the sum of all its bytes 0."""
    record = bytes([len(content), address >> 8, address & 0xFF, kind]) + content
    return f":{(record + bytes([-sum(record) & 0xFF])).hex().upper()}"
