# SPDX-License-Identifier: MIT
"""Where a program tells the core to use another vector table: stores to the register VTOR."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aidge_build.elf.disassembly import CONDITIONS, Instruction, immediate, memory_operand, register_list
from aidge_build.elf.frames import Refusal, State, Value, address_of, apply
from aidge_build.elf.program_code import Code

# The vector table offset register in the system control block, and its other name in the non-secure state (Armv8-M Architecture
# Reference Manual, D1.2.270).
_VTOR = (0xE000ED08, 0xE002ED08)
_CONTROL_BLOCKS = (0xE000ED00, 0xE002ED00)
_PRIVATE_BUS = range(0xE0000000, 0xE0100000)
# What code begins with that makes such an address of parts: upper halves and bytes.
_PARTS = (0xE000, 0xE002, 0xE0)
_ARGUMENTS = ("r0", "r1", "r2", "r3")


@dataclass(frozen=True)
class Move:
    """A store to VTOR at `where` ("boot+0x1a"); `table` is the address that is stored, None where the code does not say it.

    `instead` says what else the code does with the address of VTOR, "" for a store.
    """

    where: str
    table: int | None
    instead: str = ""


def vector_moves(code: Code) -> tuple[Move, ...]:
    """The stores in the program, and what might lead to one, in order of address.

    Each function that holds an address of the private bus is read from its first to its last instruction as if it had no
    branches: what a register holds there is a good guess. Where that shows no use of VTOR though its address is there, be it in
    a register or in data, this is said, too.
    """
    addresses = sorted(code.instructions)
    literals = set[int]()
    suspects = sorted({code.extent(address)[0] for address in addresses if _names_private_bus(code, address, literals)})
    moves = [move for start in suspects for move in _in_function(code, addresses, start)]
    return (*moves, *_in_data(code, literals))


def _names_private_bus(code: Code, address: int, literals: set[int]) -> bool:
    instruction = code.instructions[address]
    if not instruction.mnemonic.startswith(("ldr", "mov")) or len(instruction.operands) != 2:
        return False
    number = immediate(instruction.operands[1])
    if instruction.operands[1].startswith("[pc"):
        place = address_of(State(), instruction, instruction.operands[1])
        number = code.read(place[1], 4) if place else None
        literals.update([place[1]] if place else [])
    return number is not None and (number in _PRIVATE_BUS or number in _PARTS)


def _in_data(code: Code, literals: set[int]) -> Iterator[Move]:
    """Words that are the address of VTOR, but for those that code loads by itself."""
    patterns = [register.to_bytes(4, "little") for register in _VTOR]
    for section in code.image.sections:
        for pattern in patterns:
            at = section.content.find(pattern)
            while at >= 0:
                place = section.address + at
                if place % 4 == 0 and place not in literals:
                    yield Move(code.image.describe(place), None, "holds VTOR's address")
                at = section.content.find(pattern, at + 1)


def _in_function(code: Code, addresses: Sequence[int], start: int) -> Iterator[Move]:
    first, end = code.extent(start)
    state = State()
    held, is_used = "", False
    for address in addresses[bisect_left(addresses, first) : bisect_left(addresses, end)]:
        instruction = code.instructions[address]
        name = _unconditional(instruction)
        stored = [value for place, value in _stores(state, instruction, name) if place in _VTOR]
        for value in stored:
            yield Move(code.image.describe(address), value[1] if value and value[0] == "number" else None)
        handed = _handed_on(code, state, instruction, name, (first, end))
        if handed:
            yield Move(code.image.describe(address), None, handed)
        is_used = is_used or bool(stored or handed) or _is_read(state, instruction, name)
        with suppress(Refusal):  # where the stack pointer is set, as start-up code does beside this register
            apply(state, instruction, name, lambda place: code.read(place, 4))
        if not held and any(value[0] == "number" and value[1] in _VTOR for value in state.registers.values()):
            held = code.image.describe(address)
        if name in ("bl", "blx"):
            state.after_call()
    if held and not is_used:
        yield Move(held, None, "takes VTOR's address")


def _stores(state: State, instruction: Instruction, name: str) -> Iterator[tuple[int, Value | None]]:
    """Each word that is stored at a known address, with its value."""
    operands = instruction.operands
    if name in ("str", "strd"):
        place, registers = _address(state, instruction), operands[: 1 if name == "str" else 2]
    elif name in ("stm", "stmia", "stmdb"):
        value, registers = state.value(operands[0].removesuffix("!")), register_list(operands[1])
        below = 4 * len(registers) if name == "stmdb" else 0
        place = value[1] - below if value and value[0] == "number" else None
    else:
        return
    for index, register in enumerate(registers if place is not None else ()):
        yield place + 4 * index, state.value(register)


def _is_read(state: State, instruction: Instruction, name: str) -> bool:
    return name == "ldr" and _address(state, instruction) in _VTOR


def _address(state: State, instruction: Instruction) -> int | None:
    """The number that a memory operand comes to; of an index, too, whose value is known."""
    operand = next((operand for operand in instruction.operands if operand.startswith("[")), None)
    found = address_of(state, instruction, operand) if operand else None
    if found and found[0] == "offset" and operand:
        base, words, _ = memory_operand(operand)
        values = [state.value(word) for word in (base, *words)]
        numbers = [value[1] for value in values if value and value[0] == "number"]
        return sum(numbers) if len(numbers) == len(values) == 2 else None
    return found[1] if found and found[0] == "number" else None


def _handed_on(code: Code, state: State, instruction: Instruction, name: str, extent: tuple[int, int]) -> str:
    """What is said where the address goes to another function, or to memory that is not the function's own."""
    target = instruction.target
    leaves = name == "b" and target is not None and not extent[0] <= target < extent[1]
    if leaves or name in ("bl", "blx"):
        values = [state.value(register) for register in _ARGUMENTS]
        is_given = any(value and value[0] == "number" and value[1] in _VTOR for value in values)
        is_block = bool(values[0] and values[0][0] == "number" and values[0][1] in _CONTROL_BLOCKS)
        return f"gives VTOR's address to {code.name(target) if target else 'another function'}" if is_given or is_block else ""
    if name == "str":
        value, place = state.value(instruction.operands[0]), next(iter(instruction.operands[1:]), "")
        into = address_of(state, instruction, place)
        if value and value[0] == "number" and value[1] in _VTOR and not (into and into[0] == "stack"):
            return "keeps VTOR's address"
    return ""


def _unconditional(instruction: Instruction) -> str:
    name = instruction.mnemonic
    return name[:-2] if name.startswith(("str", "stm")) and name.endswith(CONDITIONS) and len(name) >= 5 else name
