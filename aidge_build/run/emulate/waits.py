# SPDX-License-Identifier: MIT
"""Finds the function in which a program waits for ever, since only an interrupt or a timer would end its loop."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import unicorn
from unicorn import arm_const

from aidge_build.boards import Region
from aidge_build.run.emulate.program import Program


class Machine(Protocol):
    """An emulated board with its program (`emulate.unicorn_machine`)."""

    machine: unicorn.Uc
    program: Program

    @property
    def memories(self) -> Mapping[Region, mmap.mmap]:
        """The bytes of each memory."""

    @property
    def vectors(self) -> int:
        """The address of the vector table."""

    def core(self) -> unicorn.Uc:
        """Returns another core, without memories and hooks."""

    def read(self, address: int, size: int) -> bytes:
        """Bytes of a memory."""

    def write(self, address: int, content: bytes) -> None:
        """Puts bytes into a memory."""


_NAMES = (*(f"R{index}" for index in range(13)), "SP", "LR", "PC", "XPSR", *(f"D{index}" for index in range(16)))
_REGISTERS = [getattr(arm_const, f"UC_ARM_REG_{name}") for name in _NAMES]
_SP, _PC = _NAMES.index("SP"), _NAMES.index("PC")
_NEVER = 0xFFFFFFFE
_WAITS = (b"\x30\xbf", b"\x20\xbf", b"\xaf\xf3\x03\x80", b"\xaf\xf3\x02\x80")  # WFI and WFE, of 16 and of 32 bits
_LONGEST = 1000  # instructions of one round
# Instructions after which a counter looks for a wait first; each further look is at twice the number of the one before.
FIRST_LOOK, NEVER = 1 << 24, (1 << 64) - 1


class Round(NamedTuple):
    """A loop that its own instructions cannot end: the function that it is in, and whether an interrupt may end it."""

    function: str
    is_wait: bool


def endless_round(machine: Machine, address: int | None = None) -> Round | None:
    """Returns the loop that the program is in if its own instructions cannot end it, None otherwise.

    A round of such a loop leaves the core and the memories as they were, uses no peripheral and begins no inference. If it
    neither reads a variable nor sleeps, no interrupt ends it, either. Another core takes the steps, on copies of the memories,
    from `address` on (without one, from the program counter on).
    """
    copy, written = _copy(machine, address)
    read: list[int] = []
    for region in written:
        copy.hook_add(
            unicorn.UC_HOOK_MEM_READ, lambda core, access, at, *_: read.append(at), begin=region.origin, end=region.end - 1
        )
    run = machine.program.run_address & ~1
    first, outermost, sleeps = _read(copy), (0, 0), False
    registers = first
    for _ in range(_LONGEST):
        outermost = max(outermost, (registers[_SP], registers[_PC]))
        fails = _fails(copy, registers[_PC])
        after = _read(copy)
        is_asleep = is_behind_wait(machine, after[_PC])
        if fails and not is_asleep or after[_PC] in (run, registers[_PC]):
            return None
        sleeps = sleeps or is_asleep
        if after == first:
            is_as_before = all(memory[:] == machine.memories[region][:] for region, memory in written.items())
            function = machine.program.image.describe(outermost[1]).partition("+")[0]
            return Round(function, sleeps or bool(read)) if is_as_before else None
        registers = after
    return None


def runs_on(machine: Machine, address: int) -> bool:
    """Whether the core can execute the instruction at `address`, the program counter."""
    copy, _ = _copy(machine, address)
    return not _fails(copy, address) or copy.reg_read(arm_const.UC_ARM_REG_PC) != address


def _copy(machine: Machine, address: int | None) -> tuple[unicorn.Uc, dict[Region, mmap.mmap]]:
    """A core without hooks in the same state, and its memories that it may write."""
    copy, written = machine.core(), {}
    for region, memory in machine.memories.items():
        if region.kind == "ram":
            written[region] = mmap.mmap(-1, len(memory))
            written[region][:] = memory[:]
        map_memory(copy, region, written.get(region, memory))
    for register in _REGISTERS:
        copy.reg_write(register, machine.machine.reg_read(register))
    if address is not None:
        copy.reg_write(arm_const.UC_ARM_REG_PC, address | 1)
    return copy, written


def _fails(core: unicorn.Uc, address: int) -> bool:
    """Takes the step at `address`; whether Unicorn stops with an error."""
    try:
        core.emu_start(address | 1, _NEVER, count=1)
    except unicorn.UcError:
        return True
    return False


def map_memory(core: unicorn.Uc, region: Region, memory: mmap.mmap) -> None:
    """Makes host memory a memory of the core."""
    rights = unicorn.UC_PROT_READ | (unicorn.UC_PROT_EXEC if region.kind == "flash" else unicorn.UC_PROT_ALL)
    core.mem_map_ptr(region.origin, len(memory), rights, ctypes.addressof(ctypes.c_char.from_buffer(memory)))


def is_behind_wait(machine: Machine, address: int) -> bool:
    """Whether the instruction before `address` waits for an interrupt or an event. Unicorn stops after the first, and takes the
    second for an invalid instruction; a core may end both at once."""
    return any(
        memory[max(address - len(word) - region.origin, 0) : address - region.origin] == word
        for region, memory in machine.memories.items()
        if region.origin < address <= region.end
        for word in _WAITS
    )


def _read(core: unicorn.Uc) -> list[int]:
    return [core.reg_read(register) for register in _REGISTERS]
