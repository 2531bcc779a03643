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

from aidge_build.emulate.counting import Counting, count_thumb, ends_conditional
from aidge_build.emulate.native_code import shared_library
from aidge_build.emulate.program import InstructionCycles, Program

_IT_STATE = 0x0600FC00  # of XPSR
_FIRST_LOOK, _NEVER = 1 << 24, (1 << 64) - 1  # instructions


def make_counter(machine: unicorn.Uc, code: Sequence[tuple[int, mmap.mmap]], program: Program, layer_addresses: Sequence[int]):
    """A counter that watches `machine`; `code` is (origin, content) of each memory that may hold code.

    It has the attributes total, inside_run, before_main, runs, layers (a list), endless_loop (the address of a branch to itself),
    over_limit, reached, stops (any of these, or `asked`); of the runs that returned finished_runs, finished, fewest, most,
    finished_layers; `asked`, when it is set, stops the machine at its next block.
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
        )
        self._known: dict[tuple[int, int], tuple[int, bool]] = {}
        self._behind_conditional = False
        self._look_at, self._waits = _NEVER, lambda address: False
        machine.hook_add(unicorn.UC_HOOK_BLOCK, self._on_block)

    def watch(self, machine: unicorn.Uc, origin: int, length: int) -> bytearray:
        """A map of the bytes from `origin` on, in which those that a run writes become 1."""
        written = bytearray(length)

        def on_write(machine: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> None:
            if self.counting.running:
                first = max(address - origin, 0)
                written[first : min(address + size - origin, length)] = b"\1" * (min(address + size - origin, length) - first)

        machine.hook_add(unicorn.UC_HOOK_MEM_WRITE, on_write, None, origin, origin + length - 1)
        return written

    cycles = flash_lines = finished_cycles = finished_flash_lines = None

    stack_used = 0

    def count_lines(self, machine: unicorn.Uc, regions: Sequence[tuple[int, int]]) -> None:
        """Only the counter in C does."""

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
            self._known[address, size] = count_thumb(code), ends_conditional(code)
            if code == b"\xfe\xe7":
                self.counting.endless_loop = address | 1
        instructions, self._behind_conditional = self._known[address, size]
        self.counting.block(address, instructions)
        if self.counting.total >= self._look_at and not self.counting.running:
            self._look_at = 2 * self.counting.total
            self.counting.asked |= self._waits(address)
        if self.counting.stops:
            machine.emu_stop()

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
        ("cycles", ctypes.c_uint32),
        ("ends_conditional", ctypes.c_uint32),
    ]


class _Memory(ctypes.Structure):
    _fields_ = [
        ("origin", ctypes.c_uint32),
        ("length", ctypes.c_uint32),
        ("bytes", ctypes.c_void_p),
        ("blocks", ctypes.c_void_p),
        ("cycles", ctypes.c_void_p),
    ]


class _Sums(ctypes.Structure):
    _fields_ = [
        ("total", ctypes.c_uint64),
        ("finished_total", ctypes.c_uint64),
        ("layer", ctypes.POINTER(ctypes.c_uint64)),
        ("finished_layer", ctypes.POINTER(ctypes.c_uint64)),
    ]


_LOOK = ctypes.CFUNCTYPE(None, ctypes.c_uint32)


class _Hook(ctypes.Structure):
    _fields_ = [
        ("counting", _Counting),
        ("cycles", _Sums),
        ("lines", ctypes.c_void_p),
        ("finished_runs", ctypes.c_uint32),
        ("taken_cycles", ctypes.c_uint32),
        ("following", ctypes.c_uint32),
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


class _Lines(ctypes.Structure):
    _fields_ = [
        ("counting", ctypes.c_void_p),
        ("sums", _Sums),
        ("last", ctypes.c_uint32),
    ]


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
        self._cycles = [_cycle_table(program.cycles, origin, len(content)) for origin, content in code] if program.cycles else []
        self._memories = (_Memory * len(code))(
            *(
                _Memory(
                    origin,
                    len(content),
                    _address_of(content),
                    _address_of(table),
                    _address_of(self._cycles[index]) if self._cycles else None,
                )
                for index, ((origin, content), table) in enumerate(zip(code, self._tables, strict=True))
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
        taken = program.cycles.taken_cycles if program.cycles else 0
        self._hook = _Hook(
            counting,
            _sums(len(layer_addresses)),
            None,
            0,
            taken,
            0,
            len(code),
            arm_const.UC_ARM_REG_LR,
            arm_const.UC_ARM_REG_SP,
            arm_const.UC_ARM_REG_XPSR,
            arm_const.UC_ARM_REG_PC,
            0,
            self._memories,
            _function_address(engine.uc_reg_read),
            _function_address(engine.uc_reg_write),
            _function_address(engine.uc_emu_stop),
            _NEVER,
        )
        self._library = library
        self._watches: list[_Watch] = []
        self._lines = _Lines(ctypes.addressof(self._hook.counting), _sums(len(layer_addresses)), 0)
        _add_hook(machine, unicorn.UC_HOOK_BLOCK, library.aidge_block_hook, self._hook, 1, 0)

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

    def count_lines(self, machine: unicorn.Uc, regions: Sequence[tuple[int, int]]) -> None:
        """From now on counts the lines of these regions (first address, last address) from which data are read."""
        self._hook.lines = ctypes.addressof(self._lines.sums)
        for first, last in regions:
            _add_hook(machine, unicorn.UC_HOOK_MEM_READ, self._library.aidge_line_hook, self._lines, first, last)

    @property
    def flash_lines(self) -> tuple[int, list[int]] | None:
        """Lines inside the runs, and per layer address; None where they are not counted."""
        return self._numbers(self._lines.sums, finished=False) if self._hook.lines else None

    @property
    def finished_flash_lines(self) -> tuple[int, list[int]] | None:
        """Those of the runs that returned."""
        return self._numbers(self._lines.sums, finished=True) if self._hook.lines else None

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
    def cycles(self) -> tuple[int, list[int]] | None:
        """Estimated cycles inside the runs, and per layer address; None without a table."""
        return self._numbers(self._hook.cycles, finished=False) if self._cycles else None

    @property
    def finished_cycles(self) -> tuple[int, list[int]] | None:
        """Those of the runs that returned."""
        return self._numbers(self._hook.cycles, finished=True) if self._cycles else None

    def _numbers(self, sums: _Sums, finished: bool) -> tuple[int, list[int]]:
        layers = range(self._hook.counting.layer_count)
        if finished:
            return sums.finished_total, [sums.finished_layer[index] for index in layers]
        return sums.total, [sums.layer[index] for index in layers]

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


def _sums(layers: int) -> _Sums:
    counts = ctypes.c_uint64 * max(layers, 1)
    return _Sums(0, 0, counts(), counts())


def _cycle_table(cycles: InstructionCycles, origin: int, length: int) -> mmap.mmap:
    """One byte per halfword of a memory; 0 where no instruction is known."""
    table = mmap.mmap(-1, length // 2 + 1)
    for address, number in cycles.of_instruction.items():
        if origin <= address < origin + length:
            table[(address - origin) // 2] = number
    return table


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
