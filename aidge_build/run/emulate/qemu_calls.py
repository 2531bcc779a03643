# SPDX-License-Identifier: MIT
"""Calls functions of a linked RISC-V program in QEMU, with the memories of its board. The program's start-up code does not run.

QEMU's machine `none` is a core with RAM at every address, so programs for any chip fit. Locked entries of the core's physical
memory protection leave the memories of the board and the program, and flash without writes. Sections are stored at the addresses
where the program uses them. Registers, encodings and causes: RISC-V instruction set manual, volumes I and II.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.boards import Board, Region
from aidge_build.boards.cores import RISCV
from aidge_build.prove.elf.image import Image
from aidge_build.run.emulate.program import Program
from aidge_build.run.emulate.qemu import qemu_of
from aidge_build.run.probe.remote import NoAnswer, Remote
from aidge_build.run.probe.target import Target

_SP, _GP, _T0, _S0, _S1, _A0, _PC = 2, 3, 5, 8, 9, 10, 32  # as the server of QEMU numbers them
_MSTATUS, _MTVEC, _MEPC, _MCAUSE, _MTVAL = 0x300, 0x305, 0x341, 0x342, 0x343
_PMP_CONFIG, _PMP_ADDRESS, _MINSTRET = 0x3A0, 0x3B0, 0xB02
_PMP_ENTRIES, _LOCKED, _ANY_ADDRESS, _UP_TO = 16, 0x80, 0x18, 0x08
_RIGHTS = {"flash": 5, "ram": 7}  # reads 1, writes 2, execution 4
_UNITS_ON = 0x2200  # mstatus: floats and vectors
_JUMP_T0 = 0x000280E7  # jalr ra, t0
_STACK_BYTES, _CODE_BYTES = 1 << 16, 64
_GAP_BYTES = 4096  # between sections of one memory
_START_SECONDS, _CALL_SECONDS = 20.0, 600.0
_CAUSES = {
    1: "jumps to 0x{1:08x}, where the board has no memory",
    2: "stops at an instruction that the core does not have",
    4: "reads from 0x{1:08x}, which is not aligned",
    5: "reads from 0x{1:08x}, where the board has no memory",
    6: "writes to 0x{1:08x}, which is not aligned",
    7: "writes to 0x{1:08x}, where the board has no memory that can be written",
}


def calls_in_qemu(board: Board) -> bool:
    """Whether functions of programs for the board can be called in QEMU."""
    return board.core.calls == RISCV and bool(board.core.qemu)


class CalledInQemu:
    """A halted core that holds a program. `total` counts the instructions of all calls."""

    def __init__(self, program: Program):
        board = program.board
        if program.image.machine not in board.core.machines:
            raise AidgeError(
                f"a program for {program.image.machine}, and board {board.name} has a {board.cpu}",
                where=program.image.path,
                hint="name the board that the program was linked for",
                code="RUN",
            )
        self.program, self.total = program, 0
        self._regions, self._own = [*board.regions, *_elsewhere(program.image, board.regions)], 0
        self._argument_registers = 6 if "-mabi=ilp32e" in board.core.flags else 8
        self._process, stream = _started(board)
        self._remote = Remote(stream, board.core.qemu, _START_SECONDS)
        try:
            self._remote.greet()
            self._target = Target(self._remote)
            for section in program.image.sections:
                self.write(section.address, section.content)
        except BaseException:
            self.release()
            raise

    def map(self, region: Region) -> None:
        """Adds a memory before the first call."""
        self._regions.append(region)

    def read(self, address: int, size: int) -> bytes:
        """Bytes of memory."""
        return self._target.read(address, size)

    def write(self, address: int, content: bytes) -> None:
        """Puts bytes into memory, flash as well."""
        self._target.write(address, content)

    def counter(self) -> CalledInQemu:
        """The object with `total`."""
        return self

    def call(self, function: int, words: Sequence[int], back: int) -> int:
        """Calls a function with words as arguments and returns its result. CheckFailed if it faults or never returns."""
        if not self._own:
            self._prepare()
        stack = self._own + _STACK_BYTES
        more = words[self._argument_registers :]
        stack = (stack - 4 * len(more)) // 16 * 16
        self.write(stack, b"".join(word.to_bytes(4, "little") for word in more))
        pointer = self.program.image.symbol("__global_pointer$")
        registers = {_SP: stack, _GP: pointer.address if pointer else 0, _T0: function}
        registers |= {_A0 + number: word for number, word in enumerate(words[: self._argument_registers])}
        code = (_read(_MINSTRET, _S0), _JUMP_T0, _read(_MINSTRET, _S1))
        result, before, after = self._execute(code, registers, (_A0, _S0, _S1))
        self.total += (after - before) % (1 << 32) - 2
        return result

    def release(self) -> None:
        """Ends QEMU."""
        self._remote.close()
        self._process.kill()
        self._process.wait()

    def _prepare(self) -> None:
        """Takes a memory for stack and code of its own, and protects everything outside of the memories."""
        size = _STACK_BYTES + 2 * _CODE_BYTES
        edges = sorted(region.end for region in self._regions)
        self._own = next(-(-end // 4096) * 4096 for end in edges if self._is_free(-(-end // 4096) * 4096, size))
        self._regions.append(Region("CALLS", self._own, size, "ram", ()))
        self._target.add_breakpoint(self._trap)
        self._set(_MTVEC, self._trap)
        self._set(_MSTATUS, _UNITS_ON)
        if 2 * len(self._regions) < _PMP_ENTRIES:  # else each access is allowed
            self._protect()

    def _is_free(self, address: int, size: int) -> bool:
        return all(region.end <= address or address + size <= region.origin for region in self._regions)

    @property
    def _code(self) -> int:
        return self._own + _STACK_BYTES

    @property
    def _trap(self) -> int:
        return self._code + _CODE_BYTES

    def _protect(self) -> None:
        """Two entries for each memory, its begin and its end; the last entry forbids all other addresses."""
        rules = bytearray(_PMP_ENTRIES)
        for number, region in enumerate(self._regions):
            self._set(_PMP_ADDRESS + 2 * number, region.origin >> 2)
            self._set(_PMP_ADDRESS + 2 * number + 1, region.end >> 2)
            rules[2 * number + 1] = _LOCKED | _UP_TO | _RIGHTS[region.kind]
        self._set(_PMP_ADDRESS + _PMP_ENTRIES - 1, 0xFFFFFFFF)
        rules[-1] = _LOCKED | _ANY_ADDRESS
        for number in range(0, _PMP_ENTRIES, 4):
            self._set(_PMP_CONFIG + number // 4, int.from_bytes(rules[number : number + 4], "little"))

    def _set(self, register: int, value: int) -> None:
        self._execute((register << 20 | _A0 << 15 | 0x1073,), {_A0: value})

    def _execute(self, code: Sequence[int], registers: dict[int, int], wanted: Sequence[int] = ()) -> list[int]:
        """Executes instructions and returns registers after them."""
        target, end = self._target, self._code + 4 * len(code)
        self.write(self._code, b"".join(word.to_bytes(4, "little") for word in code))
        for number, value in {**registers, _PC: self._code}.items():
            target.set_register(number, value)
        target.add_breakpoint(end)
        try:
            target.resume(_CALL_SECONDS)
        except NoAnswer:
            raise self._failure(f"does not return within {_CALL_SECONDS:g} s") from None
        finally:
            target.remove_breakpoint(end)
        if target.register(_PC) != end:
            raise self._trapped()
        return [target.register(number) for number in wanted]

    def _trapped(self) -> CheckFailed:
        if self._target.register(_PC) != self._trap:
            return self._failure("stops")
        code = [_read(register, _A0 + number) for number, register in enumerate((_MCAUSE, _MTVAL, _MEPC))]
        cause, value, address = self._execute(code, {}, range(_A0, _A0 + 3))
        return self._failure(_CAUSES.get(cause, "takes a trap, cause {0}, value 0x{1:08x}").format(cause, value), address)

    def _failure(self, what: str, address: int | None = None) -> CheckFailed:
        at = self._target.register(_PC) if address is None else address
        where = f"{self.program.image.describe(at)} (pc 0x{at:08x})"
        return self.program.failure(f"the program {what}, at {where}", hint="was it linked for this board?")


def _elsewhere(image: Image, regions: Sequence[Region]) -> list[Region]:
    """The program's memory outside of the regions: chips have the same memory at several addresses."""
    found: list[Region] = []
    for section in sorted(image.sections, key=lambda section: section.address):
        if not section.size_bytes or any(region.origin <= section.address and section.end <= region.end for region in regions):
            continue
        kind = "ram" if section.writable else "flash"
        follows = found and found[-1].kind == kind and section.address - found[-1].end < _GAP_BYTES
        first = found.pop().origin if follows else section.address // 4 * 4
        found.append(Region(section.name, first, -(-section.end // 4) * 4 - first, kind, ()))
    return found


def _read(control: int, register: int) -> int:
    """The instruction that reads a control and status register."""
    return control << 20 | 0x2073 | register << 7


def _started(board: Board) -> tuple[subprocess.Popen, socket.socket]:
    """QEMU with a halted core, and its connection for a debugger."""
    executable = qemu_of(board)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(_START_SECONDS)
        to_here = f"socket,id=gdb,host=127.0.0.1,port={server.getsockname()[1]},server=off,nodelay=on"
        words = [
            *("-M", "none,memory-backend=all", "-object", "memory-backend-ram,id=all,size=4095M,reserve=off"),
            *("-display", "none", "-monitor", "none", "-serial", "none", "-S", "-icount", "shift=0"),
            *("-chardev", to_here, "-gdb", "chardev:gdb"),
        ]
        process = subprocess.Popen(
            [executable, *words, *board.core.qemu_flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            stream = server.accept()[0]
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return process, stream
        except OSError:
            process.kill()
            process.wait()
            raise AidgeError(
                "QEMU does not start", where=f"board {board.name}", hint="QEMU 6.1 or newer is needed", code="EMULATOR"
            ) from None
