# SPDX-License-Identifier: MIT
"""Counts instructions in Unicorn by a hook at each basic block: in C where this machine has a compiler, else in Python.

Never by a hook at each instruction: Unicorn leaves out the ones that an IT block skips.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence

import unicorn
from unicorn import arm_const
from unicorn.unicorn_py3 import unicorn as unicorn_library

from aidge_build.emulate.counting import Counting, Flow, ends_conditional, thumb_sizes
from aidge_build.emulate.native_code import shared_library
from aidge_build.emulate.program import Program
from aidge_build.flash import Cache
from aidge_build.timing.estimate import OUTSIDE, Edge, Executed
from aidge_build.timing.memory import WAITED, Caches, Lines, flash_regions

_IT_STATE = 0x0600FC00  # of XPSR
_FIRST_LOOK, _NEVER = 1 << 24, (1 << 64) - 1  # instructions


def make_counter(machine: unicorn.Uc, code: Sequence[tuple[int, mmap.mmap]], program: Program, layer_addresses: Sequence[int]):
    """A counter that watches `machine`; `code` is (origin, content) of each memory that may hold code.

    It has the attributes total, inside_run, before_main, runs, layers (a list), endless_loop (the address of a branch to itself),
    over_limit, reached, stops (any of these, or `asked`); of the runs that returned finished_runs, finished, fewest, most,
    finished_layers; `asked`, when it is set, stops the machine at its next block. With the timing of the program, `executed`
    returns what cycles depend on.
    """
    library = shared_library("unicorn_hook", program.work_folder)
    if library is None:
        return _PythonCounter(machine, program, layer_addresses)
    return _NativeCounter(machine, code, program, layer_addresses, ctypes.CDLL(str(library)))


class _PythonCounter:
    def __init__(self, machine: unicorn.Uc, program: Program, layer_addresses: Sequence[int]):
        self.counting = Counting(
            program.run_address,
            program.instruction_limit,
            layer_addresses,
            lambda: machine.reg_read(arm_const.UC_ARM_REG_LR),
            program.main_address,
            program.step_address,
            program.until_address,
            program.stops.inferences,
            Flow(program.timing.caches) if program.timing else None,
        )
        self._flash = flash_regions(program.board)
        self._known: dict[tuple[int, int], tuple[list[int], bool]] = {}
        self._behind_conditional = False
        self._look_at, self._waits = _NEVER, lambda address: False
        machine.hook_add(unicorn.UC_HOOK_BLOCK, self._on_block)
        for first, last in self._flash if program.timing else ():
            machine.hook_add(unicorn.UC_HOOK_MEM_READ, self._on_read, None, first, last)

    def watch(self, machine: unicorn.Uc, origin: int, length: int) -> bytearray:
        """A map of the bytes from `origin` on, in which those that a run writes become 1."""
        written = bytearray(length)

        def on_write(machine: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> None:
            if self.counting.running:
                first = max(address - origin, 0)
                written[first : min(address + size - origin, length)] = b"\1" * (min(address + size - origin, length) - first)

        machine.hook_add(unicorn.UC_HOOK_MEM_WRITE, on_write, None, origin, origin + length - 1)
        return written

    stack_used = 0

    def executed(self, finished: bool) -> Executed | None:
        """What runs executed, or those runs that returned; None without the program's timing."""
        return self.counting.flow.executed(finished) if self.counting.flow else None

    def watch_stack(self, machine: unicorn.Uc, regions: Sequence[tuple[int, int]]) -> None:
        """Only the counter in C does."""

    def watch_waits(self, waits: Callable[[int], bool]) -> None:
        """Asks `waits` now and then between runs, with the address of the next block; stops the machine where it says so."""
        self._look_at, self._waits = _FIRST_LOOK, waits

    def __getattr__(self, name: str):
        return getattr(self.counting, name)

    def _on_block(self, machine: unicorn.Uc, address: int, size: int, _) -> None:
        if self._behind_conditional and self._begins_again(machine, address):
            return
        if (address, size) not in self._known:
            code = bytes(machine.mem_read(address, size))
            self._known[address, size] = thumb_sizes(code), ends_conditional(code)
            if code == b"\xfe\xe7":
                self.counting.endless_loop = address | 1
        sizes, self._behind_conditional = self._known[address, size]
        self.counting.block(address, sizes, any(first <= address <= last for first, last in self._flash))
        if self.counting.total >= self._look_at and not self.counting.running:
            self._look_at = 2 * self.counting.total
            self.counting.asked |= self._waits(address)
        if self.counting.stops:
            machine.emu_stop()

    def _on_read(self, machine: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> None:
        self.counting.read(address)

    def _begins_again(self, machine: unicorn.Uc, address: int) -> bool:
        """What unicorn_hook.c says of the function of this name."""
        status = machine.reg_read(arm_const.UC_ARM_REG_XPSR)
        if not status & _IT_STATE:
            return False
        machine.reg_write(arm_const.UC_ARM_REG_XPSR, status & ~_IT_STATE)
        machine.reg_write(arm_const.UC_ARM_REG_PC, address | 1)
        return True

    def ask_to_stop(self) -> None:
        """From another thread."""
        self.counting.asked = True


# The structures of counting.h and unicorn_hook.c.
class _Layer(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_uint32),
        ("turn", ctypes.c_uint32),
        ("instructions", ctypes.c_uint64),
        ("longest_step", ctypes.c_uint64),
        ("finished", ctypes.c_uint64),
    ]


