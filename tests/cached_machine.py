# SPDX-License-Identifier: MIT
"""A board with a write-back data cache between core and RAM, and a DMA that goes to the RAM directly.

What the emulator holds is what the core sees. The RAM behind it is kept here: it gets a line when that is cleaned or evicted, and
a line is filled from it when the core touches one that the cache does not hold. Lines are cleaned and invalidated through the
registers of the System Control Block (Armv7-M Architecture Reference Manual, B3.2.2): DCIMVAC, DCCMVAC and DCCIMVAC.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import unicorn

from aidge_build.boards import Board, Region
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate.program import INSTRUCTION_LIMIT, Program
from aidge_build.run.emulate.unicorn_machine import Machine

LINE = 32
INVALIDATE, CLEAN, CLEAN_AND_INVALIDATE = 0xE000EF5C, 0xE000EF68, 0xE000EF70
# The DMA: the address in RAM, the bytes, and 1 to bring the next frame there or 2 to take bytes away.
DMA = 0x40000000
_NEVER = 0xFFFFFFFE


class CachedMachine:
    """Runs a program. `frames` are what the DMA brings, one after the other; `taken` is what it took."""

    def __init__(self, elf: Path, board: Board, frames: list[bytes], sets: int = 128, ways: int = 4):
        self.machine = Machine(Program(read_image(elf), board, elf.parent, ("app",), False, "", (), INSTRUCTION_LIMIT))
        self.frames, self.taken, self.evictions = list(frames), [], 0
        self.region = board.region("data")
        self.seen = self.machine.memories[self.region]
        self.ram = bytearray(self.seen)
        self.sets: list[OrderedDict[int, bool]] = [OrderedDict() for _ in range(sets)]  # line -> whether it is dirty
        self.ways = ways
        emulator = self.machine.machine
        self.machine.map(Region("DMA", DMA, 4096, "ram", ()))
        begin, end = self.region.origin, self.region.end - 1
        emulator.hook_add(unicorn.UC_HOOK_MEM_READ, self._on_read, begin=begin, end=end)
        emulator.hook_add(unicorn.UC_HOOK_MEM_WRITE, self._on_write, begin=begin, end=end)
        for register in (INVALIDATE, CLEAN, CLEAN_AND_INVALIDATE):
            emulator.hook_add(unicorn.UC_HOOK_MEM_WRITE, self._on_register, begin=register, end=register)
        emulator.hook_add(unicorn.UC_HOOK_MEM_WRITE, self._on_dma, begin=DMA + 8, end=DMA + 8)

    def run(self) -> int:
        """The exit code."""
        try:
            self.machine._execute(self.machine._reset(), _NEVER)
            assert self.machine.semihosting.exit_code is not None, self.machine.fault
            return self.machine.semihosting.exit_code
        finally:
            self.machine.semihosting.close()
            self.machine.release()

    def _on_read(self, _machine, _access, address, size, _value, _data) -> None:
        self._touch(address, size, False)

    def _on_write(self, _machine, _access, address, size, _value, _data) -> None:
        self._touch(address, size, True)

    def _touch(self, address: int, size: int, dirties: bool) -> None:
        first, last = (address - self.region.origin) // LINE, (address + size - 1 - self.region.origin) // LINE
        for line in range(first, last + 1):
            held = self.sets[line % len(self.sets)]
            if line not in held:
                if len(held) == self.ways:
                    self._write_back(*held.popitem(last=False))
                    self.evictions += 1
                self.seen[line * LINE : line * LINE + LINE] = self.ram[line * LINE : line * LINE + LINE]
                held[line] = False
            held.move_to_end(line)
            held[line] |= dirties

    def _write_back(self, line: int, is_dirty: bool) -> None:
        if is_dirty:
            self.ram[line * LINE : line * LINE + LINE] = self.seen[line * LINE : line * LINE + LINE]

    def _on_register(self, _machine, _access, address, _size, value, _data) -> None:
        line = ((value & 0xFFFFFFFF) - self.region.origin) // LINE
        held = self.sets[line % len(self.sets)]
        if line not in held:
            return
        if address != INVALIDATE:
            self._write_back(line, held[line])
            held[line] = False
        if address != CLEAN:
            del held[line]

    def _on_dma(self, _machine, _access, _address, _size, command, _data) -> None:
        place, size = (int.from_bytes(self.machine.read(DMA + at, 4), "little") for at in (0, 4))
        start = place - self.region.origin
        if command == 1:
            frame = self.frames.pop(0)
            assert len(frame) == size
            self.ram[start : start + size] = frame
        else:
            self.taken.append(bytes(self.ram[start : start + size]))
