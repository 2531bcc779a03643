# SPDX-License-Identifier: MIT
"""Where a program tells the core to use another vector table: stores to the register VTOR."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aidge_build.elf.activation import Code
from aidge_build.elf.disassembly import CONDITIONS, Instruction, immediate
from aidge_build.elf.frames import Refusal, State, Value, address_of, apply

# System control space, and in it the vector table offset register (Armv7-M Architecture Reference Manual, B3.2.2).
_CONTROL_SPACE = range(0xE000E000, 0xE000F000)
_VTOR = 0xE000ED08
_HALF_OF_IT = _CONTROL_SPACE.start >> 16


@dataclass(frozen=True)
class Move:
    """A store to VTOR at `where` ("boot+0x1a"); `table` is the address that is stored, None where the code does not say it."""

    where: str
    table: int | None


def vector_moves(code: Code) -> tuple[Move, ...]:
    """The stores in the program, in order of address.

    Each function that holds an address of the control space is read from its first to its last instruction as if it had no
    branches: what a register holds there is a good guess, and enough to say that something may not have been seen.
    """
    addresses = sorted(code.instructions)
    suspects = sorted({code.extent(address)[0] for address in addresses if _names_control_space(code, address)})
    return tuple(move for start in suspects for move in _in_function(code, addresses, start))


def _names_control_space(code: Code, address: int) -> bool:
    instruction = code.instructions[address]
    if not instruction.mnemonic.startswith(("ldr", "mov")) or len(instruction.operands) != 2:
        return False
    number = immediate(instruction.operands[1])
    if instruction.operands[1].startswith("[pc"):
        constant = address_of(State(), instruction, instruction.operands[1])
        number = code.read(constant[1], 4) if constant else None
    return number is not None and (number in _CONTROL_SPACE or number == _HALF_OF_IT)


def _in_function(code: Code, addresses: Sequence[int], start: int) -> Iterator[Move]:
    first, end = code.extent(start)
    state = State()
    for address in addresses[bisect_left(addresses, first) : bisect_left(addresses, end)]:
        instruction = code.instructions[address]
        name = _unconditional(instruction)
        if name == "str" and _target(state, instruction) == ("number", _VTOR):
            stored = state.value(instruction.operands[0])
            yield Move(code.image.describe(address), stored[1] if stored and stored[0] == "number" else None)
        with suppress(Refusal):  # where the stack pointer is set, as start-up code does beside this register
            apply(state, instruction, name, lambda place: code.read(place, 4))
        if name in ("bl", "blx"):
            state.after_call()


def _unconditional(instruction: Instruction) -> str:
    name = instruction.mnemonic
    return name[:-2] if name.startswith("str") and len(name) == 5 and name.endswith(CONDITIONS) else name


def _target(state: State, instruction: Instruction) -> Value | None:
    operand = next((operand for operand in instruction.operands if operand.startswith("[")), None)
    return address_of(state, instruction, operand) if operand else None