class _Counting(ctypes.Structure):
    _fields_ = [
        ("total", ctypes.c_uint64),
        ("inside_run", ctypes.c_uint64),
        ("limit", ctypes.c_uint64),
        ("before_main", ctypes.c_uint64),
        ("step_instructions", ctypes.c_uint64),
        ("longest_step", ctypes.c_uint64),
        ("finished", ctypes.c_uint64),
        ("at_entry", ctypes.c_uint64),
        ("fewest", ctypes.c_uint64),
        ("most", ctypes.c_uint64),
        ("run_address", ctypes.c_uint32),
        ("main_address", ctypes.c_uint32),
        ("step_address", ctypes.c_uint32),
        ("until_address", ctypes.c_uint32),
        ("runs", ctypes.c_uint32),
        ("return_address", ctypes.c_uint32),
        ("running", ctypes.c_uint32),
        ("endless_loop", ctypes.c_uint32),
        ("over_limit", ctypes.c_uint32),
        ("steps", ctypes.c_uint32),
        ("step_return", ctypes.c_uint32),
        ("stepping", ctypes.c_uint32),
        ("finished_runs", ctypes.c_uint32),
        ("wanted_runs", ctypes.c_uint32),
        ("reached", ctypes.c_uint32),
        ("asked", ctypes.c_uint32),
        ("entry_stack", ctypes.c_uint32),
        ("lowest_stack", ctypes.c_uint32),
        ("stack_used", ctypes.c_uint32),
        ("current", ctypes.c_int32),
        ("step_layer", ctypes.c_int32),
        ("layer_count", ctypes.c_uint32),
        ("layers", ctypes.POINTER(_Layer)),
    ]


class _Block(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint16),
        ("instructions", ctypes.c_uint16),
        ("layer", ctypes.c_int32),
        ("ends_conditional", ctypes.c_uint32),
    ]


class _Memory(ctypes.Structure):
    _fields_ = [
        ("origin", ctypes.c_uint32),
        ("length", ctypes.c_uint32),
        ("is_flash", ctypes.c_uint32),
        ("bytes", ctypes.c_void_p),
        ("blocks", ctypes.c_void_p),
    ]


class _Edge(ctypes.Structure):
    _fields_ = [
        ("origin", ctypes.c_uint32),
        ("address", ctypes.c_uint32),
        ("from_size", ctypes.c_uint16),
        ("size", ctypes.c_uint16),
        ("layer", ctypes.c_int32),
        ("count", ctypes.c_uint64),
        ("finished", ctypes.c_uint64),
    ]


class _Executed(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_uint32),
        ("is_full", ctypes.c_uint32),
        ("previous", ctypes.c_uint32),
        ("previous_size", ctypes.c_uint32),
        ("edges", ctypes.c_void_p),
        ("slots", ctypes.c_void_p),
    ]


class _Cache(ctypes.Structure):
    _fields_ = [
        ("line_bytes", ctypes.c_uint32),
        ("sets", ctypes.c_uint32),
        ("ways", ctypes.c_uint32),
        ("lines", ctypes.POINTER(ctypes.c_uint32)),
    ]


