# SPDX-License-Identifier: MIT
"""A function read from its first to its last instruction as if it had no branches: a good guess of what registers hold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from aidge_build.prove.elf.destinations import written_registers
from aidge_build.prove.elf.disassembly import CONDITIONS, Instruction, immediate, memory_operand
from aidge_build.prove.elf.frames import CALL_CLOBBERS, Refusal, State, address_of, apply
from aidge_build.prove.elf.program_code import Code

_WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Guess:
    """What registers hold in front of an instruction, `name` without the condition of a store.

    `parts` are the constants in sums of a constant and something that is not known, of registers and of places in the stack:
    4 * i + 24 has 24.
    """

    instruction: Instruction
    name: str
    state: State
    parts: dict[str | int, int] = field(default_factory=dict)

    def part(self, word: str) -> int:
        """The constant in what a register or a number is, all of it where that is known; 0 where nothing is."""
        number = self.number(word)
        return self.parts.get(word, 0) if number is None else number

    def number(self, word: str) -> int | None:
        """What a register or a number is, or None."""
        value, number = self.state.value(word), immediate(word)
        if number is None and value and value[0] == "number":
            number = value[1]
        return None if number is None else number & _WORD

    def address(self) -> tuple[int, bool] | None:
        """The constant in the address of a memory operand, and whether it is all of the address; None without an operand."""
        operand = next((operand for operand in self.instruction.operands if operand.startswith("[")), None)
        if operand is None:
            return None
        base, words, _ = memory_operand(operand)
        is_known = all(self.number(word) is not None for word in (base, *words[:1]))
        return (self.part(base) + self.shifted(words)) & _WORD, is_known

    def shifted(self, words: Sequence[str]) -> int:
        """The constant in `r2, lsl #3`, in `r2` or `#4`, or in no words; 0 where it is shifted otherwise."""
        amount = immediate(words[1].removeprefix("lsl ")) if len(words) > 1 else 0
        return self.part(words[0]) << amount if words and amount is not None else 0


def straight_on(code: Code, address: int) -> Iterator[Guess]:
    """The instructions of the function that holds `address`, each with what is known in front of it."""
    first, end = code.extent(address)
    state, parts = State(), dict[str | int, int]()
    for place in code.addresses[bisect_left(code.addresses, first) : bisect_left(code.addresses, end)]:
        instruction = code.instructions[place]
        guess = Guess(instruction, _unconditional(instruction), state, parts)
        yield guess
        if "pc" in written_registers(guess.name, instruction.operands) or guess.name == "bx":
            continue  # a return: what stands behind it is reached from in front of it
        _follow(guess)
        with suppress(Refusal):  # where the stack pointer is set, as start-up code does
            apply(state, instruction, guess.name, lambda constant: code.read(constant, 4))
        if guess.name in ("bl", "blx"):
            state.after_call()
            for register in CALL_CLOBBERS:
                parts.pop(register, None)


def _follow(guess: Guess) -> None:
    """Changes the constants in sums as the instruction does."""
    operands, found = guess.instruction.operands, _sum(guess)
    place = _slot(guess)
    if guess.name == "str" and place is not None:
        guess.parts[place] = guess.part(operands[0])
    if guess.name == "ldr" and place is not None:
        found = guess.parts.get(place)
    for register in written_registers(guess.name, operands):
        guess.parts.pop(register, None)
    if found:
        guess.parts[operands[0]] = found & _WORD


def _sum(guess: Guess) -> int | None:
    """The constant in what an addition, a subtraction, a shift to the left or a copy gives."""
    name, operands = guess.name.removesuffix("s"), guess.instruction.operands
    if name in ("add", "addw", "sub", "subw") and len(operands) >= 2:
        first, *second = operands[1:] if len(operands) > 2 else operands
        return guess.part(first) + guess.shifted(second) * (1 if name.startswith("add") else -1)
    if name == "lsl" and immediate(operands[-1]) is not None:
        return guess.shifted((operands[-2], f"lsl {operands[-1]}"))
    return guess.shifted(operands[1:]) if name == "mov" else None


def _slot(guess: Guess) -> int | None:
    """The place in the stack that a memory operand names."""
    operand = next((operand for operand in guess.instruction.operands if operand.startswith("[")), None)
    place = address_of(guess.state, guess.instruction, operand) if operand else None
    return place[1] if place and place[0] == "stack" else None


def _unconditional(instruction: Instruction) -> str:
    name = instruction.mnemonic
    return name[:-2] if name.startswith(("str", "stm")) and name.endswith(CONDITIONS) and len(name) >= 5 else name
