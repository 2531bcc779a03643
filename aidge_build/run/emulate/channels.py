# SPDX-License-Identifier: MIT
"""The output channels of a program besides semihosting: the stimulus ports of the ITM (SWO), and the buffers of SEGGER's RTT.

A debug probe would switch the ITM on and empty the buffers. The emulator does both at once, so that no output is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from mmap import mmap

from aidge_build.prove.elf.image import Image

ITM_BASE, ITM_BYTES = 0xE0000000, 0x1000
_STIMULUS_PORTS = 32
_TRACE_ENABLE, _TRACE_CONTROL = 0xE00, 0xE80  # Armv7-M Architecture Reference Manual, C1.7: TER and TCR
_RTT_SYMBOL, _RTT_NAME = "_SEGGER_RTT", b"SEGGER RTT\0\0\0\0\0\0"
# SEGGER_RTT_CB (RTT documentation, "Control block"): the name, two numbers of buffers, then 24 bytes for each of them:
# name, address, size, write offset of the program, read offset of the host, flags.
_HEAD_BYTES, _BUFFER_BYTES, _WRITE_OFFSET, _READ_OFFSET = 24, 24, 12, 16
_MOST_BUFFERS, _LARGEST_BUFFER = 64, 1 << 24


class Channels:
    """The output of a program by channel (`itm0`, `rtt0`), the channels in the order of their first output."""

    def __init__(self) -> None:
        self._said: dict[str, bytearray] = {}

    def say(self, channel: str, content: bytes) -> None:
        """Adds content to a channel; empty content creates none."""
        if content:
            self._said.setdefault(channel, bytearray()).extend(content)

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The pairs (channel, text)."""
        return tuple((channel, bytes(said).decode(errors="replace")) for channel, said in self._said.items())


class Itm:
    """The ITM's registers, all ports enabled, each ready for the next word at once."""

    def __init__(self, channels: Channels):
        self._channels = channels
        self._written = {_TRACE_ENABLE: 0xFFFFFFFF, _TRACE_CONTROL: 1}

    def read(self, offset: int) -> int:
        """A port reads as 1: there is room."""
        return 1 if offset < 4 * _STIMULUS_PORTS else self._written.get(offset, 0)

    def write(self, offset: int, size: int, value: int) -> None:
        """Sends the value of a write to a port, in as many bytes."""
        if offset >= 4 * _STIMULUS_PORTS:
            self._written[offset] = value & 0xFFFFFFFF
        elif self._written[_TRACE_CONTROL] & 1 and self._written[_TRACE_ENABLE] >> (offset // 4) & 1:
            self._channels.say(f"itm{offset // 4}", (value & (1 << 8 * size) - 1).to_bytes(size, "little"))


class Rtt:
    """The host's end of RTT; `read(address, size)` and `write(address, bytes)` reach the program's memory."""

    def __init__(self, channels: Channels, read: Callable[[int, int], bytes], write: Callable[[int, bytes], None]):
        self._channels, self._read, self._write = channels, read, write

    def written(self, block: int, address: int, value: int) -> None:
        """Takes the bytes up to `value` out of a buffer if `address` is the place of the buffer's write offset."""
        buffer, within = divmod(address - block - _HEAD_BYTES, _BUFFER_BYTES)
        if within == _WRITE_OFFSET and 0 <= buffer < self._number(block):
            self._take(block, buffer, value)

    def drain(self, block: int) -> None:
        """Empties all buffers of the control block."""
        for buffer in range(self._number(block)):
            self._take(block, buffer, self._word(self._place(block, buffer) + _WRITE_OFFSET))

    def _take(self, block: int, buffer: int, end: int) -> None:
        place = self._place(block, buffer)
        start, size = self._word(place + 4), self._word(place + 8)
        begin = self._word(place + _READ_OFFSET)
        if not start or not 0 < size <= _LARGEST_BUFFER or begin >= size or end >= size:
            return  # not set up yet
        pieces = [(begin, end)] if begin <= end else [(begin, size), (0, end)]
        self._channels.say(f"rtt{buffer}", b"".join(self._read(start + first, last - first) for first, last in pieces))
        self._write(place + _READ_OFFSET, end.to_bytes(4, "little"))

    def _number(self, block: int) -> int:
        name_and_numbers = self._read(block, _HEAD_BYTES)
        number = int.from_bytes(name_and_numbers[16:20], "little")
        return number if name_and_numbers.startswith(_RTT_NAME) and number <= _MOST_BUFFERS else 0

    def _place(self, block: int, buffer: int) -> int:
        return block + _HEAD_BYTES + _BUFFER_BYTES * buffer

    def _word(self, address: int) -> int:
        return int.from_bytes(self._read(address, 4), "little")


def control_block(image: Image) -> tuple[int, int] | None:
    """Returns address and size of the program's control block; None if no symbol names it."""
    symbol = image.symbol(_RTT_SYMBOL)
    return (symbol.address, symbol.size_bytes) if symbol and symbol.size_bytes > _HEAD_BYTES else None


def control_blocks_in(memories: Sequence[tuple[int, bytes | mmap]]) -> list[int]:
    """The addresses of control blocks in (origin, content) of memories, for a program without symbols."""
    return [origin + at for origin, content in memories for at in _places_of(_RTT_NAME, content)]


def _places_of(name: bytes, content: bytes | mmap) -> list[int]:
    places, at = [], content.find(name)
    while at >= 0:
        places.append(at)
        at = content.find(name, at + 1)
    return [place for place in places if place % 4 == 0]
