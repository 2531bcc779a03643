# SPDX-License-Identifier: MIT
"""The core that a debug probe connects to: its registers, memory and breakpoints, and how it is started and stopped."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.run.probe.remote import Dropped, NoAnswer, Remote

LINK, STACK_POINTER, COUNTER = 14, 13, 15
REGISTERS = 16
WORD = 4
_XPSR, _THUMB = 25, 1 << 24
_VECTOR_TABLE = 0xE000ED08  # VTOR (Armv7-M and Armv8-M Architecture Reference Manuals; Armv6-M has it as an option)
_HARDWARE, _ANY = b"1", b"0"
_NO_FILE = b"F-1,9"  # EBADF of the protocol's own list
_PRINTED = (1, 2)  # stdout and stderr
_LARGEST_TEXT_BYTES = 1 << 16
_OVERHEAD_BYTES = 32  # of a packet, in addition to the data
_UNREACHABLE = "is this the board that the program was linked for, and are its memories on?"


class Ended(Exception):
    """The program has ended; `code` is its exit code."""

    def __init__(self, code: int):
        super().__init__(code)
        self.code = code


class Target:
    """A core that is halted between two calls of these methods."""

    def __init__(self, remote: Remote):
        self.remote = remote
        self.is_lost = False
        self._breakpoints: dict[int, bytes] = {}  # address -> the type that the server took
        self._refused: dict[bytes, str] = {}
        self._writes_binary = True
        self._reads_one = self._writes_one = True
        self._continues = b"vCont;c" if self._offers_continue() else b"c"
        if remote.features.get("qXfer:features:read") == "+":  # QEMU gives single registers only after a read of target.xml
            self._ask(b"qXfer:features:read:target.xml:0,%x" % (remote.packet_bytes - _OVERHEAD_BYTES))
        self.stop_reply = self._ask(b"?")
        if self.stop_reply[:1] not in (b"S", b"T"):
            raise self.failure(
                f"the server has no halted core ({_shown(self.stop_reply)})", "is the board powered, and connected?"
            )
        self.is_emulated = self._ask(b"qqemu.sstepbits").startswith(b"ENABLE")

    def failure(self, what: str, hint: str = "") -> AidgeError:
        """Returns the error of a board that does not work as it should."""
        return self.remote.failure(what, hint)

    # Registers

    def register(self, number: int) -> int:
        """A register by GDB's number: 0 to 15 are r0 to pc."""
        if self._reads_one:
            answer = self._ask(b"p%x" % number)
            if answer and not _is_error(answer):
                return int.from_bytes(_hexadecimal(answer)[:WORD], "little")
            if number >= REGISTERS:
                raise self.failure(f"register {number} cannot be read ({_shown(answer)})")
            self._reads_one = False
        return self.registers()[number]

    def registers(self) -> tuple[int, ...]:
        """Returns r0 to pc."""
        data = self._all_registers()
        return tuple(int.from_bytes(data[at : at + WORD], "little") for at in range(0, WORD * REGISTERS, WORD))

    def set_register(self, number: int, value: int) -> None:
        """Writes a register."""
        if self._writes_one:
            answer = self._ask(b"P%x=%s" % (number, (value & 0xFFFFFFFF).to_bytes(WORD, "little").hex().encode()))
            if answer == b"OK":
                return
            if answer or number >= REGISTERS:
                raise self.failure(f"register {number} cannot be written ({_shown(answer)})")
            self._writes_one = False
        data = bytearray(self._all_registers())
        data[WORD * number : WORD * (number + 1)] = (value & 0xFFFFFFFF).to_bytes(WORD, "little")
        self._require_ok(b"G" + data.hex().encode(), "the registers cannot be written")

    def set_registers(self, values: Sequence[int]) -> None:
        """Writes r0, r1 and so on."""
        for number, value in enumerate(values):
            self.set_register(number, value)

    def _all_registers(self) -> bytes:
        answer = self._ask(b"g").replace(b"x", b"0")  # x: not known, as registers of an FPU that is off
        try:
            data = bytes.fromhex(answer.decode("ascii"))
        except ValueError:
            data = b""
        if len(data) < WORD * REGISTERS:
            raise self.failure(f"the registers cannot be read ({_shown(answer)})")
        return data

    # Memory

    def read(self, address: int, size: int) -> bytes:
        """Bytes of memory."""
        found = bytearray()
        most = (self.remote.packet_bytes - _OVERHEAD_BYTES) // 2
        while len(found) < size:
            at, count = address + len(found), min(most, size - len(found))
            answer = self._ask(b"m%x,%x" % (at, count))
            data = _hexadecimal(answer)
            if not data or len(data) > count:
                raise self.failure(f"{count:,} B at 0x{at:08x} cannot be read ({_shown(answer)})", _UNREACHABLE)
            found += data
        return bytes(found)

    def write(self, address: int, data: bytes) -> None:
        """Puts bytes into memory that can be written as it is: no flash."""
        most = (self.remote.packet_bytes - _OVERHEAD_BYTES) // 2
        for start in range(0, len(data), most):
            self._write_some(address + start, data[start : start + most])

    def _write_some(self, address: int, data: bytes) -> None:
        if self._writes_binary:
            answer = self._ask(b"X%x,%x:" % (address, len(data)) + data)
            if answer == b"OK":
                return
            self._writes_binary = bool(answer)
        if not self._writes_binary:
            answer = self._ask(b"M%x,%x:%s" % (address, len(data), data.hex().encode()))
        if answer != b"OK":
            raise self.failure(f"{len(data):,} B at 0x{address:08x} cannot be written ({_shown(answer)})", _UNREACHABLE)

    def word(self, address: int) -> int:
        """Returns 32 bits of memory, or a register of the chip."""
        return int.from_bytes(self.read(address, WORD), "little")

    def set_word(self, address: int, value: int) -> None:
        """Writes 32 bits."""
        self.write(address, (value & 0xFFFFFFFF).to_bytes(WORD, "little"))

    # Breakpoints

    def add_breakpoint(self, address: int) -> None:
        """Stops before the instruction at `address`, in flash, too: asks the server for a hardware breakpoint, else for any."""
        if address in self._breakpoints:
            return
        for kind in (_HARDWARE, _ANY):
            answer = self._ask(b"Z%s,%x,2" % (kind, address))
            if answer == b"OK":
                self._breakpoints[address] = kind
                return
            if answer:  # it knows breakpoints, and has none left
                break
        count = len(self._breakpoints)
        raise self.failure(
            f"no hardware breakpoint is left for 0x{address:08x} ({_shown(answer)}), {count} set"
            if answer
            else "the server sets no breakpoints",
            "up to two are needed at a time: does another debugger, or its script, hold some?",
        )

    def remove_breakpoint(self, address: int) -> None:
        """Takes one away that was added."""
        kind = self._breakpoints.pop(address, None)
        if kind is not None:
            self._require_ok(b"z%s,%x,2" % (kind, address), f"the breakpoint at 0x{address:08x} cannot be removed")

    # Running

    def resume(self, seconds: float) -> int:
        """Lets the core run to a breakpoint, and returns the address of the halt. After `seconds` without a breakpoint it halts
        the core and raises NoAnswer. Raises Ended if the program ends."""
        end, request = time.monotonic() + seconds, self._continues
        while True:
            self._send(request)
            try:
                answer = self._answer(max(0.0, end - time.monotonic()))
            except (NoAnswer, KeyboardInterrupt):
                self.halt()
                raise
            if answer[:1] != b"F":
                return self._stopped(answer)
            request = self._served(answer)

    def halt(self) -> None:
        """Stops the running core."""
        self.remote.interrupt()
        self._stopped(self._answer(self.remote.seconds))

    def _served(self, request: bytes) -> bytes:
        """Returns the reply to a request of the server's own semihosting: text is printed, files are refused."""
        name, *words = request[1:].split(b",")
        try:
            stream, address, size = (int(word, 16) for word in words)
        except ValueError:
            return _NO_FILE
        if name != b"write" or stream not in _PRINTED or size > _LARGEST_TEXT_BYTES:
            return _NO_FILE
        self.remote.printed(self.read(address, size))
        return b"F%x" % size

    def _stopped(self, answer: bytes) -> int:
        if answer[:1] in (b"W", b"X"):
            self.is_lost = True
            raise Ended(int(answer[1:3], 16) if answer[:1] == b"W" and len(answer) >= 3 else 1)
        if answer[:1] not in (b"S", b"T"):
            raise self.failure(f"the core does not run ({_shown(answer)})", "reset the board")
        return self.register(COUNTER)

    def reset(self, stack_pointer: int, entry: int, table: int) -> None:
        """Resets the core and leaves it before its first instruction: by the server's own command; if the server has none, by
        setting the registers as a reset does."""
        for command in (b"system_reset",) if self.is_emulated else (b"reset halt", b"reset"):
            if self.command(command) and self.register(COUNTER) & ~1 == entry & ~1:
                break
        else:
            with contextlib.suppress(AidgeError):
                self.set_word(_VECTOR_TABLE, table)
            with contextlib.suppress(AidgeError):
                self.set_register(_XPSR, _THUMB)
        self.set_register(STACK_POINTER, stack_pointer)
        self.set_register(LINK, 0xFFFFFFFF)
        self.set_register(COUNTER, entry & ~1)

    def command(self, text: bytes) -> bool:
        """Sends one of the server's own commands (`monitor` in gdb); returns whether the server knew it."""
        answer = self._ask(b"qRcmd," + text.hex().encode(), seconds=max(self.remote.seconds, 5.0))
        return bool(answer) and not _is_error(answer)

    def leave(self, running: bool) -> None:
        """Removes the breakpoints and ends the connection, the core running or halted."""
        try:
            if not self.is_lost:
                for address in tuple(self._breakpoints):
                    self.remove_breakpoint(address)
                if running:
                    self._ask(b"D")
        except (AidgeError, Ended):
            pass  # the user must read the first fault
        finally:
            self.remote.close()

    def query(self, data: bytes, seconds: float | None = None) -> bytes:
        """The answer to any other packet."""
        return self._ask(data, seconds)

    def require(self, data: bytes, what: str, hint: str = "", seconds: float | None = None) -> None:
        """Sends a packet that must be answered with OK."""
        self._require_ok(data, what, hint, seconds)

    def _require_ok(self, data: bytes, what: str, hint: str = "", seconds: float | None = None) -> None:
        answer = self._ask(data, seconds)
        if answer != b"OK":
            raise self.failure(f"{what} ({_shown(answer)})", hint)

    def _offers_continue(self) -> bool:
        return b"c" in self._ask(b"vCont?").split(b";")

    def _ask(self, data: bytes, seconds: float | None = None) -> bytes:
        self._send(data)
        return self._answer(self.remote.seconds if seconds is None else seconds)

    def _send(self, data: bytes) -> None:
        try:
            self.remote.send(data)
        except (Dropped, NoAnswer):
            self.is_lost = True
            raise

    def _answer(self, seconds: float) -> bytes:
        try:
            return self.remote.answer(seconds)
        except Dropped:
            self.is_lost = True
            raise


def _is_error(answer: bytes) -> bool:
    return answer[:1] == b"E" and len(answer) == 3 or answer[:2] == b"E."


def _hexadecimal(answer: bytes) -> bytes:
    try:
        return b"" if _is_error(answer) else bytes.fromhex(answer.decode("ascii"))
    except ValueError:
        return b""


def _shown(answer: bytes) -> str:
    """An answer for people; an empty one is how a server says that it does not know a packet."""
    return f"the server says {answer[:40].decode('ascii', 'backslashreplace')}" if answer else "the server does not know how"
