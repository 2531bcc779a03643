# SPDX-License-Identifier: MIT
"""Operands of instructions as functions of the registers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aidge_build.contract.thumb.instruction import Instruction, immediate, memory_operand
from aidge_build.prove.longest.registers import Convention
from aidge_build.prove.longest.thumb.arithmetic import SHIFTS
from aidge_build.prove.longest.values import WORD, Near, Objects, Partly, Value, shifted

NUMBERS = {name: number for number, name in enumerate((*(f"r{number}" for number in range(13)), "sp", "lr"))}
SP, LR, VECTORS, COUNT = 13, 14, 16, 48  # from number 16 on, s0 to s31
# Procedure Call Standard for the Arm Architecture (IHI 0042), 6.1.1, 6.1.2 and 6.4.
CONVENTION = Convention(COUNT, VECTORS, SP, LR, range(4), frozenset((*range(4, 12), *range(VECTORS + 16, COUNT))))
_VECTOR = re.compile(r"([sdq])(\d+)(?:\[\d+\])?")
_SHIFT = re.compile(r"(lsl|lsr|asr|ror) (#\d+|r\d+|lr)")


def vector_parts(word: str) -> Sequence[int]:
    """Returns the numbers of the registers s0 to s31 in `s3`, `d1` and `q0`; for an element (`q0[1]`), of the whole register."""
    match = _VECTOR.fullmatch(word)
    if match is None:
        return ()
    parts = {"s": 1, "d": 2, "q": 4}[match[1]]
    first = VECTORS + parts * int(match[2])
    return range(first, first + parts) if first < COUNT else ()


Reader = Callable[[list], Value]


def _unknown(values: list) -> Value:
    return None


def register(word: str) -> int | None:
    """Returns the number of a core register except for pc, or None."""
    return NUMBERS.get(word)


def program_counter(instruction: Instruction, aligned: bool) -> int:
    """Returns the value of pc that the instruction reads."""
    return instruction.address + 4 & (~3 if aligned else WORD)


def reader(instruction: Instruction, words: tuple[str, ...]) -> Reader | None:
    """Returns a reader of `r1`, `#4`, `pc` or `r2, lsl #3`; None for other operands."""
    number = _only_number(words)
    if number is not None:
        constant = number & WORD
        return lambda values: constant
    if words == ("pc",):
        place = program_counter(instruction, len(instruction.operands) > 2)
        return lambda values: place
    at = register(words[0])
    if at is None or len(words) > 2:
        return None
    if len(words) == 1:
        return lambda values: values[at]
    return _shifted(at, words[1])


def _only_number(words: tuple[str, ...]) -> int | None:
    """Returns the number of a single operand `#4`; None for other operands."""
    return immediate(*words) if len(words) == 1 else None


def _shifted(at: int, shift: str) -> Reader | None:
    match = _SHIFT.fullmatch(shift)
    if match is None:
        return _unknown if shift == "rrx" else None
    name, by_word = match.groups()
    compute, amount = SHIFTS[name], immediate(by_word)
    if amount is None:
        by = NUMBERS[by_word]

        def read_shifted(values: list) -> Value:
            one, two = values[at], values[by]
            return compute(one, two & 255) & WORD if type(one) is int and type(two) is int else None

        return read_shifted

    def read(values: list) -> Value:
        one = values[at]
        if type(one) is int:
            return compute(one, amount) & WORD
        return shifted(name, one, amount) if type(one) is Partly else None

    return read


@dataclass(frozen=True)
class Address:
    """A memory operand: its address, and the new value of its base register (`base` None: no write-back)."""

    place: Reader
    base: int | None = None
    after: Reader = _unknown


def address(instruction: Instruction, objects: Objects, written_bytes: int | None = None) -> Address:
    """Returns the memory operand `[r1, #4]!`, `[r1], #4` or `[r1, r2, lsl #2]`; `written_bytes` is the number that `[r1]!`
    adds."""
    position = next(index for index, operand in enumerate(instruction.operands) if operand.startswith("["))
    name, words, writes_back = memory_operand(instruction.operands[position])
    behind = instruction.operands[position + 1 :]
    if name == "pc":
        place = program_counter(instruction, True)
        offset = _only_number(words or ("#0",))
        if offset is None:
            return Address(_unknown)
        constant = place + offset & WORD
        return Address(lambda values: constant)
    base = register(name)
    if base is None:
        return Address(_unknown)  # a vector of addresses
    if behind:
        return Address(lambda values: values[base], base, moved(base, behind, instruction, objects))
    if writes_back and not words:
        return Address(lambda values: values[base], base, moved(base, (f"#{written_bytes}",), instruction, objects))
    place_reader = moved(base, words, instruction, objects) if words else lambda values: values[base]
    return Address(place_reader, base if writes_back else None, place_reader)


def moved(base: int, words: tuple[str, ...], instruction: Instruction, objects: Objects) -> Reader:
    """Returns a reader of a register plus an operand."""
    number = _only_number(words)
    if number is not None:

        def plus(values: list) -> Value:
            one = values[base]
            if type(one) is int:
                return one + number & WORD
            return one if type(one) is Near else None  # the bits of such a sum are unknown

        return plus
    offset = reader(instruction, words)
    if offset is None:  # a vector of offsets
        return lambda values: objects.near(values[base], None)

    def total(values: list) -> Value:
        one, two = values[base], offset(values)
        return one + two & WORD if type(one) is int and type(two) is int else objects.near(one, two)

    return total
