# SPDX-License-Identifier: MIT
"""A board behind a debug probe, as its server shows it: a core that executes the program, a cycle counter, and hardware
breakpoints, with faults that a test may ask for."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import unicorn
from unicorn import arm_const

from aidge_build.boards import Board, load_board
from aidge_build.prove.elf import read_image
from aidge_build.run.emulate.program import Program
from aidge_build.run.emulate.unicorn_machine import Machine
from aidge_build.run.probe.packets import Reader, framed

REGISTERS = [getattr(arm_const, f"UC_ARM_REG_{name}") for name in (*(f"R{n}" for n in range(13)), "SP", "LR", "PC")]
CTRL, CYCCNT, DEMCR = 0xE0001000, 0xE0001004, 0xE000EDFC
SYST_CSR, SYST_RVR, SYST_CVR = 0xE000E010, 0xE000E014, 0xE000E018
NOCYCCNT, ENABLED, TRACING = 1 << 25, 1, 1 << 24
COUNTED = 1 << 16
TICKS = 1 << 24
ERASED, SECTOR_BYTES = 0xFF, 4096


@dataclass
class Behaviour:
    """What the server and the board do. `latency` are the cycles that the counter goes on around each halt."""

    latency: int = 7
    breakpoints: int = 4
    has_counter: bool = True  # a DWT with CYCCNT
    has_dwt: bool = True  # without: its registers read as 0
    acknowledges: bool = True
    has_flash_packets: bool = True
    is_flash_protected: bool = False
    silent_after: int | None = None  # packets that are answered; then the server says nothing more
    hangs_up_after: int | None = None
    knows_single_registers: bool = True
    writes_binary: bool = True
    reset_commands: tuple[bytes, ...] = (b"reset halt",)
    damaged_answers: int = 0
    most_instructions: int = 1_000_000  # after which the core is taken to run on and on
    log: list[bytes] = field(default_factory=list)


class _Core(Machine):
    """A core that halts at a BKPT, as one does to which a debugger is attached."""

    def _on_exception(self, machine: unicorn.Uc, number: int, _) -> None:
        machine.emu_stop()


class ProbedBoard:
    """A core of Unicorn with the memories of `board`; flash is empty until somebody writes it."""

    def __init__(self, elf: Path, board: Board, behaviour: Behaviour, *, loaded: bool = False):
        self.board, self.behaviour = board, behaviour
        self.program = Program(read_image(elf), board, elf.parent, (elf.stem,), False, "", (), 1 << 40)
        self.machine = _Core(self.program)
        if not loaded:
            for region, memory in self.machine.memories.items():
                if region.kind == "flash":
                    memory[:] = bytes([ERASED]) * len(memory)
        for register in REGISTERS:
            self.machine.machine.reg_write(register, 0)
        self.breakpoints: set[int] = set()
        self.registers = {
            CTRL: 0 if self.behaviour.has_counter or not self.behaviour.has_dwt else NOCYCCNT,
            CYCCNT: 0,
            DEMCR: 0,
            SYST_CSR: 0,
            SYST_RVR: 0,
            SYST_CVR: 0,
        }
        self.cycles, self.is_running, self.was_left = 0, False, ""
        self._fresh = False
        self.machine.machine.hook_add(unicorn.UC_HOOK_CODE, self._on_instruction)

    # The core

    def _on_instruction(self, machine: unicorn.Uc, address: int, size: int, _) -> None:
        if address in self.breakpoints and not self._fresh:
            machine.emu_stop()
            return
        self._fresh = False
        self._count(1)
        self.left -= 1
        if self.left <= 0:
            machine.emu_stop()

    def _count(self, cycles: int) -> None:
        if self.registers[DEMCR] & TRACING and self.registers[CTRL] & ENABLED:
            self.registers[CYCCNT] = (self.registers[CYCCNT] + cycles) % (1 << 32)
        if self.registers[SYST_CSR] & ENABLED:
            for _ in range(cycles):
                if self.registers[SYST_CVR] == 0:
                    self.registers[SYST_CVR] = self.registers[SYST_RVR]
                else:
                    self.registers[SYST_CVR] -= 1
                    if self.registers[SYST_CVR] == 0:
                        self.registers[SYST_CSR] |= COUNTED

    def run(self) -> bytes:
        """To the next breakpoint, semihosting call, or the end of patience; the stop reply."""
        self.left, self._fresh = self.behaviour.most_instructions, False
        self._count(self.behaviour.latency - self.behaviour.latency // 2)
        pc = self.machine.machine.reg_read(arm_const.UC_ARM_REG_PC)
        if pc & ~1 not in self.breakpoints:
            with contextlib.suppress(unicorn.UcError):
                self.machine.machine.emu_start(pc | 1, 0xFFFFFFFE)
        self._count(self.behaviour.latency // 2)
        self.is_running = self.left <= 0
        return b"" if self.is_running else b"T05hwbreak:;"

    # Memory

    def read(self, address: int, size: int) -> bytes:
        if address in self.registers and size == 4:
            value = self.registers[address]
            if address == SYST_CSR:
                self.registers[address] &= ~COUNTED
            return value.to_bytes(4, "little")
        return self.machine.read(address, size)

    def write(self, address: int, data: bytes) -> bool:
        if address in self.registers and len(data) == 4:
            self._set(address, int.from_bytes(data, "little"))
            return True
        if self._is_flash(address):
            return False
        self.machine.write(address, data)
        return True

    def _set(self, address: int, value: int) -> None:
        if address in (CTRL, CYCCNT):
            if not (self.behaviour.has_dwt and self.behaviour.has_counter):
                return
        if address == SYST_CVR:
            value = 0
            self.registers[SYST_CSR] &= ~COUNTED
        self.registers[address] = value

    def _is_flash(self, address: int) -> bool:
        return any(region.origin <= address < region.end for region in self.board.regions if region.kind == "flash")

    # Packets

    def answer(self, data: bytes) -> bytes:
        """What the server says to a packet."""
        for start, handler in (
            (b"qSupported", self._features),
            (b"QStartNoAckMode", lambda _: b"OK"),
            (b"qXfer:memory-map:read::", self._memory_map),
            (b"qRcmd,", self._command),
            (b"vCont?", lambda _: b"vCont;c;C;s;S"),
            (b"vFlashErase:", self._erase),
            (b"vFlashWrite:", self._write_flash),
            (b"vFlashDone", self._flash_is_done),
            (b"?", lambda _: b"S05"),
            (b"p", self._register),
            (b"P", self._set_register),
            (b"g", self._registers),
            (b"G", self._set_registers),
            (b"m", self._read),
            (b"M", self._write),
            (b"X", self._write_binary),
            (b"Z1,", self._add),
            (b"z1,", self._remove),
            (b"D", self._detach),
        ):
            if data.startswith(start):
                return handler(data[len(start) :])
        return b""

    def _features(self, _: bytes) -> bytes:
        known = b"PacketSize=800;qXfer:memory-map:read" + (b"+" if self.behaviour.has_flash_packets else b"-")
        return known + (b"" if self.behaviour.acknowledges else b";QStartNoAckMode+")

    def _memory_map(self, rest: bytes) -> bytes:
        kinds = {
            "flash": '<memory type="flash" start="0x{:x}" length="0x{:x}"><property name="blocksize">0x1000</property></memory>',
            "ram": '<memory type="ram" start="0x{:x}" length="0x{:x}"/>',
        }
        parts = [kinds[region.kind].format(region.origin, region.length_bytes) for region in self.board.regions]
        text = f'<?xml version="1.0"?><memory-map>{"".join(parts)}</memory-map>'.encode()
        offset, size = (int(word, 16) for word in rest.split(b","))
        part = text[offset : offset + size]
        return (b"m" if offset + size < len(text) else b"l") + part

    def _command(self, rest: bytes) -> bytes:
        if bytes.fromhex(rest.decode()) not in self.behaviour.reset_commands:
            return b""
        vectors = self.board.region("vectors").origin
        sp, entry = (int.from_bytes(self.machine.read(vectors + at, 4), "little") for at in (0, 4))
        self.machine.machine.reg_write(arm_const.UC_ARM_REG_SP, sp)
        self.machine.machine.reg_write(arm_const.UC_ARM_REG_PC, entry)
        return b"OK"

    def _erase(self, rest: bytes) -> bytes:
        address, size = (int(word, 16) for word in rest.split(b","))
        if self.behaviour.is_flash_protected or address % SECTOR_BYTES or size % SECTOR_BYTES:
            return b"E01"
        self.machine.write(address, bytes([ERASED]) * size)
        return b"OK"

    def _write_flash(self, rest: bytes) -> bytes:
        address, _, data = rest.partition(b":")
        at = int(address, 16)
        if self.machine.read(at, len(data)) != bytes([ERASED]) * len(data):
            return b"E02"  # not erased
        self.machine.write(at, data)
        return b"OK"

    def _flash_is_done(self, _: bytes) -> bytes:
        self.machine.machine.ctl_flush_tb()  # what was translated of another program
        return b"OK"

    def _register(self, rest: bytes) -> bytes:
        if not self.behaviour.knows_single_registers or int(rest, 16) >= len(REGISTERS):
            return b""
        return self._value(int(rest, 16))

    def _value(self, number: int) -> bytes:
        value = self.machine.machine.reg_read(REGISTERS[number])
        return (value & ~1 if number == 15 else value).to_bytes(4, "little").hex().encode()

    def _set_register(self, rest: bytes) -> bytes:
        number, _, value = rest.partition(b"=")
        if not self.behaviour.knows_single_registers or int(number, 16) >= len(REGISTERS):
            return b""
        self._put(int(number, 16), bytes.fromhex(value.decode()))
        return b"OK"

    def _put(self, number: int, value: bytes) -> None:
        self.machine.machine.reg_write(REGISTERS[number], int.from_bytes(value, "little") | (1 if number == 15 else 0))

    def _registers(self, _: bytes) -> bytes:
        return b"".join(self._value(number) for number in range(16)) + b"x" * 8

    def _set_registers(self, rest: bytes) -> bytes:
        data = bytes.fromhex(rest[:128].decode())
        for number in range(16):
            self._put(number, data[4 * number : 4 * number + 4])
        return b"OK"

    def _read(self, rest: bytes) -> bytes:
        address, size = (int(word, 16) for word in rest.split(b","))
        try:
            return self.read(address, size).hex().encode()
        except Exception:
            return b"E0e"

    def _write(self, rest: bytes) -> bytes:
        place, _, data = rest.partition(b":")
        return self._stored(int(place.split(b",")[0], 16), bytes.fromhex(data.decode()))

    def _write_binary(self, rest: bytes) -> bytes:
        place, _, data = rest.partition(b":")
        return self._stored(int(place.split(b",")[0], 16), data) if self.behaviour.writes_binary else b""

    def _stored(self, address: int, data: bytes) -> bytes:
        try:
            return b"OK" if self.write(address, data) else b"E0e"
        except Exception:
            return b"E0e"

    def _add(self, rest: bytes) -> bytes:
        if self.behaviour.breakpoints == 0:
            return b""
        if len(self.breakpoints) == self.behaviour.breakpoints:
            return b"E09"
        self.breakpoints.add(int(rest.split(b",")[0], 16))
        return b"OK"

    def _remove(self, rest: bytes) -> bytes:
        self.breakpoints.discard(int(rest.split(b",")[0], 16))
        return b"OK"

    def _detach(self, _: bytes) -> bytes:
        self.was_left = "running"
        return b"OK"


def _on_the_line(packet: bytes, behaviour: Behaviour) -> bytes:
    if not behaviour.damaged_answers:
        return packet
    behaviour.damaged_answers -= 1
    return packet[:-2] + b"zz"


def _serve(listening: socket.socket, board: ProbedBoard, over: threading.Event) -> None:
    """One connection after the other."""
    while not over.is_set():
        connection, _ = listening.accept()
        _converse(connection, board)


def _converse(connection: socket.socket, board: ProbedBoard) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    reader, acknowledges, count, last = Reader(), True, 0, b""
    behaviour = board.behaviour
    with connection:
        while True:
            try:
                data = connection.recv(1 << 16)
            except OSError:
                return
            if not data:
                board.was_left = board.was_left or "halted"
                return
            if b"\x03" in data and board.is_running:
                board.is_running = False
                connection.sendall(framed(b"T02"))
            reader.add(data.replace(b"\x03", b"") if data == b"\x03" else data)
            while (found := reader.take()) is not None:
                if found.data is None:
                    if found.mark == b"-":
                        connection.sendall(_on_the_line(last, behaviour))
                    continue
                behaviour.log.append(found.data)
                if behaviour.silent_after is not None and count >= behaviour.silent_after:
                    continue
                if behaviour.hangs_up_after is not None and count >= behaviour.hangs_up_after:
                    return
                count += 1
                mark = b"+" if acknowledges else b""
                answer = board.run() if found.data == b"vCont;c" else board.answer(found.data)
                if found.data == b"vCont;c" and board.is_running:
                    connection.sendall(mark)
                    continue
                last = framed(answer)
                connection.sendall(mark + _on_the_line(last, behaviour))
                if found.data == b"QStartNoAckMode":
                    acknowledges = False


@contextlib.contextmanager
def probed(
    elf: Path, board_name: str, behaviour: Behaviour | None = None, *, loaded: bool = False
) -> Iterator[tuple[str, ProbedBoard]]:
    """The address of the server, and the board behind it."""
    board = ProbedBoard(elf, load_board(board_name), behaviour or Behaviour(), loaded=loaded)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_serve, args=(listening, board, over), daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}", board
        finally:
            over.set()
            with contextlib.suppress(OSError), socket.create_connection(listening.getsockname(), timeout=1):
                pass
            thread.join(5)
            board.machine.release()
