# SPDX-License-Identifier: MIT
"""Runs a program in Unicorn on the true memory map: only the board's memories exist, and flash cannot be written."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.run.emulate.engine import INSTALL, require_right_engine

try:
    import unicorn
    from unicorn import arm_const
except ImportError as error:
    raise MissingTool("the emulator unicorn is not installed", hint=f"{INSTALL}", code="EMULATOR") from error

from aidge_build.boards import Region
from aidge_build.prove.elf.boot_block import vectors_at
from aidge_build.run.emulate.block_counter import make_counter
from aidge_build.run.emulate.block_counts import with_counts, written_bytes
from aidge_build.run.emulate.channels import ITM_BASE, ITM_BYTES, Channels, Itm, Rtt, control_block, control_blocks_in
from aidge_build.run.emulate.cycle_counters import caches_left_off, count_instructions
from aidge_build.run.emulate.model_entries import Entries
from aidge_build.run.emulate.peripherals import FIRST, LAST, Peripherals, hint_for
from aidge_build.run.emulate.program import WAITS, End, Program, RunResult
from aidge_build.run.emulate.seen import PAINT, deepest_stack, overflow_at, seen_in
from aidge_build.run.emulate.semihosting import Semihosting
from aidge_build.run.emulate.serial_ports import emulated_port
from aidge_build.run.emulate.sleeping_memories import guard_sleeping
from aidge_build.run.emulate.supervision import supervise
from aidge_build.run.emulate.waits import Round, endless_round, is_behind_wait, map_memory, runs_on

_SYSTEM = Region("SYSTEM", ITM_BASE + ITM_BYTES, 0x100000 - ITM_BYTES, "ram", ())
_NEVER = 0xFFFFFFFE
_BREAKPOINT = 7
_PAGE = 4096
_ARGUMENTS = (arm_const.UC_ARM_REG_R0, arm_const.UC_ARM_REG_R1, arm_const.UC_ARM_REG_R2, arm_const.UC_ARM_REG_R3)
_DATA = (unicorn.UC_MEM_READ_UNMAPPED, unicorn.UC_MEM_WRITE_UNMAPPED)
_RETURN_INSTRUCTION = b"\x70\x47"
_STOPPED = (End.SECONDS, End.INSTRUCTIONS, End.INTERRUPT, End.LIMIT)
_ACCESS = {
    unicorn.UC_MEM_WRITE_UNMAPPED: "writes to {}, where the board has no memory",
    unicorn.UC_MEM_READ_UNMAPPED: "reads from {}, where the board has no memory",
    unicorn.UC_MEM_FETCH_UNMAPPED: "jumps to {}, where the board has no memory",
    unicorn.UC_MEM_WRITE_PROT: "writes to {}, which is flash",
    unicorn.UC_MEM_READ_PROT: "reads from {}, which cannot be read",
    unicorn.UC_MEM_FETCH_PROT: "jumps to {}, which holds no code",
}


def run_in_unicorn(program: Program) -> RunResult:
    """Runs from the vector table to the exit; see `run_program` for the errors."""
    machine = Machine(program)
    try:
        return machine.run()
    finally:
        machine.release()


class Machine:
    """A core with the board's memories. Each memory is host memory that this object owns."""

    def __init__(self, program: Program):
        require_right_engine()
        self.program = program
        board = program.board
        self.memories: dict[Region, mmap.mmap] = {}
        self.machine = self.core()
        for region in board.regions:
            self.map(region)
        self.map(_SYSTEM)
        self.channels = Channels()
        itm = Itm(self.channels)
        self._map_registers(ITM_BASE, ITM_BYTES, lambda offset, size: itm.read(offset), itm.write)
        guard_sleeping(self.machine, board.regions, self._refuse)
        self._load()
        self.semihosting = Semihosting(program.work_folder, " ".join(program.arguments), self.read, self.write)
        self.rtt = Rtt(self.channels, self.read, self.write)
        self.peripherals = Peripherals(emulated_port(board.serial, self.channels))
        self.fault = ""
        self.round: Round | None = None
        self._counter, self._is_asked = None, False
        self.machine.hook_add(unicorn.UC_HOOK_INTR, self._on_exception)
        self.machine.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._on_invalid_access)

    def core(self) -> unicorn.Uc:
        """A core of the board without memories."""
        board = self.program.board
        model = getattr(arm_const, f"UC_CPU_ARM_{board.core.unicorn}", None)  # by the core's name without extensions
        if model is None:
            known = ", ".join(name.split("_", 3)[3] for name in dir(arm_const) if name.startswith("UC_CPU_ARM_CORTEX_M"))
            hint = f'write unicorn = "NAME" into the file of the core, one of {known}; or use emulator = "qemu"'
            raise AidgeError(f"Unicorn has no {board.cpu}", where=f"board {board.name}", hint=hint, code="RUN")
        core = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        core.ctl_set_cpu_model(model)
        return core

    def run(self) -> RunResult:
        """Runs from the vector table to the exit."""
        program = self.program
        slots = program.layer_slots()
        entries = Entries(self)
        counter = self.counter([address for address, _ in slots]) if program.count else None
        written = self._watch(counter) if counter else []
        entry = self._reset()
        self._watch_rtt()
        end = self._supervised(entry, counter, entries)
        if end is End.INTERRUPT and not program.may_be_stopped:
            raise KeyboardInterrupt
        result = self._result(end)
        if counter:
            result = replace(with_counts(result, program, counter, slots, entries.ended), seen=seen_in(self, counter, entries))
            result = replace(result, peripherals=self.peripherals.counts if program.answers_peripherals else None)
        found = self.round or (endless_round(self) if end in _STOPPED else None)
        return replace(
            result,
            written_bytes=written_bytes(written, entries.ended),
            waits_in=found.function if found and found.is_wait else "",
            dumps=tuple((symbol, self.read(symbol.address, symbol.size_bytes)) for symbol in program.dumped),
            caches_off=caches_left_off(self),
        )

    def _watch(self, counter) -> list:
        """Installs the hooks for waits, the stack and reads of the time; returns the written bytes of the watched variables."""
        written = [counter.watch(self.machine, symbol.address, symbol.size_bytes) for symbol in self.program.watched()]
        counter.watch_waits(self._goes_round)
        if self.program.measures_run_stack:
            memories = self.program.board.regions
            counter.watch_stack(self.machine, [(one.origin, one.end - 1) for one in memories if one.kind == "ram"])
        if self.program.answers_peripherals:
            count_instructions(self, lambda: counter.total)
        return written

    def _supervised(self, entry: int, counter, entries: Entries) -> End:
        """Runs from `entry` on, and returns the reason of the end."""
        program = self.program
        try:
            end = supervise(
                lambda: self._execute(entry, _NEVER),
                self._ask_to_stop,
                program.stops.seconds,
                lambda: program.how_far(counter.total, counter.finished_runs) if counter else "",
            )
        finally:
            self.semihosting.close()
        if self.semihosting.exit_code is not None:
            return End.EXIT
        if end is End.EXIT and entries.are_enough:
            return End.INFERENCES
        return self._explain_stop(counter) if end is End.EXIT else end

    def _goes_round(self, address: int) -> bool:
        self.round = endless_round(self, address)
        return self.round is not None

    def counter(self, layer_addresses: Sequence[int] = ()):
        """A counter of all that runs from now on (see `make_counter`)."""
        code = [(region.origin, memory) for region, memory in self.memories.items() if region is not _SYSTEM]
        self._counter = make_counter(self.machine, code, self.program, layer_addresses)
        return self._counter

    def _result(self, end: End) -> RunResult:
        """The result without counts."""
        stack = deepest_stack(self)
        self._drain_rtt()
        return RunResult(
            self.semihosting.exit_code,
            self.semihosting.stdout,
            None,
            None,
            None,
            self.program.layer_counts((), []),
            stack,
            "unicorn",
            ended=end,
            ended_at=self._here(end),
            channels=self.channels.texts,
        )

    def _here(self, end: End) -> str:
        address = self.machine.reg_read(arm_const.UC_ARM_REG_PC)
        return "" if end is End.EXIT else f"{self.program.image.describe(address)} (0x{address:08x})"

    def stop_at_next_block(self) -> None:
        """Ends the run, if it is counted."""
        if self._counter:
            self._counter.ask_to_stop()

    def _ask_to_stop(self) -> None:
        self._is_asked = True
        self.stop_at_next_block()
        self.machine.emu_stop()

    def reach(self, address: int) -> None:
        """Runs from the vector table until the instruction at `address` is next."""
        self._execute(self._reset(), address)
        self._require(address)

    def call(self, function: int, words: Sequence[int], back: int) -> int:
        """Calls a function with these words as arguments by the procedure call standard, and returns its r0.

        `back` is its return address: code that the function never reaches by itself.
        """
        stack_pointer = self.machine.reg_read(arm_const.UC_ARM_REG_SP)
        for register, word in zip(_ARGUMENTS, words):
            self.machine.reg_write(register, word)
        more = words[len(_ARGUMENTS) :]
        below = (stack_pointer - 4 * len(more)) // 8 * 8
        if more:
            self.write(below, b"".join(word.to_bytes(4, "little") for word in more))
        self.machine.reg_write(arm_const.UC_ARM_REG_SP, below)
        self.machine.reg_write(arm_const.UC_ARM_REG_LR, back | 1)
        self._execute(function, back)
        self._require(back)
        self.machine.reg_write(arm_const.UC_ARM_REG_SP, stack_pointer)
        return self.machine.reg_read(arm_const.UC_ARM_REG_R0)

    def _reset(self) -> int:
        """Loads the stack pointer of the vector table; returns the entry."""
        stack_pointer, entry = (int.from_bytes(self.read(self.vectors + at, 4), "little") for at in (0, 4))
        self.machine.reg_write(arm_const.UC_ARM_REG_SP, stack_pointer)
        return entry

    def _execute(self, address: int, until: int) -> None:
        """Runs up to `until`, or until something stops the machine; a wait for an interrupt ends at once, as on some cores."""
        known = set[int]()  # instructions after a wait which the core can execute
        while True:
            error, begin = None, address & ~1
            try:
                self.machine.emu_start(address | 1, until)
            except unicorn.UcError as problem:
                error = problem
            except AidgeError as problem:
                raise problem.within(self.program.image.path) from None
            address = self.machine.reg_read(arm_const.UC_ARM_REG_PC) & ~1
            if not self._sleeps(address) or address == until & ~1:
                break
            if error and address == begin and address not in known:  # the wait again, or the instruction after it
                if not runs_on(self, address):
                    break
                known.add(address)
        if error:
            raise self._failure(self.fault or f"stops with '{error}'") from None

    def _sleeps(self, address: int) -> bool:
        """Whether only a wait before `address` stopped the machine: Unicorn stops after WFI, and calls WFE invalid."""
        if self.fault or self.semihosting.exit_code is not None or self._is_to_stop():
            return False
        return is_behind_wait(self, address)

    def _is_to_stop(self) -> bool:
        return self._is_asked or bool(self._counter and self._counter.stops)

    def _require(self, address: int) -> None:
        if self.fault or self.machine.reg_read(arm_const.UC_ARM_REG_PC) & ~1 != address & ~1:
            raise self._failure(self.fault or f"stops before it reaches 0x{address:08x}")

    def release(self) -> None:
        """Lets go of the memories now: hooks and machine refer to each other, and boards may have many megabytes."""
        self.machine = None
        self.memories.clear()

    def map(self, region: Region) -> None:
        """Adds a memory."""
        size = (region.length_bytes + _PAGE - 1) // _PAGE * _PAGE
        memory = self.memories[region] = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
        if hasattr(mmap, "MADV_HUGEPAGE"):  # painting 16 MB page by page took longer than many a program runs
            memory.madvise(mmap.MADV_HUGEPAGE)
        map_memory(self.machine, region, memory)
        if region.kind == "ram" and region is not _SYSTEM:
            for start in range(0, size, _PAGE):
                memory[start : start + _PAGE] = bytes([PAINT]) * _PAGE

    def _map_registers(self, first: int, size_bytes: int, read: Callable, write: Callable) -> None:
        """Accesses call `read` and `write`, with the distance from the first register and the bytes."""
        get, put = (
            (lambda core, offset, size, _: read(offset, size)),
            (lambda core, offset, size, value, _: write(offset, size, value)),
        )
        self.machine.mmio_map(first, size_bytes, get, None, put, None)

    def _watch_rtt(self) -> None:
        block = control_block(self.program.image)
        if block is None:
            return
        address, size = block
        self.machine.hook_add(
            unicorn.UC_HOOK_MEM_WRITE,
            lambda machine, access, at, width, value, _: self.rtt.written(address, at, value),
            begin=address,
            end=address + size - 1,
        )

    def _drain_rtt(self) -> None:
        """Looks for the control block of RTT in RAM after the program stopped, if no symbol gives its address."""
        if control_block(self.program.image) is None:
            for block in control_blocks_in([(one.origin, memory) for one, memory in self.memories.items() if one.kind == "ram"]):
                self.rtt.drain(block)

    def _refuse(self, fault: str) -> None:
        """Stops the program; the first fault is the cause."""
        self.fault = self.fault or fault
        self.machine.emu_stop()

    def _load(self) -> None:
        """Copies the program to the addresses that a flasher would write."""
        for section in self.program.image.sections:
            if section.content:
                self.write(section.load_address, section.content)
        # The board's own set-up waits for clocks and peripherals that do not exist here.
        board_init = self.program.image.symbol("board_init")
        if board_init:
            self.write(board_init.address, _RETURN_INSTRUCTION)

    @property
    def vectors(self) -> int:
        """The address of the vector table."""
        board = self.program.board
        return vectors_at(self.program.image, board.boot_block, board.region("vectors").origin)

    def _place(self, address: int, size: int) -> tuple[mmap.mmap, int]:
        for region, memory in self.memories.items():
            if region.origin <= address and address + size <= region.end:
                return memory, address - region.origin
        raise AidgeError(
            f"{size} bytes at 0x{address:08x} are in no memory of board {self.program.board.name}",
            where=self.program.image.path,
            hint="was it linked for another board?",
            code="RUN",
        )

    def read(self, address: int, size: int) -> bytes:
        """Bytes of a memory."""
        memory, offset = self._place(address, size)
        return memory[offset : offset + size]

    def write(self, address: int, content: bytes) -> None:
        """Puts bytes into a memory, flash as well."""
        memory, offset = self._place(address, len(content))
        memory[offset : offset + len(content)] = content

    def _on_exception(self, machine: unicorn.Uc, number: int, _) -> None:
        if number != _BREAKPOINT:
            return self._refuse(f"takes exception {number} (an undefined instruction, a supervisor call or an unaligned access)")
        address = machine.reg_read(arm_const.UC_ARM_REG_PC)
        operation, argument = machine.reg_read(arm_const.UC_ARM_REG_R0), machine.reg_read(arm_const.UC_ARM_REG_R1)
        machine.reg_write(arm_const.UC_ARM_REG_R0, self.semihosting.call(operation, argument))
        machine.reg_write(arm_const.UC_ARM_REG_PC, (address + 2) | 1)
        if self.semihosting.exit_code is not None:
            machine.emu_stop()

    def _on_invalid_access(self, machine: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> bool:
        if self.program.answers_peripherals and FIRST <= address <= LAST and access in _DATA:
            self._map_peripherals(address // _PAGE * _PAGE)
            return True
        self.fault = _ACCESS.get(access, "accesses {} wrongly").format(f"0x{address:08x}")
        return False

    def _map_peripherals(self, page: int) -> None:
        """Maps a page of peripherals at its first use. Pages of clocks are plain memory already (`sleeping_memories`)."""
        own = self.peripherals
        self._map_registers(
            page,
            _PAGE,
            lambda offset, size: own.read(page + offset, size),
            lambda offset, size, value: own.write(page + offset, size, value),
        )

    def _explain_stop(self, counter) -> End:
        """Returns why a program stopped that did not exit and was not asked to; raises if the reason is an error."""
        if self.fault:
            raise self._failure(self.fault)
        if counter and counter.reached:
            return End.UNTIL if counter.finished_runs != self.program.stops.inferences else End.INFERENCES
        if self.round or counter and counter.endless_loop:
            if self.program.may_be_stopped:
                return End.LOOP
            if self.round and self.round.is_wait:
                raise self.program.failure(f"{self.round.function} {WAITS}", "leave the wait out of a build for the emulator")
            raise self.program.endless_loop(self.machine.reg_read(arm_const.UC_ARM_REG_PC))
        if counter and counter.over_limit:
            if self.program.may_be_stopped:
                return End.INSTRUCTIONS if self.program.stops.instructions else End.LIMIT
            raise self.program.over_limit()
        raise self._failure("stops without an exit")

    def _failure(self, what: str) -> AidgeError:
        address = self.machine.reg_read(arm_const.UC_ARM_REG_PC)
        touched = re.search(r" (?:to|from) (0x\w{8}), where the board has no memory", what)
        overflow = overflow_at(self, self.machine.reg_read(arm_const.UC_ARM_REG_SP))
        hint = overflow or (hint_for(int(touched[1], 16)) if touched else "")
        units = self.program.image.units
        if "UC_ERR_INSN_INVALID" in what and units and units.has_double:
            hint = "if that computes with double: this emulator has no FPU in double precision: -mfpu=fpv5-sp-d16 for this run"
        where = f"{self.program.image.describe(address)} (pc 0x{address:08x})"
        return self.program.failure(f"the program {what}, at {where}", hint)
