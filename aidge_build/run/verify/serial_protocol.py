# SPDX-License-Identifier: MIT
"""The host's end of the protocol of N_serial.c (docs/howto-serial.md): vectors to a firmware, outputs back, all checked."""

from __future__ import annotations

import struct
import time
import zlib
from dataclasses import dataclass
from typing import Protocol

from aidge_build.base.errors import AidgeError

MAGIC = b"\xa1IDG"
VERSION = 1
HELLO, VECTOR = 0x01, 0x02
GREETING, OUTPUTS, REFUSAL = 0x81, 0x82, 0xFF
_HEAD = struct.Struct("<BBHII")  # version, kind, 0, number, bytes of the payload
_GREETING = struct.Struct("<12s4sII")  # digest of N.h, a word as the core stores it, bytes of the inputs, of the outputs
_REFUSAL = struct.Struct("<II")  # reason, detail
_LITTLE, _BIG = b"\x01\x02\x03\x04", b"\x04\x03\x02\x01"
_FIRST_HELLO = 0xF0000000  # the number of the first greeting: no vector has it
_HELLO_SECONDS = 1.0  # between two attempts: a board may start only when its port is opened
_BITS_OF_A_BYTE = 10
_WRITE_AGAIN = "write N_serial.c with `aidge-build verify MODEL --serial-handler`, and build the firmware again"


def _named(number: int) -> str:
    return f"vector {number}" if number < _FIRST_HELLO else "the greeting"


class Bytes(Protocol):
    """A line of bytes in both directions (`base.serial_line.Port`)."""

    where: str

    def read(self, seconds: float) -> bytes:
        """Returns bytes as soon as there are some; b"" where none come in time."""

    def write(self, data: bytes, seconds: float) -> None:
        """Sends bytes."""


@dataclass(frozen=True)
class Interface:
    """The model that a firmware must have: the digest of N.h, and the bytes of all inputs and of all outputs."""

    digest: str
    input_bytes: int
    output_bytes: int


def frame(kind: int, number: int, payload: bytes = b"", version: int = VERSION) -> bytes:
    """Returns a frame: magic, head, payload, CRC-32 of head and payload."""
    body = _HEAD.pack(version, kind, 0, number, len(payload)) + payload
    return MAGIC + body + struct.pack("<I", zlib.crc32(body))


_OTHER_ORDER = (
    "the firmware sends numbers with the highest byte first, the protocol has the lowest first",
    "a handler of your own writes and reads each number from its lowest byte on; --serial-handler writes one that does",
)


class _Damaged(AidgeError):
    """A request or an answer that did not arrive whole."""


def _swapped(word: int) -> int:
    """Returns a word of 32 bits with its bytes in the other order."""
    return int.from_bytes(word.to_bytes(4, "little"), "big")


