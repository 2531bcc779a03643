# SPDX-License-Identifier: MIT
"""One program on a board, from one inference to the next: it halts at the entry and the return of N_run, and runs again from
there, without a byte added to the program."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.boards.faults import CFSR, cause_of
from aidge_build.prove.elf.vectors import VectorTable, find_tables, table_at
from aidge_build.run.emulate.entry_inputs import REGISTERS, entered
from aidge_build.run.emulate.program import Entry, Program
from aidge_build.run.emulate.semihosting import Semihosting
from aidge_build.run.probe.loading import load
from aidge_build.run.probe.remote import NoAnswer
from aidge_build.run.probe.server import Probe, opened
from aidge_build.run.probe.target import COUNTER, LINK, STACK_POINTER, Ended, Target

PAINT = 0xA5  # as the emulators paint RAM
_SEMIHOSTING = b"\xab\xbe"  # BKPT 0xAB
# Words of arguments that N_run finds on the stack, which are its own to change: more than any model has ports.
_ARGUMENT_BYTES = 256
_MACHINE = "ARM"


@dataclass(frozen=True)
class Entered:
    """The registers and the model's memory at the entry of N_run, or of N_begin: enough to enter it once more. `entry` has the
    inputs, if the program asks for them."""

    registers: tuple[int, ...]
    arguments: bytes
    memory: tuple[tuple[int, bytes], ...]
    entry: Entry

    @property
    def returns_to(self) -> int:
        """The address after the call."""
        return self.registers[LINK] & ~1


class Session:
    """A halted core with a program that calls the model."""

    def __init__(self, target: Target, program: Program, kept: Sequence[str]):
        self.target, self.program = target, program
        self.entered: Entered | None = None
        self._kept = [symbol for symbol in map(program.image.symbol, kept) if symbol and symbol.size_bytes]
        self._semihosting = Semihosting(program.work_folder, " ".join(program.arguments), target.read, target.write)
        self.printed = bytearray()

    @property
    def stdout(self) -> str:
        """The output of the program and of the server."""
        return self.printed.decode(errors="replace") + self._semihosting.stdout

    def start(self, table: VectorTable) -> int:
        """Loads the program, paints the stack, and resets the core; returns the bytes that had to be written."""
        written = load(self.target, self.program.image)
        self.target.reset(table.stack, table.reset, table.address)
        low, high = self.program.stack()
        if high > low:
            self.target.write(low, bytes([PAINT]) * (high - low))
        return written

    def reach(self) -> None:
        """Runs until N_run, or another function that begins an inference or passes its inputs, is entered by the program."""
        entries = entries_of(self.program)
        function = entries[self.run_to(tuple(entries))]
        registers = self.target.registers()
        stack = registers[STACK_POINTER]
        arguments = self.target.read(stack, self._readable(stack))
        entry = entered(self.program, function, registers[:REGISTERS], stack, self.target.read)
        self.entered = Entered(registers, arguments, (), entry)

    def _readable(self, stack: int) -> int:
        """Returns how many bytes can be read above the stack pointer: the stack may begin at the end of its memory."""
        ends = [region.end for region in self.program.board.regions if region.origin <= stack < region.end]
        return min(_ARGUMENT_BYTES, ends[0] - stack) if ends else 4 * 4

    @property
    def stack_pointer(self) -> int:
        """The stack pointer at the entry of the current inference."""
        return self._entered().registers[STACK_POINTER]

    def entry(self, status: int) -> Entry:
        """The current call, which returned `status`, with the inputs that the program passed."""
        return replace(self._entered().entry, status=status)

    @property
    def is_part(self) -> bool:
        """Whether the current call is only a part of an inference."""
        return self._entered().entry.function != self.program.run_symbol

    @property
    def returns_to(self) -> int:
        """The address to which the current inference returns."""
        return self._entered().returns_to

    def note(self) -> None:
        """Notes the present content of the model's memory, which `again` restores."""
        memory = tuple((symbol.address, self.target.read(symbol.address, symbol.size_bytes)) for symbol in self._kept)
        self.entered = replace(self._entered(), memory=memory)

    def again(self, *, remembering: bool = False) -> None:
        """Sets the core back to the entry of N_run, and the model's memory to its content then, unless `remembering`."""
        entered = self._entered()
        for address, content in () if remembering else entered.memory:
            self.target.write(address, content)
        self.target.write(entered.registers[STACK_POINTER], entered.arguments)
        self.target.set_registers(entered.registers[: COUNTER + 1])

    def finish(self) -> int:
        """Runs to the return of N_run, and returns its result."""
        self.run_to((self.returns_to,))
        return self.target.register(0)

    def _entered(self) -> Entered:
        if self.entered is None:
            raise RuntimeError("N_run was not reached")
        return self.entered

    def run_to(self, addresses: Sequence[int]) -> int:
        """Runs to the first of these addresses that the core reaches, and returns it. CheckFailed if the program ends, halts
        elsewhere, or reaches none in time."""
        for address in addresses:
            self.target.add_breakpoint(address)
        end = time.monotonic() + self.target.remote.seconds
        try:
            while (found := self._resume(addresses, end)) not in addresses:
                if self.target.read(found, len(_SEMIHOSTING)) != _SEMIHOSTING:
                    raise self.program.failure(
                        f"the program halts at {self.program.image.describe(found)} (0x{found:08x}){self._fault()}",
                        hint="a fault, a BKPT of its own, or a breakpoint of another debugger",
                    )
                self._serve(found)
            return found
        finally:
            if not self.target.is_lost:
                for address in addresses:
                    self.target.remove_breakpoint(address)

    def _resume(self, addresses: Sequence[int], end: float) -> int:
        left = end - time.monotonic()
        try:
            if left <= 0:  # semihosting is served while the core is halted
                raise NoAnswer(self.target.remote.where, left)
            return self.target.resume(left)
        except NoAnswer:
            names = " or ".join(self.program.image.describe(address) for address in addresses)
            at = self.target.register(COUNTER)
            raise self.program.failure(
                f"the program has not come to {names} within {self.target.remote.seconds:g} s: it is at "
                f"{self.program.image.describe(at)} (0x{at:08x}){self._fault()}",
                hint="--probe-seconds waits longer; does the program call the model without an input from outside?",
            ) from None

    def _fault(self) -> str:
        """Returns the cause of a fault that the core has taken since its reset, in words; "" without one."""
        if self.program.image.architecture in ("", "v6-M", "v8-M.baseline"):
            return ""  # no such register
        with contextlib.suppress(AidgeError):
            status = int.from_bytes(self.target.read(CFSR, 4), "little")
            return f", after a fault (CFSR 0x{status:08x}): {cause_of(status)}" if status else ""
        return ""

    def _serve(self, address: int) -> None:
        """A call of semihosting that the server leaves to the debugger."""
        result = self._semihosting.call(self.target.register(0), self.target.register(1))
        if self._semihosting.exit_code is not None:
            raise Ended(self._semihosting.exit_code)
        self.target.set_register(0, result)
        self.target.set_register(COUNTER, address + len(_SEMIHOSTING))

    def stack_used(self) -> int | None:
        """Returns how many bytes of the painted stack were written; None if the linker script names no stack."""
        low, high = self.program.stack()
        if high <= low or self.target.is_lost:
            return None
        stack = self.target.read(low, high - low)
        return high - low - (len(stack) - len(stack.lstrip(bytes([PAINT]))))

    def close(self) -> None:
        """Closes the files that the program left open."""
        self._semihosting.close()


