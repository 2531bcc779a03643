# SPDX-License-Identifier: MIT
"""Tasks on one emulated core that preempt each other at arbitrary instructions, as under an operating system."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from unicorn import arm_const

from aidge_build.boards import Board
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate.program import INSTRUCTION_LIMIT, Program
from aidge_build.run.emulate.unicorn_machine import Machine

CALLEE_SAVED = 0x5EED0000


class Tasks:
    """A program that stands before main, and calls of one of its functions that take turns on the core. All registers, those of
    the FPU and the flags belong to a task; memory is everybody's."""

    def __init__(self, elf: Path, board: Board):
        image = read_image(elf)
        self.symbols = image.symbol
        self.machine = Machine(Program(image, board, elf.parent, ("app",), False, "", (), INSTRUCTION_LIMIT))
        main = image.symbol("main")
        assert main is not None
        self.machine.reach(main.address)
        self.back = main.address  # nobody returns to main by itself: it has not begun

    def address(self, name: str) -> int:
        symbol = self.symbols(name)
        assert symbol is not None, name
        return symbol.address

    def write(self, name: str, content: bytes) -> None:
        self.machine.write(self.address(name), content)

    def read(self, name: str, size: int) -> bytes:
        return self.machine.read(self.address(name), size)

    def call(self, function: str, *words: int) -> int:
        return self.machine.call(self.address(function), words, self.back)

    def take_turns(self, function: str, stacks: Sequence[int], seed: int, longest: int) -> tuple[list[int], int]:
        """One call function(number) for each stack; who runs next, and for how many instructions, is drawn.

        Returns what the calls return, and how often one was left in its midst.
        """
        core, chance, switches = self.machine.machine, random.Random(seed), 0
        core.ctl_flush_tb()  # blocks that were translated for calls without a limit would not count
        before = core.context_save()
        waiting = {}
        for number, stack in enumerate(stacks):
            core.context_restore(before)
            for register, word in (
                (arm_const.UC_ARM_REG_R0, number),
                (arm_const.UC_ARM_REG_SP, stack),
                (arm_const.UC_ARM_REG_LR, self.back | 1),
                (arm_const.UC_ARM_REG_R7, CALLEE_SAVED + number),
            ):
                core.reg_write(register, word)
            waiting[number] = (core.context_save(), self.address(function))
        codes = [-1] * len(stacks)
        while waiting:
            number = chance.choice(sorted(waiting))
            context, at = waiting[number]
            core.context_restore(context)
            core.emu_start(at | 1, self.back, count=chance.randrange(2, longest))
            at = core.reg_read(arm_const.UC_ARM_REG_PC) & ~1
            if at == self.back & ~1:
                codes[number] = core.reg_read(arm_const.UC_ARM_REG_R0)
                assert core.reg_read(arm_const.UC_ARM_REG_R7) == CALLEE_SAVED + number
                del waiting[number]
            else:
                waiting[number] = (core.context_save(), at)
                switches += 1
        core.context_restore(before)
        return codes, switches
