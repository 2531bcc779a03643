# SPDX-License-Identifier: MIT
"""Counts instructions in Unicorn by a hook at each basic block: in C if this machine has a compiler, else in Python.

Never by a hook at each instruction: Unicorn leaves out the ones that an IT block skips.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator, Sequence

import numpy
import unicorn
from unicorn import arm_const
from unicorn.unicorn_py3 import unicorn as unicorn_library

from aidge_build.boards.flash import Cache
from aidge_build.prove.timing.estimate import OUTSIDE, Edge, Executed
from aidge_build.prove.timing.memory import WAITED, Caches, Lines, flash_regions
from aidge_build.prove.timing.reads import Piece, PieceCounts
from aidge_build.run.emulate.hook_structures import (
    LOOK,
    Block,
    CacheState,
    CountingState,
    EdgeCounts,
    Hook,
    LayerCounts,
    Memory,
    Pieces,
    Reads,
    Watch,
)
from aidge_build.run.emulate.native_code import shared_library
from aidge_build.run.emulate.program import Program
from aidge_build.run.emulate.python_counter import PythonCounter
from aidge_build.run.emulate.waits import FIRST_LOOK, NEVER


def make_counter(machine: unicorn.Uc, code: Sequence[tuple[int, mmap.mmap]], program: Program, layer_addresses: Sequence[int]):
    """A counter that watches `machine`; `code` is (origin, content) of each memory that may hold code.

    It has the attributes total, inside_run, before_main, runs, layers (a list), endless_loop (the address of a branch to itself),
    over_limit, reached, stops (any of these, or `asked`); of the runs that returned finished_runs, finished, fewest, most,
    finished_layers; `asked`, when it is set, stops the machine at its next block. With the timing of the program, `executed`
    returns the edges and flash lines that cycles depend on.
    """
    library = shared_library("unicorn_hook", program.work_folder)
    if library is None:
        return PythonCounter(machine, program, layer_addresses)
    return _NativeCounter(machine, code, program, layer_addresses, ctypes.CDLL(str(library)))


_MOST_EDGES, _EDGE_SLOTS = 1 << 18, 1 << 19  # the same values as in executed.h
_NO_LINE = 0xFFFFFFFF
_COUNTS = frozenset(str(field[0]) for field in CountingState._fields_ if field[1] in (ctypes.c_uint32, ctypes.c_uint64))


class _NativeCounter:
    def __init__(
        self,
        machine: unicorn.Uc,
        code: Sequence[tuple[int, mmap.mmap]],
        program: Program,
        layer_addresses: Sequence[int],
        library: ctypes.CDLL,
    ):
        self._layers = (LayerCounts * max(len(layer_addresses), 1))(*(LayerCounts(address) for address in layer_addresses))
        # Anonymous maps: pages of the tables that no block touches cost nothing.
        self._tables = [mmap.mmap(-1, len(content) // 2 * ctypes.sizeof(Block)) for _, content in code]
        flash = {first for first, _ in flash_regions(program.board)}
        self._memories = (Memory * len(code))(
            *(
                Memory(origin, len(content), origin in flash, _address_of(content), _address_of(table))
                for (origin, content), table in zip(code, self._tables, strict=True)
            )
        )
        counting = CountingState(
            limit=program.instruction_limit,
            run_address=program.run_address,
            main_address=program.main_address,
            step_address=program.step_address,
            until_address=program.until_address,
            wanted_runs=program.stops.inferences,
            current=-1,
            layer_count=len(layer_addresses),
            layers=self._layers,
        )
        engine = unicorn_library.uclib
        self._hook = Hook(
            counting=counting,
            memory_count=len(code),
            link_register=arm_const.UC_ARM_REG_LR,
            stack_register=arm_const.UC_ARM_REG_SP,
            memories=self._memories,
            read_register=_function_address(engine.uc_reg_read),
            stop=_function_address(engine.uc_emu_stop),
            look_at=NEVER,
        )
        self._library = library
        self._watches: list[Watch] = []
        if program.timing:
            self._follow(machine, program.timing.caches, flash_regions(program.board))
            self._tell_apart(machine, program.timing.pieces)
        _add_hook(machine, unicorn.UC_HOOK_BLOCK, library.aidge_block_hook, self._hook, 1, 0)

    def _follow(self, machine: unicorn.Uc, caches: Sequence[Caches], flash: Sequence[tuple[int, int]]) -> None:
        """Counts edges between blocks and lines of flash."""
        self._edges = mmap.mmap(-1, _MOST_EDGES * ctypes.sizeof(EdgeCounts)), mmap.mmap(-1, _EDGE_SLOTS * 4)
        self._hook.executed.edges, self._hook.executed.slots = map(_address_of, self._edges)
        rows = self._hook.counting.layer_count + 1
        self._reads = (Reads * len(caches))(*(_reads(each, rows) for each in caches))
        self._hook.reads, self._hook.read_count, self._hook.counts_edges = self._reads, len(caches), 1
        for first, last in flash:
            _add_hook(machine, unicorn.UC_HOOK_MEM_READ, self._library.aidge_read_hook, self._hook, first, last)

    def _tell_apart(self, machine: unicorn.Uc, pieces: Sequence[Piece]) -> None:
        """Counts reads of each piece, in each layer."""
        self._piece_count = len(pieces)
        if not pieces:
            return
        begins = (ctypes.c_uint32 * len(pieces))(*(piece.begin for piece in pieces))
        rows = (self._hook.counting.layer_count + 1) * len(pieces)
        self._hook.pieces = Pieces(len(pieces), begins, _counts(rows * WAITED), _counts(rows), _counts(rows))
        _add_hook(machine, unicorn.UC_HOOK_MEM_READ, self._library.aidge_load_hook, self._hook, 1, 0)

    def _piece_counts(self) -> dict[tuple[int, int], PieceCounts]:
        counts, found, number = self._hook.pieces, dict[tuple[int, int], PieceCounts](), self._piece_count
        for row in range((self._hook.counting.layer_count + 1) * number):
            waited = counts.waited[row * WAITED : (row + 1) * WAITED]
            if any(waited) or counts.data_bytes[row]:
                key = OUTSIDE + row // number, row % number
                found[key] = PieceCounts(waited, counts.data_lines[row], counts.data_bytes[row])
        return found

    def executed(self, finished: bool) -> Executed | None:
        """Returns the edges and flash lines of all runs, or of the runs that returned. None without timing or if the table is
        full."""
        hook = self._hook
        if not hook.counts_edges or hook.executed.is_full:
            return None
        found = (EdgeCounts * hook.executed.count).from_buffer(self._edges[0])
        counts = [(one, one.finished if finished else one.count) for one in found]
        edges = tuple(Edge(one.origin, one.from_size, one.address, one.size, one.layer, count) for one, count in counts if count)
        layers = range(OUTSIDE, hook.counting.layer_count)
        lines = tuple(_lines(one, layers, finished) for one in self._reads)
        return Executed(edges, lines, {} if finished else self._piece_counts())

    def watch(self, machine: unicorn.Uc, origin: int, length: int) -> mmap.mmap:
        """Returns a map of `length` bytes from address `origin` on; a byte that a run writes becomes 1."""
        written = mmap.mmap(-1, max(length, 1))
        self._watches.append(Watch(ctypes.addressof(self._hook.counting), origin, length, _address_of(written)))
        _add_hook(
            machine, unicorn.UC_HOOK_MEM_WRITE, self._library.aidge_write_hook, self._watches[-1], origin, origin + length - 1
        )
        return written

    def watch_stack(self, machine: unicorn.Uc, regions: Sequence[tuple[int, int]]) -> None:
        """Starts `stack_used`: how far below its entry the shortest run stored something in these regions."""
        for first, last in regions:
            _add_hook(machine, unicorn.UC_HOOK_MEM_WRITE, self._library.aidge_stack_hook, self._hook, first, last)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yields (address, bytes) of the blocks that were executed."""
        for memory, table in zip(self._memories, self._tables, strict=True):
            sizes = numpy.frombuffer(table, numpy.uint16)[:: ctypes.sizeof(Block) // 2]
            yield from ((memory.origin + 2 * int(at), int(sizes[at])) for at in sizes.nonzero()[0])

    def watch_waits(self, waits: Callable[[int], bool]) -> None:
        """Calls `waits` now and then between runs, with the address of the next block, and stops the machine on True."""

        def look(address: int) -> None:
            self._hook.look_at = 2 * self.total
            if waits(address):
                self.ask_to_stop()

        self._hook.look_at, self._hook.look = FIRST_LOOK, LOOK(look)

    @property
    def layers(self) -> list[int]:
        """Returns the instructions for each layer address."""
        return [self._layers[index].instructions for index in range(self._hook.counting.layer_count)]

    @property
    def layer_steps(self) -> list[int]:
        """The longest step of each layer address."""
        return [self._layers[index].longest_step for index in range(self._hook.counting.layer_count)]

    @property
    def finished_layers(self) -> list[int]:
        """Returns the instructions for each layer address, in the runs that returned."""
        return [self._layers[index].finished for index in range(self._hook.counting.layer_count)]

    @property
    def stops(self) -> bool:
        """Whether the program is to be stopped."""
        return bool(self.endless_loop or self.over_limit or self.reached or self.asked)

    def ask_to_stop(self) -> None:
        """Stops the run; callable from another thread."""
        self._hook.counting.asked = 1

    def __getattr__(self, name: str) -> int:
        if name in _COUNTS:
            return getattr(self._hook.counting, name)
        raise AttributeError(name)


def _counts(number: int):
    return (ctypes.c_uint64 * number)()


def _reads(caches: Caches, rows: int) -> Reads:
    code = _cache(caches.code) if caches.code else CacheState()
    data = code if caches.is_shared else _cache(caches.data)
    counts = [_counts(number) for number in (rows * WAITED, rows, rows * WAITED, rows)]
    return Reads(code, data, caches.prefetches, _NO_LINE, _NO_LINE, 0, *counts)


def _cache(cache: Cache) -> CacheState:
    lines = cache.sets * cache.ways
    return CacheState(cache.line_bytes, cache.sets, cache.ways, (ctypes.c_uint32 * lines)(*[_NO_LINE] * lines))


def _lines(reads: Reads, layers: range, finished: bool) -> Lines:
    waited, data_lines = (reads.finished_waited, reads.finished_data_lines) if finished else (reads.waited, reads.data_lines)
    rows = {layer: waited[(layer - OUTSIDE) * WAITED : (layer - OUTSIDE + 1) * WAITED] for layer in layers}
    data = {layer: data_lines[layer - OUTSIDE] for layer in layers}
    return Lines(
        {layer: row for layer, row in rows.items() if any(row)}, {layer: lines for layer, lines in data.items() if lines}
    )


def _add_hook(machine: unicorn.Uc, kind: int, function, data: ctypes.Structure, first: int, last: int) -> None:
    """Registers a function of the library for addresses from `first` to `last` (all addresses if `last` is smaller)."""
    handle = ctypes.c_size_t()
    called, given = ctypes.cast(function, ctypes.c_void_p), ctypes.cast(ctypes.byref(data), ctypes.c_void_p)
    status = unicorn_library.uclib.uc_hook_add(
        machine._uch, ctypes.byref(handle), ctypes.c_int(kind), called, given, ctypes.c_uint64(first), ctypes.c_uint64(last)
    )
    if status != unicorn.UC_ERR_OK:
        raise unicorn.UcError(status)


def _address_of(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _function_address(function) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value
