# SPDX-License-Identifier: MIT
"""Packets of GDB's remote serial protocol as bytes: `$data#checksum`, escapes, and runs of equal bytes.

Source: "Debugging with GDB", appendix "GDB Remote Serial Protocol", section "Overview".
"""

from __future__ import annotations

from dataclasses import dataclass

START, END, ESCAPE, REPEAT = b"$"[0], b"#"[0], b"}"[0], b"*"[0]
NOTIFICATION = b"%"[0]
ACKNOWLEDGED, WANTED_AGAIN = b"+", b"-"
INTERRUPT = b"\x03"
_FLIPPED = 0x20
_LEAST_REPEAT = 29  # the character of a count is the count and this: the smallest is a space, three more
_CHECKSUM_DIGITS = 2
LARGEST_PACKET_BYTES = 1 << 20  # no server sends more: the stream is of another protocol


class Garbled(Exception):
    """The bytes that arrived are no packet."""


@dataclass(frozen=True)
class Arrived:
    """A packet, or a single character between packets: then `data` is None. `is_sound`: its checksum fits."""

    data: bytes | None
    mark: bytes = b""
    is_sound: bool = True


def framed(data: bytes) -> bytes:
    """The packet of `data`."""
    body = escaped(data)
    return b"$" + body + b"#" + b"%02x" % checksum(body)


def checksum(body: bytes) -> int:
    """The sum of all bytes between `$` and `#` as they are sent, modulo 256."""
    return sum(body) % 256


def escaped(data: bytes) -> bytes:
    """Returns the data with each byte that has a meaning in the frame replaced by `}` and the byte with bit 5 inverted."""
    found = bytearray()
    for byte in data:
        if byte in (START, END, ESCAPE, REPEAT):
            found += bytes((ESCAPE, byte ^ _FLIPPED))
        else:
            found.append(byte)
    return bytes(found)


def expanded(body: bytes) -> bytes:
    """Returns the data of a packet's body. Raises Garbled if an escape or a run is cut off."""
    found, position = bytearray(), 0
    while position < len(body):
        byte = body[position]
        position += 1
        if byte not in (ESCAPE, REPEAT):
            found.append(byte)
            continue
        if position == len(body):
            raise Garbled("the packet ends within an escape or a run")
        if byte == ESCAPE:
            found.append(body[position] ^ _FLIPPED)
        else:
            count = body[position] - _LEAST_REPEAT
            if not found or count <= 0:
                raise Garbled("a run repeats nothing")
            found += found[-1:] * count
        position += 1
    return bytes(found)


class Reader:
    """Takes bytes as they come in, and hands out complete packets."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def add(self, data: bytes) -> None:
        """Adds the bytes that a socket delivered."""
        self._waiting += data

    def take(self) -> Arrived | None:
        """The next packet or mark; None while it is not complete. Garbled for a packet that is none."""
        while self._waiting:
            first = self._waiting[:1]
            if first in (ACKNOWLEDGED, WANTED_AGAIN):
                del self._waiting[:1]
                return Arrived(None, bytes(first))
            if first[0] in (START, NOTIFICATION):
                found = self._packet()
                if found is None or first[0] == START:
                    return found
                continue  # a notification: none was asked for
            del self._waiting[:1]  # noise between packets
        return None

    def _packet(self) -> Arrived | None:
        end = self._waiting.find(END)
        if end < 0 and len(self._waiting) > LARGEST_PACKET_BYTES:
            raise Garbled(f"a packet has more than {LARGEST_PACKET_BYTES:,} B")
        stop = end + 1 + _CHECKSUM_DIGITS
        if end < 0 or len(self._waiting) < stop:
            return None
        body, digits = bytes(self._waiting[1:end]), bytes(self._waiting[end + 1 : stop])
        del self._waiting[:stop]
        try:
            is_sound = int(digits, 16) == checksum(body)
        except ValueError:
            is_sound = False
        return Arrived(expanded(body) if is_sound else b"", is_sound=is_sound)