class _Reads(ctypes.Structure):
    _fields_ = [
        ("code", _Cache),
        ("data", _Cache),
        ("prefetches", ctypes.c_uint32),
        ("line", ctypes.c_uint32),
        ("ahead", ctypes.c_uint32),
        ("since", ctypes.c_uint32),
        ("waited", ctypes.POINTER(ctypes.c_uint64)),
        ("data_lines", ctypes.POINTER(ctypes.c_uint64)),
        ("finished_waited", ctypes.POINTER(ctypes.c_uint64)),
        ("finished_data_lines", ctypes.POINTER(ctypes.c_uint64)),
    ]


_LOOK = ctypes.CFUNCTYPE(None, ctypes.c_uint32)


class _Hook(ctypes.Structure):
    _fields_ = [
        ("counting", _Counting),
        ("executed", _Executed),
        ("reads", ctypes.POINTER(_Reads)),
        ("read_count", ctypes.c_uint32),
        ("counts_edges", ctypes.c_uint32),
        ("finished_runs", ctypes.c_uint32),
        ("memory_count", ctypes.c_uint32),
        ("link_register", ctypes.c_uint32),
        ("stack_register", ctypes.c_uint32),
        ("status_register", ctypes.c_uint32),
        ("counter_register", ctypes.c_uint32),
        ("behind_conditional", ctypes.c_uint32),
        ("memories", ctypes.POINTER(_Memory)),
        ("read_register", ctypes.c_void_p),
        ("write_register", ctypes.c_void_p),
        ("stop", ctypes.c_void_p),
        ("look_at", ctypes.c_uint64),
        ("look", _LOOK),
    ]


class _Watch(ctypes.Structure):
    _fields_ = [
        ("counting", ctypes.c_void_p),
        ("origin", ctypes.c_uint32),
        ("length", ctypes.c_uint32),
        ("written", ctypes.c_void_p),
    ]


_MOST_EDGES, _EDGE_SLOTS = 1 << 18, 1 << 19  # those of executed.h
_NO_LINE = 0xFFFFFFFF
_COUNTS = frozenset(str(field[0]) for field in _Counting._fields_ if field[1] in (ctypes.c_uint32, ctypes.c_uint64))


