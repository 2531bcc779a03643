# SPDX-License-Identifier: MIT
"""Stalls of a flash: lines that code and constants come from, through caches, in the order of execution.

The rules, in C in `emulate/lines.h` and here for machines without a C compiler:

1. A read of a line that no cache holds waits for the wait states of the flash. Every cache replaces the line of its set that was
   used least recently (the chips with another policy are not told apart).
2. With prefetch the flash reads the next line when the core begins a line. If the next line is needed after n instructions,
   the core waits for the part of 1 + wait states cycles that these instructions did not cover.
3. Each data access reads one line, and no line of data is read ahead. Code and data do not wait for each other.
4. A line that was read ahead is kept by the cache like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aidge_build.boards.board import Board
from aidge_build.boards.flash import Cache, Flash
from aidge_build.prove.timing.reads import PieceCounts, piece_at

WAITED = 32  # bins of instructions between the start of a prefetch and the use of its line; 0: no prefetch
_NO_LINE = 0xFFFFFFFF
_DEFAULT_LINE = Cache(16, 1, 16)  # a flash of 128 bits without a cache


@dataclass(frozen=True)
class Caches:
    """The caches between a core and its flash, for code (None: no line of code is counted) and for data; `is_shared`: both are
    one cache."""

    code: Cache | None
    data: Cache
    is_shared: bool
    prefetches: bool


class Lines(NamedTuple):
    """Lines of flash that no cache held, by layer: of code, by the instructions since their prefetch began; of data."""

    code: Mapping[int, Sequence[int]]
    data: Mapping[int, int]


def caches_of(flash: Flash | None) -> tuple[Caches, ...]:
    """Returns the caches of a board's flash; for an external flash also the single line buffers without caches. Without a
    description of the flash, no line of code is counted, and lines of data have 16 bytes."""
    if flash is None:
        return (Caches(None, _DEFAULT_LINE, is_shared=False, prefetches=False),)
    one_line = Cache(flash.line_bytes, 1, flash.line_bytes)
    found = Caches(flash.code_cache or one_line, flash.data_cache or one_line, flash.is_shared, flash.prefetches)
    return (found, Caches(one_line, one_line, is_shared=False, prefetches=False)) if flash.is_external else (found,)


def fetch_stalls(waited: Sequence[int], wait_states: int, cycles_per_instruction: float) -> float:
    """Returns the cycles that the core waits for lines of code: `waited` counts lines by the instructions since their prefetch
    began."""
    covered = [min(max(wait_states + 1 - number * cycles_per_instruction, 0.0), wait_states) for number in range(len(waited))]
    return sum(lines * stall for lines, stall in zip(waited, covered, strict=True))


class LineCache:
    """The lines that a cache holds."""

    def __init__(self, cache: Cache):
        self.line_bytes = cache.line_bytes
        self._sets: list[list[int]] = [[_NO_LINE] * cache.ways for _ in range(cache.sets)]

    def has(self, line: int) -> bool:
        """Whether the cache holds the line."""
        return line in self._sets[line % len(self._sets)]

    def read(self, line: int) -> bool:
        """Reads a line into the cache. Returns whether the cache held it before."""
        lines = self._sets[line % len(self._sets)]
        is_there = line in lines
        lines.remove(line if is_there else lines[-1])
        lines.insert(0, line)
        return is_there


class FlashReads:
    """The lines of flash that a program reads through caches."""

    def __init__(self, caches: Caches, begins: Sequence[int] = ()):
        """`begins` are the first addresses of the pieces that divide the counts."""
        self._begins = begins
        self._block = 0  # the address of the last one
        self._waited_of: dict[tuple[int, int], list[int]] = {}
        self._data_of: dict[tuple[int, int], list[int]] = {}  # lines and bytes
        self._code = LineCache(caches.code) if caches.code else None
        self._data = self._code if self._code and caches.is_shared else LineCache(caches.data)
        self._prefetches = caches.prefetches
        self._line = self._ahead = _NO_LINE
        self._since = 0
        self._waited: dict[int, list[int]] = {}
        self._data_lines: dict[int, int] = {}

    @property
    def lines(self) -> Lines:
        """The current counts."""
        return Lines({layer: list(lines) for layer, lines in self._waited.items()}, dict(self._data_lines))

    @property
    def pieces(self) -> dict[tuple[int, int], PieceCounts]:
        """The current counts of each layer and piece."""
        none = [0] * WAITED, [0, 0]
        keys = sorted(self._waited_of.keys() | self._data_of.keys())
        return {key: PieceCounts(self._waited_of.get(key, none[0]), *self._data_of.get(key, none[1])) for key in keys}

    def load(self, address: int, size: int, layer: int | None) -> None:
        """Counts bytes that the core loads from any memory, by piece."""
        if layer is not None:
            self._data_piece(address, layer)[1] += size

    def _data_piece(self, address: int, layer: int) -> list[int]:
        return self._data_of.setdefault((layer, piece_at(self._begins, address)), [0, 0])

    def data(self, address: int, layer: int | None) -> None:
        """Counts a read of data by the core; with `layer` None only the cache changes."""
        if not self._data.read(address // self._data.line_bytes) and layer is not None:
            self._data_lines[layer] = self._data_lines.get(layer, 0) + 1
            if self._begins:
                self._data_piece(address, layer)[0] += 1

    def block(self, address: int, sizes: Sequence[int], layer: int | None) -> None:
        """Counts instructions of these sizes in bytes, from `address` on; with `layer` None only the cache changes."""
        if self._code is None:
            return
        line_bytes, at = self._code.line_bytes, address
        self._block = address
        for size in sizes:
            self._fetch(self._code, at // line_bytes, 1, layer)
            at += size
        self._fetch(self._code, (at - 1) // line_bytes, 0, layer)

    def _fetch(self, cache: LineCache, line: int, instructions: int, layer: int | None) -> None:
        if line != self._line:
            if not cache.read(line) and layer is not None:
                since = min(self._since, WAITED - 1) if line == self._ahead else 0
                self._waited.setdefault(layer, [0] * WAITED)[since] += 1
                if self._begins:
                    key = layer, piece_at(self._begins, self._block)
                    self._waited_of.setdefault(key, [0] * WAITED)[since] += 1
            self._ahead = line + 1 if self._prefetches and not cache.has(line + 1) else _NO_LINE
            self._line, self._since = line, 0
        self._since += instructions


def flash_regions(board: Board) -> list[tuple[int, int]]:
    """Returns (first address, last address) of each flash of the board."""
    return [(region.origin, region.end - 1) for region in board.regions if region.kind == "flash"]
