# SPDX-License-Identifier: MIT
"""Cycles of layers, from the counts of an emulator: edges between basic blocks, and lines of flash.

The cycles of a layer are the stalls of the flash plus a sum over its edges: the exact count of the edge times the cycles of its
second block after its first block, by the core's timing table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import NamedTuple

from aidge_build.prove.timing.instructions import Instruction
from aidge_build.prove.timing.memory import Caches, Lines, caches_of, fetch_stalls
from aidge_build.prove.timing.pipeline import block_cycles
from aidge_build.prove.timing.reads import Piece, PieceCounts, Reads, piece_at
from aidge_build.prove.timing.table import TimingTable

OUTSIDE = -1  # the layer number of code between the layers


class Edge(NamedTuple):
    """A block of `size` bytes at `address` that ran `times` in a layer, after the block of `from_size` bytes at `origin`."""

    origin: int
    from_size: int
    address: int
    size: int
    layer: int
    times: int


@dataclass(frozen=True)
class Executed:
    """The counts of the runs: edges between blocks, and lines of flash through each of the caches of the timing; () if lines were
    not counted. `pieces` are the reads of a layer from each piece of the timing, by (layer, number of the piece)."""

    edges: tuple[Edge, ...]
    lines: tuple[Lines, ...]
    pieces: Mapping[tuple[int, int], PieceCounts] = field(default_factory=dict)


@dataclass(frozen=True)
class Cycles:
    """Estimated cycles of a layer or of whole runs, summed over all runs; None if unknown.

    `core` are the cycles without stalls; the stalls are for code and for constants in flash. `uncached` are all stalls without
    the cache of an external flash, `data_lines` the number of reads of data lines that no cache held.
    """

    core: int
    code_stalls: int | None = None
    data_stalls: int | None = None
    uncached: int | None = None
    data_lines: int | None = None

    @property
    def total(self) -> int:
        """The cycles with the known stalls."""
        return self.core + (self.code_stalls or 0) + (self.data_stalls or 0)

    @property
    def total_uncached(self) -> int | None:
        """The cycles without the cache of an external flash; None if there is no such cache."""
        return None if self.uncached is None else self.core + self.uncached

    @property
    def are_complete(self) -> bool:
        """Whether the stalls of the flash are known."""
        return self.code_stalls is not None and self.data_stalls is not None


@dataclass(frozen=True)
class Timing:
    """Everything except counts that the cycles of a program depend on: the core's table (None: only the flash is known), the
    program's instructions by address, the caches of the flash, and the cycles of a line that no cache holds (None: unknown).
    `pieces` divide the reads of layers; () without a report of reads."""

    table: TimingTable | None
    instructions: Mapping[int, Instruction] = field(repr=False)
    caches: tuple[Caches, ...] = caches_of(None)
    stall_cycles: int | None = None
    pieces: tuple[Piece, ...] = field(default=(), repr=False)

    def cycles(self, executed: Executed, layers: Sequence[int]) -> tuple[Cycles | None, dict[int, Cycles]]:
        """Returns the cycles of all runs, and of each of these layers; None without a table."""
        if self.table is None:
            return None, {}
        core, counts = _core_cycles(self.table, self.instructions, executed.edges)
        found = {layer: self._with_stalls(executed, layer, core.get(layer, 0), counts.get(layer, 0)) for layer in layers}
        outside = self._with_stalls(executed, OUTSIDE, core.get(OUTSIDE, 0), counts.get(OUTSIDE, 0))
        return sum_cycles([outside, *found.values()]), found

    def reads(self, executed: Executed, names: Mapping[int, str], runs: int) -> tuple[Reads, ...]:
        """Returns the reads of the layers in `names`, and of the code around them (""), from each piece, in so many runs; ()
        without pieces."""
        if not self.pieces or not executed.pieces:
            return ()
        core, counts = _core_cycles(self.table, self.instructions, executed.edges) if self.table else ({}, {})
        begins, nothing = [piece.begin for piece in self.pieces], PieceCounts((), 0, 0)
        blocks = dict[tuple[int, int], dict[tuple[int, int], int]]()
        for edge in executed.edges:
            times = blocks.setdefault((edge.layer, piece_at(begins, edge.address)), {})
            block = edge.address, edge.address + edge.size
            times[block] = times.get(block, 0) + edge.times
        found = []
        for layer, number in sorted(blocks.keys() | executed.pieces.keys()):
            times, piece = blocks.get((layer, number), {}), self.pieces[number]
            count = executed.pieces.get((layer, number), nothing)
            code_bytes = sum((end - begin) * each for (begin, end), each in times.items())
            hot_bytes = _distinct_bytes(block for block, each in times.items() if each > runs)
            per_instruction = core[layer] / counts[layer] if counts.get(layer) else 1.0
            for_code, for_data = self._stalls_of(count, per_instruction) if piece.is_flash else (0, 0)
            place = names.get(layer, ""), piece.memory, piece.symbol
            found.append(Reads(*place, code_bytes, count.data_bytes, for_code, for_data, hot_bytes))
        return tuple(found)

    def _stalls_of(self, count: PieceCounts, per_instruction: float) -> tuple[float | None, int | None]:
        """Returns the stall cycles for code and for data."""
        stall = self.stall_cycles
        if not stall:
            return stall, stall
        knows_code = self.caches[0].code is not None
        return fetch_stalls(count.waited, stall, per_instruction) if knows_code else None, count.data_lines * stall

    def _with_stalls(self, executed: Executed, layer: int, core: int, instructions: int) -> Cycles:
        data_lines = executed.lines[0].data.get(layer, 0) if executed.lines else None
        if self.stall_cycles == 0:
            return Cycles(core, 0, 0, None, data_lines)
        if self.stall_cycles is None or not executed.lines:
            return Cycles(core, None, None, None, data_lines)
        per_instruction = core / instructions if instructions else 1.0
        stalls = [
            (
                round(fetch_stalls(lines.code.get(layer, ()), self.stall_cycles, per_instruction)) if caches.code else None,
                lines.data.get(layer, 0) * self.stall_cycles,
            )
            for caches, lines in zip(self.caches, executed.lines, strict=True)
        ]
        code, data = stalls[0]
        return Cycles(core, code, data, sum(filter(None, stalls[1])) if len(stalls) > 1 else None, data_lines)


def sum_cycles(parts: Sequence[Cycles]) -> Cycles:
    """Returns the cycles of all parts; a number is unknown if one part does not know it."""
    added = [None if None in column else sum(column) for column in zip(*map(astuple, parts), strict=True)]
    return Cycles(sum(part.core for part in parts), *added[1:])


def _core_cycles(
    table: TimingTable, program: Mapping[int, Instruction], edges: Sequence[Edge]
) -> tuple[dict[int, int], dict[int, int]]:
    """Returns the cycles without stalls, and the instructions, by layer."""
    blocks: dict[tuple[int, int], tuple[Instruction, ...]] = {}
    known: dict[tuple[int, int, int, int], int] = {}
    cycles: dict[int, int] = {}
    instructions: dict[int, int] = {}

    def block(address: int, size: int) -> tuple[Instruction, ...]:
        if (address, size) not in blocks:
            blocks[address, size] = tuple(_between(program, address, address + size))
        return blocks[address, size]

    for edge in edges:
        key = edge[:4]
        code = block(edge.address, edge.size)
        if key not in known:
            before = block(edge.origin, edge.from_size)
            is_next = bool(before) and before[-1].next == edge.address
            known[key] = block_cycles(table, before, code, not is_next)
        cycles[edge.layer] = cycles.get(edge.layer, 0) + known[key] * edge.times
        instructions[edge.layer] = instructions.get(edge.layer, 0) + len(code) * edge.times
    return cycles, instructions


def _distinct_bytes(blocks: Iterable[tuple[int, int]]) -> int:
    """Returns the bytes that blocks cover; they may overlap."""
    count = reached = 0
    for begin, end in sorted(blocks):
        count += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return count


def _between(instructions: Mapping[int, Instruction], begin: int, end: int) -> Iterator[Instruction]:
    """Yields the instructions of a block. `end` may be in the middle of one that lies across a page: the next block begins with
    it."""
    while begin < end:
        found = instructions.get(begin)
        if found is not None and found.next <= end:
            yield found
        begin = found.next if found is not None else begin + 2