class _NativeCounter:
    def __init__(
        self,
        machine: unicorn.Uc,
        code: Sequence[tuple[int, mmap.mmap]],
        program: Program,
        layer_addresses: Sequence[int],
        library: ctypes.CDLL,
    ):
        self._layers = (_Layer * max(len(layer_addresses), 1))(*(_Layer(address) for address in layer_addresses))
        # Anonymous maps: pages of the tables that no block touches cost nothing.
        self._tables = [mmap.mmap(-1, len(content) // 2 * ctypes.sizeof(_Block)) for _, content in code]
        flash = {first for first, _ in flash_regions(program.board)}
        self._memories = (_Memory * len(code))(
            *(
                _Memory(origin, len(content), origin in flash, _address_of(content), _address_of(table))
                for (origin, content), table in zip(code, self._tables, strict=True)
            )
        )
        counting = _Counting(
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
        self._hook = _Hook(
            counting=counting,
            memory_count=len(code),
            link_register=arm_const.UC_ARM_REG_LR,
            stack_register=arm_const.UC_ARM_REG_SP,
            status_register=arm_const.UC_ARM_REG_XPSR,
            counter_register=arm_const.UC_ARM_REG_PC,
            memories=self._memories,
            read_register=_function_address(engine.uc_reg_read),
            write_register=_function_address(engine.uc_reg_write),
            stop=_function_address(engine.uc_emu_stop),
            look_at=_NEVER,
        )
        self._library = library
        self._watches: list[_Watch] = []
        if program.timing:
            self._follow(machine, program.timing.caches, flash_regions(program.board))
        _add_hook(machine, unicorn.UC_HOOK_BLOCK, library.aidge_block_hook, self._hook, 1, 0)

    def _follow(self, machine: unicorn.Uc, caches: Sequence[Caches], flash: Sequence[tuple[int, int]]) -> None:
        """Counts edges between blocks and lines of flash."""
        self._edges = mmap.mmap(-1, _MOST_EDGES * ctypes.sizeof(_Edge)), mmap.mmap(-1, _EDGE_SLOTS * 4)
        self._hook.executed.edges, self._hook.executed.slots = map(_address_of, self._edges)
        rows = self._hook.counting.layer_count + 1
        self._reads = (_Reads * len(caches))(*(_reads(each, rows) for each in caches))
        self._hook.reads, self._hook.read_count, self._hook.counts_edges = self._reads, len(caches), 1
        for first, last in flash:
            _add_hook(machine, unicorn.UC_HOOK_MEM_READ, self._library.aidge_read_hook, self._hook, first, last)

    def executed(self, finished: bool) -> Executed | None:
        """What runs executed, or those runs that returned; None without the program's timing, or if the table is full."""
        hook = self._hook
        if not hook.counts_edges or hook.executed.is_full:
            return None
        found = (_Edge * hook.executed.count).from_buffer(self._edges[0])
        counts = [(one, one.finished if finished else one.count) for one in found]
        edges = tuple(Edge(one.origin, one.from_size, one.address, one.size, one.layer, count) for one, count in counts if count)
        layers = range(OUTSIDE, hook.counting.layer_count)
        return Executed(edges, tuple(_lines(one, layers, finished) for one in self._reads))

    def watch(self, machine: unicorn.Uc, origin: int, length: int) -> mmap.mmap:
        """A map of the bytes from `origin` on, in which those that a run writes become 1."""
        written = mmap.mmap(-1, max(length, 1))
        self._watches.append(_Watch(ctypes.addressof(self._hook.counting), origin, length, _address_of(written)))
        _add_hook(
            machine, unicorn.UC_HOOK_MEM_WRITE, self._library.aidge_write_hook, self._watches[-1], origin, origin + length - 1
        )
        return written

    def watch_stack(self, machine: unicorn.Uc, regions: Sequence[tuple[int, int]]) -> None:
        """From now on `stack_used` says how far below its entry the shortest run stored something in these regions."""
        for first, last in regions:
            _add_hook(machine, unicorn.UC_HOOK_MEM_WRITE, self._library.aidge_stack_hook, self._hook, first, last)

    def watch_waits(self, waits: Callable[[int], bool]) -> None:
        """Asks `waits` now and then between runs, with the address of the next block; stops the machine where it says so."""

        def look(address: int) -> None:
            self._hook.look_at = 2 * self.total
            if waits(address):
                self.ask_to_stop()

        self._hook.look_at, self._hook.look = _FIRST_LOOK, _LOOK(look)

    @property
    def layers(self) -> list[int]:
        """One count per layer address."""
        return [self._layers[index].instructions for index in range(self._hook.counting.layer_count)]

    @property
    def layer_steps(self) -> list[int]:
        """The longest step of each layer address."""
        return [self._layers[index].longest_step for index in range(self._hook.counting.layer_count)]

    @property
    def finished_layers(self) -> list[int]:
        """One count per layer address, of the runs that returned."""
        return [self._layers[index].finished for index in range(self._hook.counting.layer_count)]

    @property
    def stops(self) -> bool:
        """Whether the program is to be stopped."""
        return bool(self.endless_loop or self.over_limit or self.reached or self.asked)

    def ask_to_stop(self) -> None:
        """From another thread."""
        self._hook.counting.asked = 1

    def __getattr__(self, name: str) -> int:
        if name in _COUNTS:
            return getattr(self._hook.counting, name)
        raise AttributeError(name)


def _counts(number: int):
    return (ctypes.c_uint64 * number)()


def _reads(caches: Caches, rows: int) -> _Reads:
    code = _cache(caches.code) if caches.code else _Cache()
    data = code if caches.is_shared else _cache(caches.data)
    counts = [_counts(number) for number in (rows * WAITED, rows, rows * WAITED, rows)]
    return _Reads(code, data, caches.prefetches, _NO_LINE, _NO_LINE, 0, *counts)


def _cache(cache: Cache) -> _Cache:
    lines = cache.sets * cache.ways
    return _Cache(cache.line_bytes, cache.sets, cache.ways, (ctypes.c_uint32 * lines)(*[_NO_LINE] * lines))


def _lines(reads: _Reads, layers: range, finished: bool) -> Lines:
    waited, data_lines = (reads.finished_waited, reads.finished_data_lines) if finished else (reads.waited, reads.data_lines)
    rows = {layer: waited[(layer - OUTSIDE) * WAITED : (layer - OUTSIDE + 1) * WAITED] for layer in layers}
    data = {layer: data_lines[layer - OUTSIDE] for layer in layers}
    return Lines(
        {layer: row for layer, row in rows.items() if any(row)}, {layer: lines for layer, lines in data.items() if lines}
    )


def _add_hook(machine: unicorn.Uc, kind: int, function, data: ctypes.Structure, first: int, last: int) -> None:
    """Registers a function of the library for addresses from `first` to `last` (all, where `last` is smaller)."""
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
