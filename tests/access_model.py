# SPDX-License-Identifier: MIT
"""A core with memories of the board's costs: each instruction takes a cycle, each word of data as many more as its memory costs
above 1. A DMA copies constants between N_copy_start and N_copy_wait: as long as they are not there, their place holds poison."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import unicorn
from unicorn import arm_const

from aidge_build.boards import Board, Region
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate.program import INSTRUCTION_LIMIT, Program
from aidge_build.run.emulate.unicorn_machine import Machine

WORD = 4
POISON = b"\x5b"
_RETURN = b"\x70\x47"
_REGISTERS = (arm_const.UC_ARM_REG_R0, arm_const.UC_ARM_REG_R1, arm_const.UC_ARM_REG_R2)


@dataclass
class Inference:
    """Sums over all calls of N_run: `cycles` as above, words read by region, cycles that N_copy_wait took, transfers."""

    runs: int = 0
    cycles: int = 0
    reads: dict[str, int] = field(default_factory=dict)
    waited: int = 0
    transfers: int = 0


class _Timed:
    def __init__(self, machine: Machine, board: Board, model: str, has_dma: bool):
        self.machine, self.board, self.found = machine, board, Inference()
        self.inside, self.back, self.known = False, 0, dict[tuple[int, int], int]()
        self.under_way: dict[int, tuple[bytes, int]] = {}
        self.free_at = 0
        core, image = machine.machine, machine.program.image
        run = image.symbol(f"{model}_run").address
        core.hook_add(unicorn.UC_HOOK_CODE, self._enter, begin=run, end=run)
        core.hook_add(unicorn.UC_HOOK_BLOCK, self._block)
        for region in board.regions:
            access = unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE
            core.hook_add(access, self._access, region, begin=region.origin, end=region.end - 1)
        for name, called in (("start", self._start), ("wait", self._wait)) if has_dma else ():
            place = image.symbol(f"{model}_copy_{name}").address
            machine.write(place, _RETURN)
            core.hook_add(unicorn.UC_HOOK_CODE, called, begin=place, end=place)

    def _enter(self, core, address, size, _):
        self.inside, self.back = True, core.reg_read(arm_const.UC_ARM_REG_LR) & ~1
        self.found.runs += 1
        core.hook_add(unicorn.UC_HOOK_CODE, self._leave, begin=self.back, end=self.back)

    def _leave(self, core, address, size, _):
        self.inside = False

    def _block(self, core, address, size, _):
        if not self.inside:
            return
        if (address, size) not in self.known:
            code, at, count = bytes(core.mem_read(address, size)), 0, 0
            while at < size:
                at, count = at + (4 if code[at + 1] >> 3 >= 0x1D else 2), count + 1
            self.known[address, size] = count
        self.found.cycles += self.known[address, size]

    def _access(self, core, access, address, size, value, region: Region):
        if not self.inside:
            return
        words = -(-size // WORD)
        self.found.cycles += words * (region.access_cost - 1)
        if access == unicorn.UC_MEM_READ:
            self.found.reads[region.name] = self.found.reads.get(region.name, 0) + words

    def _cost(self, address: int) -> int:
        return next(region.access_cost for region in self.board.regions if region.origin <= address < region.end)

    def _start(self, core, address, size, _):
        to, source, count = (core.reg_read(register) for register in _REGISTERS)
        begin = max(self.free_at, self.found.cycles)  # one transfer after the other
        self.free_at = begin + -(-count // WORD) * (self._cost(source) + self._cost(to))
        self.under_way[to] = (self.machine.read(source, count), self.free_at)
        self.machine.write(to, POISON * count)
        self.found.transfers += 1

    def _wait(self, core, address, size, _):
        to, count = (core.reg_read(register) for register in _REGISTERS[:2])
        content, ready = self.under_way.pop(to)
        assert count == len(content) and self.machine.read(to, count) == POISON * count, "something else wrote there"
        self.machine.write(to, content)
        left = max(0, ready - self.found.cycles)
        self.found.waited += left
        self.found.cycles += left


def timed(elf: Path, board: Board, model: str, has_dma: bool = False) -> Inference:
    """Runs the program; its files are those of the ELF's folder."""
    words = (elf.stem,)
    machine = Machine(Program(read_image(elf), board, elf.parent.resolve(), words, False, "", (), INSTRUCTION_LIMIT))
    try:
        model_of = _Timed(machine, board, model, has_dma)
        assert machine.run().exit_code == 0
        return model_of.found
    finally:
        machine.release()