class Session:
    """A conversation with a firmware. `seconds` limits the time for an answer, in addition to the time that its bytes take."""

    def __init__(self, line: Bytes, wanted: Interface, seconds: float, baud: int):
        self._line, self._wanted, self._seconds, self._baud = line, wanted, seconds, baud
        self._arrived = bytearray()

    def greet(self) -> None:
        """Begins: states are the initial ones. AidgeError (SERIAL) where no firmware with this model answers."""
        end, number, damaged = time.monotonic() + self._seconds, _FIRST_HELLO, None
        # The handler may be in the middle of a request that was cut: so many bytes end any.
        padding = bytes(self._wanted.input_bytes + len(MAGIC) + _HEAD.size + 4)
        while True:
            self._send((padding if number % 2 else b"") + frame(HELLO, number))
            try:
                found = self._answer(GREETING, number, min(_HELLO_SECONDS, end - time.monotonic()))
            except _Damaged as error:  # a rest of an earlier conversation, or noise while the board starts
                damaged, found = damaged or error, None
                self._arrived.clear()
            if found is not None:
                return self._compare(found)
            if time.monotonic() >= end:
                hint = "does it call N_serial in a loop, at this speed, and is the port the right one? Reset the board"
                raise damaged or self._failure(f"no firmware has answered within {self._seconds:g} s", hint)
            number += 1

    def run(self, number: int, inputs: bytes) -> bytes:
        """Returns the outputs for the inputs of a vector, all as they are stored."""
        self._send(frame(VECTOR, number, inputs))
        found = self._answer(OUTPUTS, number, self._seconds)
        if found is None:
            hint = "the inference takes longer (--serial-seconds), bytes were lost (a slower --baud), or the firmware is stuck"
            raise self._failure(f"vector {number}: no answer within {self._seconds:g} s", hint)
        return found

    def _compare(self, greeting: bytes) -> None:
        """Refuses a firmware with another model or another order of bytes."""
        digest, order, inputs, outputs = _GREETING.unpack(greeting)
        if order == _BIG:
            raise self._failure("the core stores values with the highest byte first, the model's files hold the lowest first")
        if order != _LITTLE:
            raise self._failure(f"its word 0x04030201 is {order.hex()} in memory", _WRITE_AGAIN)
        found = Interface(digest.decode("ascii", "replace"), inputs, outputs)
        if found != self._wanted:
            what = f"it was built with header {found.digest} ({inputs:,} B in, {outputs:,} B out), this model with these options "
            wanted = self._wanted
            what += f"makes {wanted.digest} ({wanted.input_bytes:,} B in, {wanted.output_bytes:,} B out)"
            raise self._failure(what, "name the model and the options of the firmware; --elf APP.elf takes them from it")

    def _send(self, data: bytes) -> None:
        self._line.write(data, self._seconds + self._duration(len(data)))

    def _duration(self, size: int) -> float:
        return size * _BITS_OF_A_BYTE / self._baud

    def _answer(self, kind: int, number: int, seconds: float) -> bytes | None:
        """Returns the payload of the answer to a request; None where it does not come in time. Other text on the line, and late
        answers to earlier requests, are passed over."""
        size = self._size_of(kind)
        end = time.monotonic() + seconds + self._duration(self._wanted.input_bytes + size)
        while True:
            if not self._have(len(MAGIC) + _HEAD.size, end):
                return None
            version, found, zero, about, length = _HEAD.unpack_from(self._arrived, len(MAGIC))
            if self._highest_first(found, length):
                raise self._failure(*_OTHER_ORDER)
            if version != VERSION or zero or length != self._size_of(found):
                raise self._damaged(number, f"its head is {bytes(self._arrived[:20]).hex()}")
            whole = len(MAGIC) + _HEAD.size + length + 4
            if not self._have(whole, end):
                raise self._damaged(number, f"{len(self._arrived):,} of its {whole:,} B came")
            body = bytes(self._arrived[len(MAGIC) : whole - 4])
            stated = int.from_bytes(self._arrived[whole - 4 : whole], "little")
            if _swapped(stated) == zlib.crc32(body) != stated:
                raise self._failure(*_OTHER_ORDER)
            if stated != zlib.crc32(body):
                raise self._damaged(number, f"its CRC is {zlib.crc32(body):08x} instead of {stated:08x}")
            del self._arrived[:whole]
            payload = body[_HEAD.size :]
            if found == REFUSAL and about == number:
                raise self._refused(number, *_REFUSAL.unpack(payload))
            if found == kind and about == number:
                return payload

    def _have(self, size: int, end: float) -> bool:
        """Whether a frame begins in what has arrived, with so many bytes; it waits for them until `end`."""
        while True:
            start = self._arrived.find(MAGIC)
            del self._arrived[: start if start >= 0 else max(0, len(self._arrived) - len(MAGIC) + 1)]
            if start >= 0 and len(self._arrived) >= size:
                return True
            if time.monotonic() >= end:
                return False
            self._arrived += self._line.read(end - time.monotonic())

    def _highest_first(self, kind: int, length: int) -> bool:
        """Whether the length has its highest byte first, or the word of version, kind and zeros has."""
        if _swapped(length) == self._size_of(kind) != length:
            return True
        zeros, kind, version = self._arrived[4:6], self._arrived[6], self._arrived[7]
        return not any(zeros) and version == VERSION and self._size_of(kind) in (length, _swapped(length))

    def _size_of(self, kind: int) -> int:
        return {GREETING: _GREETING.size, OUTPUTS: self._wanted.output_bytes, REFUSAL: _REFUSAL.size}.get(kind, -1)

    def _refused(self, number: int, reason: int, detail: int) -> AidgeError:
        which = _named(number)
        damaged = "the line is noisy, or the firmware loses bytes: a slower --baud, a larger buffer of the UART, no other output"
        match reason:
            case 1:
                return self._failure(f"the handler of the firmware knows no version {detail} of the protocol", _WRITE_AGAIN)
            case 3:
                return self._failure(f"{which}: the firmware expects inputs of another size than {detail:,} B", _WRITE_AGAIN)
            case 2 | 4:
                return _Damaged(
                    f"{which}: it arrived damaged in the firmware", where=self._line.where, hint=damaged, code="SERIAL"
                )
            case 6:
                return self._failure(f"{which}: not all of its bytes arrived in the firmware", damaged)
            case 5:
                code = "the model's header names the code; 1 is a pointer that is null or misaligned"
                return self._failure(f"{which}: the model returned {detail}", code)
        return self._failure(f"{which}: the firmware refuses it for reason {reason} ({detail})", _WRITE_AGAIN)

    def _damaged(self, number: int, what: str) -> AidgeError:
        hint = "the line is noisy, or something else prints in the middle of an answer: a slower --baud, no other output"
        return _Damaged(f"{_named(number)}: the answer is damaged: {what}", where=self._line.where, hint=hint, code="SERIAL")

    def _failure(self, what: str, hint: str = "") -> AidgeError:
        return AidgeError(what, where=self._line.where, hint=hint, code="SERIAL")
