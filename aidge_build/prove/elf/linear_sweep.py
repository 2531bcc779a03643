# SPDX-License-Identifier: MIT
"""Reads a function from its first to its last instruction as if it had no branches: a good guess of the values in registers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from aidge_build.contract.thumb.instruction import CONDITIONS, Instruction, immediate, memory_operand
from aidge_build.prove.elf.destinations import written_registers
from aidge_build.prove.elf.frames import CALL_CLOBBERS, Refusal, State, address_of, apply
from aidge_build.prove.elf.program_code import Code

_WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Guess:
    """The guessed values of registers before an instruction; `name` is its mnemonic, for a store without the condition.

    `parts` are the constant terms of sums with an unknown term, by register and stack slot: 24 for 4 * i + 24.
    """

    instruction: Instruction
    name: str
    state: State
    parts: dict[str | int, int] = field(default_factory=dict)

    def part(self, word: str) -> int:
        """Returns the constant term of a register or immediate operand, the whole number if it is known; 0 if nothing is
        known."""
        number = self.number(word)
        return self.parts.get(word, 0) if number is None else number

    def number(self, word: str) -> int | None:
        """Returns the number in a register or immediate operand, or None."""
        value, number = self.state.value(word), immediate(word)
        if number is None and value and value[0] == "number":
            number = value[1]
        return None if number is None else number & _WORD

    def address(self) -> tuple[int, bool] | None:
        """Returns the constant term in the address of a memory operand, and whether it is the whole address; None without a
        memory operand."""
        operand = next((operand for operand in self.instruction.operands if operand.startswith("[")), None)
        if operand is None:
            return None
        base, words, _ = memory_operand(operand)
        is_known = all(self.number(word) is not None for word in (base, *words[:1]))
        return (self.part(base) + self.shifted(words)) & _WORD, is_known

    def shifted(self, words: Sequence[str]) -> int:
        """Returns the constant term of `r2, lsl #3`, `r2` or `#4`; 0 without words and for other shifts."""
        amount = immediate(words[1].removeprefix("lsl ")) if len(words) > 1 else 0
        return self.part(words[0]) << amount if words and amount is not None else 0


def linear_sweep(code: Code, address: int) -> Iterator[Guess]:
    """Yields the instructions of the function that holds `address`, each with the values before it."""
    first, end = code.extent(address)
    state, parts = State(), dict[str | int, int]()
    for place in code.addresses[bisect_left(code.addresses, first) : bisect_left(code.addresses, end)]:
        instruction = code.instructions[place]
        guess = Guess(instruction, _unconditional(instruction), state, parts)
        yield guess
        if "pc" in written_registers(guess.name, instruction.operands) or guess.name == "bx":
            continue  # a return: code before it branches to the code after it
        _follow(guess)
        with suppress(Refusal):  # start-up code sets the stack pointer
            apply(state, instruction, guess.name, code.word)
        if guess.name in ("bl", "blx"):
            state.after_call()
            for register in CALL_CLOBBERS:
                parts.pop(register, None)


def _follow(guess: Guess) -> None:
    """Changes the constant terms as the instruction does."""
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
    """Returns the constant term of the result of an addition, a subtraction, a shift to the left or a copy; None for other
    instructions."""
    name, operands = guess.name.removesuffix("s"), guess.instruction.operands
    if name in ("add", "addw", "sub", "subw") and len(operands) >= 2:
        first, *second = operands[1:] if len(operands) > 2 else operands
        return guess.part(first) + guess.shifted(second) * (1 if name.startswith("add") else -1)
    if name == "lsl" and immediate(operands[-1]) is not None:
        return guess.shifted((operands[-2], f"lsl {operands[-1]}"))
    return guess.shifted(operands[1:]) if name == "mov" else None


def _slot(guess: Guess) -> int | None:
    """Returns the stack slot of the memory operand, or None."""
    operand = next((operand for operand in guess.instruction.operands if operand.startswith("[")), None)
    place = address_of(guess.state, guess.instruction, operand) if operand else None
    return place[1] if place and place[0] == "stack" else None


def _unconditional(instruction: Instruction) -> str:
    name = instruction.mnemonic
    return name[:-2] if name.startswith(("str", "stm")) and name.endswith(CONDITIONS) and len(name) >= 5 else name
