# SPDX-License-Identifier: MIT
"""Puts a program into the memories of a board: flash as the server's map says, the rest as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf.image import Image
from aidge_build.run.probe.target import Target

_MEMORY = re.compile(rb"<memory\s([^>]*?)(?:/>|>(.*?)</memory>)", re.DOTALL)
_ATTRIBUTE = re.compile(rb"(\w+)\s*=\s*[\"']([^\"']*)[\"']")
_BLOCK_SIZE = re.compile(rb"<property\s+name\s*=\s*[\"']blocksize[\"']\s*>\s*([0-9a-fA-Fx]+)\s*<")
_FLASH_SECONDS = 60.0  # to erase a large sector, or all of them, takes a while
_LARGEST_MAP_BYTES = 1 << 20
_LEAST_BLOCK_BYTES = 1


@dataclass(frozen=True)
class FlashMemory:
    """A memory that is erased in blocks before it is written."""

    origin: int
    length_bytes: int
    block_bytes: int

    @property
    def end(self) -> int:
        """The first address after the memory."""
        return self.origin + self.length_bytes

    def blocks(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields (address, bytes) of each block that holds some of these bytes."""
        first = self.origin + (start - self.origin) // self.block_bytes * self.block_bytes
        for address in range(first, end, self.block_bytes):
            yield address, min(self.block_bytes, self.end - address)


@dataclass(frozen=True)
class Piece:
    """Bytes of the program and their load address."""

    address: int
    content: bytes

    @property
    def end(self) -> int:
        """The first address after the bytes."""
        return self.address + len(self.content)


def pieces_of(image: Image) -> tuple[Piece, ...]:
    """Returns the bytes that a loader stores, by address."""
    found = [
        Piece(section.load_address, section.content)
        for section in image.sections
        if section.content and section.load_address is not None
    ]
    return tuple(sorted(found, key=lambda piece: piece.address))


def load(target: Target, image: Image) -> int:
    """Writes the parts of the program that differ from the board's memory, and reads them back; returns the bytes that were
    written.

    AidgeError (PROBE) if a memory cannot be written, or does not hold the bytes afterwards.
    """
    differing = [piece for piece in pieces_of(image) if not _holds(target, piece)]
    if not differing:
        return 0
    flash = flash_map(target)
    stored = [piece for piece in differing if _memory_of(piece, flash)]
    _write_flash(target, flash, stored, pieces_of(image))
    for piece in differing:
        if piece not in stored:
            target.write(piece.address, piece.content)
    for piece in differing:
        if not _holds(target, piece):
            raise target.failure(
                f"{len(piece.content):,} B at 0x{piece.address:08x} do not hold the program after they were written",
                "a protected flash, or a server that cannot write it: load the program with aidge-build flash",
            )
    return sum(len(piece.content) for piece in differing)


def _holds(target: Target, piece: Piece) -> bool:
    """Whether the memory holds these bytes already."""
    try:
        return target.read(piece.address, len(piece.content)) == piece.content
    except AidgeError:
        if target.is_lost:
            raise
        return False  # the write may report why it cannot be read


def flash_map(target: Target) -> tuple[FlashMemory, ...]:
    """Returns the flash that the server can write; () if the server lists no memories."""
    if target.remote.features.get("qXfer:memory-map:read") != "+":
        return ()
    return tuple(_flash_of(_document(target)))


def _document(target: Target) -> bytes:
    found, size = bytearray(), target.remote.packet_bytes - 16
    while len(found) < _LARGEST_MAP_BYTES:
        answer = target.query(b"qXfer:memory-map:read::%x,%x" % (len(found), size))
        if answer[:1] not in (b"m", b"l"):
            return b""
        found += answer[1:]
        if answer[:1] == b"l" or len(answer) == 1:
            break
    return bytes(found)


def _flash_of(document: bytes) -> Iterator[FlashMemory]:
    for match in _MEMORY.finditer(document):
        attributes = {name: value for name, value in _ATTRIBUTE.findall(match[1])}
        if attributes.get(b"type") != b"flash":
            continue
        block = _BLOCK_SIZE.search(match[2] or b"")
        try:
            origin, length = (int(attributes[name], 0) for name in (b"start", b"length"))
            block_bytes = int(block[1], 0) if block else length
        except (KeyError, ValueError):
            continue
        if length > 0 and block_bytes >= _LEAST_BLOCK_BYTES:
            yield FlashMemory(origin, length, block_bytes)


def _memory_of(piece: Piece, flash: Sequence[FlashMemory]) -> FlashMemory | None:
    return next((memory for memory in flash if memory.origin <= piece.address and piece.end <= memory.end), None)


def _write_flash(target: Target, flash: Sequence[FlashMemory], stored: Sequence[Piece], program: Sequence[Piece]) -> None:
    """Erases the blocks of `stored`, and writes all of the program that lay in them."""
    if not stored:
        return
    places = [(piece, memory) for piece in stored if (memory := _memory_of(piece, flash)) is not None]
    erased = sorted({block for piece, memory in places for block in memory.blocks(piece.address, piece.end)})
    for address, size in erased:
        target.require(
            b"vFlashErase:%x,%x" % (address, size), f"flash at 0x{address:08x} is not erased", _PROTECTED, _FLASH_SECONDS
        )
    gone = [piece for piece in program if any(at < piece.end and piece.address < at + size for at, size in erased)]
    most = (target.remote.packet_bytes - 32) // 2  # each byte may need an escape
    for piece in gone:
        for start in range(0, len(piece.content), most):
            part, at = piece.content[start : start + most], piece.address + start
            target.require(b"vFlashWrite:%x:" % at + part, f"flash at 0x{at:08x} is not written", _PROTECTED, _FLASH_SECONDS)
    target.require(b"vFlashDone", "flash is not written", _PROTECTED, _FLASH_SECONDS)


_PROTECTED = "is it protected? aidge-build flash writes it with the runner's own command"
