# SPDX-License-Identifier: MIT
"""Reads of layers by memory and by symbol: bytes of executed code, bytes of data, and their stalls."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aidge_build.boards.board import Board
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.regions import region_at


class Piece(NamedTuple):
    """A stretch of addresses from `begin` to the next piece: of a memory ("" for none), and of a function or constant of the
    program ("" for neither)."""

    begin: int
    memory: str
    symbol: str
    is_flash: bool


class PieceCounts(NamedTuple):
    """The reads of a layer from one piece: lines of flash that the board's caches did not hold, and all loaded bytes.

    `waited` counts lines of code by the instructions since their prefetch began, `data_lines` are lines of data."""

    waited: Sequence[int]
    data_lines: int
    data_bytes: int


@dataclass(frozen=True)
class Reads:
    """Reads of a layer from one symbol of one memory, summed over all runs; `layer` is "" for the code around the layers.

    `code_bytes` are bytes of executed instructions, `data_bytes` bytes that instructions loaded. Stalls are cycles; None without
    a description of the flash. `hot_bytes` are the bytes of code that an inference executes more than once."""

    layer: str
    memory: str
    symbol: str
    code_bytes: int
    data_bytes: int
    code_stalls: float | None
    data_stalls: int | None
    hot_bytes: int = 0

    @property
    def stalls(self) -> float:
        """All known stalls, in cycles."""
        return (self.code_stalls or 0) + (self.data_stalls or 0)


def pieces_of(image: Image, board: Board) -> tuple[Piece, ...]:
    """Returns the pieces of a program in the memories of a board, by address; the first one begins at 0."""
    begins = {0, *(address for region in board.regions for address in (region.origin, region.end))}
    named: dict[int, tuple[int, str]] = {}
    for symbol in image.symbols:
        if symbol.kind in ("function", "object") and symbol.size_bytes and region_at(symbol.address, board.regions):
            end = symbol.end
            named[symbol.address] = max((end, symbol.name), named.get(symbol.address, (0, "")))
            begins |= {symbol.address, end}
    found, end, name = [], 0, ""
    for begin in sorted(begins):
        if begin in named:
            end, name = named[begin]
        region = region_at(begin, board.regions)
        is_flash = region is not None and region.kind == "flash"
        found.append(Piece(begin, region.name if region else "", name if begin < end else "", is_flash))
    return tuple(found)


def piece_at(begins: Sequence[int], address: int) -> int:
    """Returns the number of the piece that holds an address; `begins` are the first addresses of all pieces."""
    return bisect_right(begins, address) - 1
