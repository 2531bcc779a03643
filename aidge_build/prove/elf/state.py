# SPDX-License-Identifier: MIT
"""The values of registers and stack slots at an instruction of any instruction set, as far as static analysis can know them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

# A value: ("stack", bytes above the stack pointer at entry), ("number", n), ("return", 0), ("kept", n) = the value of register n
# at entry, or, for jump tables in memory, ("offset", table) = table + unknown index, and ("entry", table) = a word of the table.
# On RISC-V also ("below", n) = a number from 0 to n - 1; ("begin of row", table + n * 2**32) = an address in the first n bytes
# of a table, ("row", the same) = a word there, ("far row", the same) = a table's address + such a word; ("distance", table) = a
# table's address + any word of it; ("loaded", n) = a number from memory, which decides no branch; and ("place", table) = an
# address in a table that start-up code walks through, in a variable that nothing else changes.
Value = tuple[str, int]
WORD = 0xFFFFFFFF
RETURN: Value = ("return", 0)

_MOST_ALIGNMENT = 31


class Refusal(Exception):
    """The stack use cannot be bounded; the text says why and at which address, `chain` through which calls."""

    chain: tuple[int, ...] = ()


@dataclass(slots=True)
class CallState:
    """The known values at an instruction. `stack` is the stack pointer in bytes relative to the entry of the function (0 or
    negative).

    `pushed` are the slots that hold saved registers. `lowest` is the lowest address that a store has written so far;
    -fstack-clash-protection writes below the stack pointer. `is_taken` says whether code has copied or stored the address of a
    stack slot: a pointer may then lead to each slot, as compilers compute other addresses from it. Otherwise no other function
    changes spilled values, such as the address of a function under -mlong-calls. `has_numbers` says whether numbers are followed:
    the frame of most functions does not depend on the numbers that they compute with.

    `KEPT` are the registers that a function must preserve, with their values at entry; `CLOBBERS` are the ones that a call may
    change.
    """

    KEPT: ClassVar[Mapping[str, Value]]
    CLOBBERS: ClassVar[tuple[str, ...]]

    stack: int = 0
    lowest: int = 0
    registers: dict[str, Value] = field(default_factory=dict)
    slots: dict[int, Value] = field(default_factory=dict)
    pushed: set[int] = field(default_factory=set)
    is_taken: bool = False
    has_numbers: bool = True

    def copy(self) -> Self:
        """Returns an independent copy."""
        known = self.registers.copy(), self.slots.copy(), self.pushed.copy()
        return type(self)(self.stack, self.lowest, *known, self.is_taken, self.has_numbers)

    def value(self, register: str) -> Value | None:
        """Returns the known value of a register, or None."""
        return ("stack", self.stack) if register == "sp" else self.registers.get(register)

    def meet(self, other: Self) -> bool:
        """Forgets values that `other` does not confirm. Returns whether anything was forgotten."""
        is_confirmed = self.registers.items() <= other.registers.items() and self.slots == other.slots
        if is_confirmed and self.pushed == other.pushed and self.is_taken >= other.is_taken:
            return False
        before = len(self.registers) + len(self.slots) + len(self.pushed), self.is_taken
        self.is_taken |= other.is_taken
        self.pushed &= other.pushed
        self.registers = {name: value for name, value in self.registers.items() if other.registers.get(name) == value}
        self.slots = {at: value for at, value in self.slots.items() if other.slots.get(at) == value}
        return (len(self.registers) + len(self.slots) + len(self.pushed), self.is_taken) != before

    @property
    def lost(self) -> frozenset[str]:
        """The registers that do not hold their value at entry, although a function must preserve them."""
        return frozenset(name for name, _ in self.KEPT.items() - self.registers.items())

    def after_call(self, lost: frozenset[str] = frozenset()) -> None:
        """Forgets what a called function may change: call-clobbered registers, the registers that it has `lost`, and variables
        that it got an address of; never saved registers."""
        for register in (*self.CLOBBERS, *lost):
            self.registers.pop(register, None)
        self.forget_variables()

    def forget_variables(self) -> None:
        """Forgets the slots that a store through an unknown pointer may change: no such pointer reaches saved registers. A pushed
        number may be a variable, as a push also allocates its slot."""
        self.slots = {
            at: value
            for at, value in self.slots.items()
            if value[0] in ("return", "kept", "place")
            or (value[0] == "number" and not self.is_taken)
            or (value[0] == "stack" and at in self.pushed)
        }

    def set_register(self, register: str, value: Value | None) -> None:
        """Gives a register a value, None if it is unknown."""
        if value is None:
            self.registers.pop(register, None)
        else:
            self.registers[register] = value
            self.is_taken |= value[0] == "stack"

    def set_slot(self, at: int, value: Value | None) -> None:
        """Gives a slot a value, None if it is unknown."""
        if value is None:
            self.slots.pop(at, None)
        else:
            self.slots[at] = value

    def overwrite(self, at: int, size_bytes: int) -> None:
        """Forgets the slots that a store to the stack writes, in part or whole."""
        self.lowest = min(self.lowest, at)
        written = range(at - 3, at + size_bytes)
        self.pushed = {slot for slot in self.pushed if slot not in written}
        for slot in [slot for slot in self.slots if slot in written]:
            del self.slots[slot]

    def loaded(self, address: Value, read_constant: Callable[[int], int | None]) -> Value | None:
        """Returns the value of the word at an address, None if it is unknown."""
        kind, place = address
        if kind == "stack":
            return self.slots.get(place)
        if kind in ("offset", "place"):
            return "entry", place
        word = read_constant(place) if kind == "number" else None
        return None if word is None else ("number", word)


def signed(number: int) -> int:
    """Returns 32 bits as a signed number."""
    number &= WORD
    return number - (1 << 32) if number & 0x80000000 else number


def plus(one: Value | None, two: Value | None, sign: int = 1) -> Value | None:
    """Returns the sum of two values, or their difference; a place in a table if one of them is unknown."""
    match one, two:
        case ("stack", place), ("number", number):
            return "stack", place + sign * signed(number)
        case ("number", first), ("number", number):
            return "number", first + sign * signed(number) & WORD
        case ("number", number), ("stack", place) if sign == 1:
            return "stack", place + signed(number)
        case ("offset" | "place" as kind, table), ("number", _):
            return kind, table
        case (("number" | "offset", table), None) | (None, ("number" | "offset", table)) if sign == 1:
            return "offset", table
        case (("place", _) as place, None) | ((None | ("number", _)), (("place", _) as place)) if sign == 1:
            return place
    return None


def rounded_down(place: int, mask: int) -> Value | None:
    """Returns the lowest address that aligning a stack address can give, as handlers do; `mask` are the bits that become 0. None
    for another mask."""
    return None if mask & (mask + 1) or mask > _MOST_ALIGNMENT else ("stack", place - mask)