@contextlib.contextmanager
def on_board(program: Program, probe: Probe, kept: Sequence[str]) -> Iterator[Session]:
    """Loads the program onto the board of `probe` and halts it before its first instruction. `kept` are variables that keep
    values between calls of the model. Afterwards the core runs, or is halted, as it was found.

    AidgeError (PROBE) for a server that is missing or faulty; CheckFailed for a program that goes wrong.
    """
    require_program(program)
    table = _vectors(program)
    printed = bytearray()
    with opened(probe, program.board, printed.extend) as remote:
        target = Target(remote)
        was_halted = target.register(COUNTER) & ~1 in _first_instructions(target, table)
        session = Session(target, program, kept)
        session.printed = printed
        try:
            session.start(table)
            yield session
        except Ended as end:
            raise CheckFailed(
                f"the program ended with exit code {end.code} before it called the model as often as asked",
                where=program.image.path,
                code="RUN",
            ) from None
        finally:
            session.close()
            target.leave(running=not was_halted)


def _vectors(program: Program) -> VectorTable:
    """Returns the vector table that the core starts with: a constant, or the table at the address where the board's core looks
    for it, which some linker scripts place among the data."""
    image = program.image
    at_reset = [table_at(image, region.origin) for region in program.board.regions if "vectors" in region.roles]
    found = next((table for table in (*find_tables(image), *at_reset) if table is not None), None)
    if found is None:
        raise AidgeError("holds no table of vectors to start with", where=image.path, code="RUN")
    return found


def require_program(program: Program) -> None:
    """Raises AidgeError (RUN) for a program that cannot be followed over a probe."""
    if program.image.machine != _MACHINE:
        raise AidgeError(
            f"a probe follows Cortex-M programs, this is one for {program.image.machine}",
            where=program.image.path,
            hint="aidge-build run without --probe emulates it",
            code="RUN",
        )
    if not entries_of(program):
        raise AidgeError(
            f"the program has no function {program.run_symbol or 'N_run'}",
            where=program.image.path,
            hint="link it with its symbols, without -flto; models by rows or in steps have no single run",
            code="RUN",
        )


def entries_of(program: Program) -> dict[int, str]:
    """The functions that begin an inference or pass its inputs, by the address of their first instruction."""
    names = [name for name in (program.run_symbol, program.passed.begins, program.passed.pushes) if name]
    return {symbol.address & ~1: name for name in names if (symbol := program.image.symbol(name))}


def _first_instructions(target: Target, table: VectorTable) -> tuple[int, ...]:
    """Returns the addresses of a core halted at reset: the first instructions of this program and of the program on the board."""
    found = [table.reset & ~1]
    try:
        found.append(target.word(table.address + 4) & ~1)
    except AidgeError:
        if target.is_lost:
            raise
    return tuple(found)
