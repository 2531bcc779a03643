# SPDX-License-Identifier: MIT
"""Facts about a run in Unicorn that the board would not forgive, or that explain its numbers: `Seen`, and the depth of the stack.

Register: Armv7-M Architecture Reference Manual, B3.2.20 (CPACR).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Protocol

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf.reservations import Reservation, stack_reservation
from aidge_build.run.emulate.fpu_use import uses_fpu
from aidge_build.run.emulate.model_entries import Entries
from aidge_build.run.emulate.program import Program, Seen

_CPACR, _FPU_ON = 0xE000ED88, 0xF << 20
PAINT = 0xA5  # RAM holds no zeros at power-up: this finds reads before writes, and the deepest use of the stack
_FAR_BELOW = 1 << 16  # bytes below a stack that are no part of it


class Machine(Protocol):
    """An emulated board with its program (`emulate.unicorn_machine`)."""

    program: Program

    @property
    def vectors(self) -> int:
        """The address of the vector table."""

    def read(self, address: int, size: int) -> bytes:
        """Bytes of a memory."""


def seen_in(machine: Machine, counter, entries: Entries) -> Seen:
    """The facts about a run that ended; `counter` counted it (`block_counter`)."""
    entries.close()
    return Seen(
        tuple(entries.calls.found),
        without_fpu=_user_of_fpu(machine, counter.blocks()),
        full_stack=_full_stack(machine),
        clock_hz=_clock(machine),
    )


def deepest_stack(machine: Machine) -> int | None:
    """Returns the bytes of the stack that the program wrote, where the linker script names the stack."""
    low, high = machine.program.stack()
    if high == low:
        return None
    stack = machine.read(low, high - low)
    return high - low - (len(stack) - len(stack.lstrip(bytes([PAINT]))))


def overflow_at(machine: Machine, pointer: int) -> str:
    """Returns how far this stack pointer is below the reserve of the stack; "" if it is not."""
    kept = _reserve(machine)
    if kept is None or not 0 < kept.begin - pointer < _FAR_BELOW:
        return ""
    return f"the stack overflowed: its pointer is {kept.begin - pointer:,} B below the reserve ({kept.by})"


def _reserve(machine: Machine) -> Reservation | None:
    return stack_reservation(machine.program.image, int.from_bytes(machine.read(machine.vectors, 4), "little"))


def _full_stack(machine: Machine) -> str:
    """Returns the reserve of the stack, in words, if its lowest word was written. Equal words count as unused: start-up code may
    clear the stack, or fill it with a pattern of its own."""
    kept = _reserve(machine)
    lowest = _read(machine, kept.begin, 16) if kept else b""
    return "" if kept is None or lowest == lowest[:4] * 4 else f"{kept.end - kept.begin:,} B ({kept.by})"


def _user_of_fpu(machine: Machine, blocks: Iterable[tuple[int, int]]) -> str:
    """Returns a function that used the FPU, if the program left it off; Unicorn has it on always."""
    units = machine.program.image.units
    if units is None or not units.fpu_version or int.from_bytes(machine.read(_CPACR, 4), "little") & _FPU_ON == _FPU_ON:
        return ""
    users = (address for address, size in blocks if uses_fpu(machine.read(address, size)))
    first = next(users, None)
    return "" if first is None else machine.program.image.describe(first).partition("+")[0]


def _clock(machine: Machine) -> int:
    symbol = machine.program.clock_variable
    return int.from_bytes(_read(machine, symbol.address, 4), "little") if symbol else 0


def _read(machine: Machine, address: int, size: int) -> bytes:
    """Returns bytes of a memory, b"" where the board has none."""
    with contextlib.suppress(AidgeError):
        return machine.read(address, size)
    return b""
