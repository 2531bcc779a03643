# SPDX-License-Identifier: MIT
"""A program in QEMU that executes nothing any more: it sleeps and no interrupt will come, or a RISC-V core trapped and no handler
is where the trap leads."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.base.errors import CheckFailed
from aidge_build.boards.cores import RISCV
from aidge_build.run.emulate.program import Program

_LOOKS = 3  # without an instruction
_SYSTEM = 0x73  # opcode of ebreak (semihosting), which may wait
_SLEEPS = "no active timers"  # so QEMU warns of a core that sleeps without end
_VECTORS, _LOADS = 0x57, (0x07, 0x27)
_OF_VECTORS = (0, 5, 6, 7)  # the width of a load or store of vectors; others are of floats
_FLOATS = (0x43, 0x47, 0x4B, 0x4F, 0x53)


class StillWatch:
    """Looks at the progress of a program (instructions so far, finished runs, and the address of the last instruction), and at
    the messages of QEMU. `sleeps_in` is the function in which a stuck program sleeps, "" if it trapped."""

    def __init__(self, program: Program, progress: Callable[[], tuple[int, int, int]], said: Callable[[], str]):
        self._program, self._progress, self._said = program, progress, said
        self._instructions = self._looks = self._last = 0
        self.sleeps_in = ""

    def is_stuck(self) -> bool:
        """Whether no instruction was executed since the last look, and none will be."""
        before = self._instructions
        self._instructions, _, self._last = self._progress()
        self._looks = self._looks + 1 if self._instructions == before > 0 else 0
        if self._looks and _SLEEPS in self._said():
            self.sleeps_in = self._program.image.describe(self._last).partition("+")[0]
        return bool(self.sleeps_in) or (self._program.board.core.calls == RISCV and self._has_trapped())

    def _has_trapped(self) -> bool:
        return self._looks >= _LOOKS and self._word() & 0x7F != _SYSTEM and self._word() & 0xFFFF != 0x9002

    def failure(self) -> CheckFailed:
        """Returns the error, with the bit of mstatus that is probably off."""
        place = self._program.image.describe(self._last)
        return self._program.failure(
            f"nothing is executed after {place} (0x{self._last:08x}): the core traps, and mtvec leads to no handler",
            hint=_hint(self._word()),
        )

    def _word(self) -> int:
        """The last instruction, of 32 bits."""
        holding = (section for section in self._program.image.sections if section.holds(self._last) and section.content)
        for section in holding:
            at = self._last - section.address
            return int.from_bytes(section.content[at : at + 4], "little")
        return 0


def _hint(word: int) -> str:
    opcode, width = word & 0x7F, word >> 12 & 7
    if opcode == _VECTORS or (opcode in _LOADS and width in _OF_VECTORS):
        return "an instruction of vectors: start-up code must set mstatus.VS (csrs mstatus, 0x200)"
    if opcode in (*_FLOATS, *_LOADS):
        return "an instruction of floats: start-up code must set mstatus.FS (csrs mstatus, 0x2000)"
    return "start-up code must write the address of a handler to mtvec"
