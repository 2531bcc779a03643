# SPDX-License-Identifier: MIT
"""The calls of N_run that a firmware makes in Unicorn: the arguments, the inputs behind them, and the code that N_run returns."""

from __future__ import annotations

from typing import Protocol

import unicorn
from unicorn import arm_const

from aidge_build.run.emulate.entry_inputs import stored_inputs
from aidge_build.run.emulate.program import Entry, Program

_REGISTERS = (arm_const.UC_ARM_REG_R0, arm_const.UC_ARM_REG_R1, arm_const.UC_ARM_REG_R2, arm_const.UC_ARM_REG_R3)
_MOST_ENTRIES, _MOST_BYTES = 1000, 1 << 24  # that are kept


class Machine(Protocol):
    """An emulated board with its program (`emulate.unicorn_machine`)."""

    machine: unicorn.Uc
    program: Program

    def read(self, address: int, size: int) -> bytes:
        """Bytes of a memory."""


class Entries:
    """Watches N_run on `machine` from now on: `found` are the calls that returned, in their order."""

    def __init__(self, machine: Machine):
        self.found: list[Entry] = []
        self._machine, self._bytes = machine, 0
        self._open: dict[int, tuple[tuple[int, ...], tuple[bytes, ...]]] = {}  # calls that have not returned, by return address
        self._watched = set[int]()
        entry = machine.program.run_address & ~1
        machine.machine.hook_add(unicorn.UC_HOOK_BLOCK, self._enter, begin=entry, end=entry)

    def _enter(self, core: unicorn.Uc, *_) -> None:
        back = core.reg_read(arm_const.UC_ARM_REG_LR) & ~1
        words = tuple(core.reg_read(register) for register in _REGISTERS)
        self._open[back] = words, self._inputs(core, words)
        if back not in self._watched:
            self._watched.add(back)
            core.hook_add(unicorn.UC_HOOK_BLOCK, self._leave, begin=back, end=back)

    def _leave(self, core: unicorn.Uc, back: int, *_) -> None:
        words, inputs = self._open.pop(back, (None, ()))
        if words is not None and len(self.found) < _MOST_ENTRIES:
            self.found.append(Entry(words, inputs, core.reg_read(_REGISTERS[0])))

    def close(self) -> None:
        """Counts the call that has just returned: the run may end there, before the hook for it."""
        core = self._machine.machine
        self._leave(core, core.reg_read(arm_const.UC_ARM_REG_PC) & ~1)

    def _inputs(self, core: unicorn.Uc, words: tuple[int, ...]) -> tuple[bytes, ...]:
        """Returns the stored bytes of each input, () if enough are kept."""
        program = self._machine.program
        self._bytes += sum(port.size_bytes for port in program.passed.inputs)
        if self._bytes > _MOST_BYTES:
            return ()
        return stored_inputs(program, words, core.reg_read(arm_const.UC_ARM_REG_SP), self._machine.read)
