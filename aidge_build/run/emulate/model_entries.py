# SPDX-License-Identifier: MIT
"""The inferences that a firmware begins in Unicorn: the arguments, the inputs behind them, and the code that was returned."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import unicorn
from unicorn import arm_const

from aidge_build.run.emulate.entry_inputs import entered
from aidge_build.run.emulate.inferences import Inferences
from aidge_build.run.emulate.program import Entry, Program

_REGISTERS = (arm_const.UC_ARM_REG_R0, arm_const.UC_ARM_REG_R1, arm_const.UC_ARM_REG_R2, arm_const.UC_ARM_REG_R3)


class Machine(Protocol):
    """An emulated board with its program (`emulate.unicorn_machine`)."""

    machine: unicorn.Uc
    program: Program

    def read(self, address: int, size: int) -> bytes:
        """Bytes of a memory."""

    def stop_at_next_block(self) -> None:
        """Ends the run."""


class Entries:
    """Watches the functions that begin an inference or pass its inputs, and N_step, on `machine` from now on: `calls` are the
    inferences, `ended` is the number of inferences in steps whose last step returned."""

    def __init__(self, machine: Machine):
        program = machine.program
        self.calls, self.ended = Inferences(program), 0
        self._machine = machine
        self._open: dict[int, Entry] = {}  # calls that have not returned, by return address
        self._watched = set[int]()
        begins = program.passed.begins
        names = (program.run_symbol, begins, program.passed.pushes, program.step_symbol if begins else "")
        for name in dict.fromkeys(names):
            symbol = program.image.symbol(name) if name else None
            if symbol:
                entry = symbol.address & ~1
                machine.machine.hook_add(unicorn.UC_HOOK_BLOCK, self._enter, name, begin=entry, end=entry)

    @property
    def are_enough(self) -> bool:
        """Whether as many inferences in steps as the run shall have ended."""
        return self.ended > 0 and self.ended == self._machine.program.stops.inferences

    def _enter(self, core: unicorn.Uc, address: int, size: int, name: str) -> None:
        program = self._machine.program
        if any(entry.function == program.run_symbol for entry in self._open.values()):
            return  # N_run calls the other functions of a model in steps or by rows
        back = core.reg_read(arm_const.UC_ARM_REG_LR) & ~1
        words = tuple(core.reg_read(register) for register in _REGISTERS)
        if self.calls.is_full:
            self._open[back] = Entry(words, (), 0, name)
        else:
            self._open[back] = entered(program, name, words, core.reg_read(arm_const.UC_ARM_REG_SP), self._machine.read)
        if back not in self._watched:
            self._watched.add(back)
            core.hook_add(unicorn.UC_HOOK_BLOCK, self._leave, begin=back, end=back)

    def _leave(self, core: unicorn.Uc, back: int, *_) -> None:
        entry = self._open.pop(back, None)
        if entry is None:
            return
        status = core.reg_read(_REGISTERS[0])
        if entry.function != self._machine.program.step_symbol:
            self.calls.add(replace(entry, status=status))
        elif status == 0:
            self.ended += 1
            if self.are_enough:
                self._machine.stop_at_next_block()

    def close(self) -> None:
        """Counts the call that has just returned: the run may end there, before the hook for it."""
        core = self._machine.machine
        self._leave(core, core.reg_read(arm_const.UC_ARM_REG_PC) & ~1)
