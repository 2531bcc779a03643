# SPDX-License-Identifier: MIT
"""Registers of peripherals without an emulation: they hold the values written, and change while a program waits for them.

So the start-up code of a chip gets past the loops that wait for a clock. A peripheral does nothing else.
"""

from __future__ import annotations

from aidge_build.run.emulate.serial_ports import EmulatedPort

_PATIENCE = 16  # reads of one register in a row that are answered as it was written
_ALL_ONES, _SEED = 0xFFFFFFFF, 0x2545F491
FIRST, LAST = 0x40000000, 0x5FFFFFFF  # the peripherals of every Cortex-M: Armv7-M Architecture Reference Manual, B3.1


def hint_for(address: int) -> str:
    """Returns what to do about an access to an address where the board has no memory."""
    if FIRST <= address <= LAST:
        return "firmware that sets up its chip: run with --peripherals"
    return "if the chip has a memory there, add its region to a board file of your own (docs/howto-board.md)"


class Peripherals:
    """All registers in the part of the memory map for peripherals. The board's serial port outputs each byte that is written to
    its data register."""

    def __init__(self, port: EmulatedPort | None = None) -> None:
        self._port = port
        self._words: dict[int, int] = {}
        self._last, self._reads, self._random = -1, 0, _SEED
        self.used: set[int] = set()
        self.waited_for: set[int] = set()

    @property
    def counts(self) -> tuple[int, int]:
        """Returns how many registers without an emulation were used, and how many were waited for."""
        return len(self.used), len(self.waited_for)

    def read(self, address: int, size: int) -> int:
        """Returns the value that was written. A register that is polled changes: first all bits invert, then they are random."""
        word = address & ~3
        if self._port and self._port.holds(word):
            return self._port.read(word) >> 8 * (address & 3) & (1 << 8 * size) - 1
        self.used.add(word)
        self._reads = self._reads + 1 if word == self._last else 1
        self._last = word
        value = self._words.get(word, 0)
        if self._reads > _PATIENCE:
            self.waited_for.add(word)
            value ^= _ALL_ONES if self._reads == _PATIENCE + 1 else self._next()
        return value >> 8 * (address & 3) & (1 << 8 * size) - 1

    def write(self, address: int, size: int, value: int) -> None:
        """Bytes of a register."""
        if self._port and self._port.holds(address):
            self._port.write(address & ~3, value)
            return
        word, shift = address & ~3, 8 * (address & 3)
        mask = (1 << 8 * size) - 1 << shift
        self.used.add(word)
        self._last = -1
        self._words[word] = (self._words.get(word, 0) & ~mask | value << shift & mask) & _ALL_ONES

    def _next(self) -> int:
        """Returns a number by Marsaglia's xorshift: the same numbers in every run."""
        self._random ^= self._random << 13 & _ALL_ONES
        self._random ^= self._random >> 17
        self._random ^= self._random << 5 & _ALL_ONES
        return self._random
