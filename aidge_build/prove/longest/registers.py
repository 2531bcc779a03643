# SPDX-License-Identifier: MIT
"""The registers of a core with their known values, and what the calling convention of its instruction set says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.memory import Memory
from aidge_build.prove.longest.values import Flags, Objects, Value, joined_flags


@dataclass(frozen=True)
class Convention:
    """The calling convention of an instruction set, by the numbers of registers.

    There are `count` registers; the first `core` ones are of the core itself, not of its FPU. `arguments` hold the first
    arguments, and the first of them the result. A function preserves the registers in `kept`, and `stack`. `fixed` are numbers
    that registers always hold.
    """

    count: int
    core: int
    stack: int
    link: int
    arguments: Sequence[int]
    kept: frozenset[int]
    fixed: Mapping[int, int] = field(default_factory=dict)

    def values(self, arguments: Sequence[Value], stack: int) -> list[Value]:
        """Returns the values of the registers at a call with these arguments in registers."""
        values: list[Value] = [None] * self.count
        known = {**self.fixed, **dict(zip(self.arguments, arguments)), self.stack: stack}
        for at, value in known.items():
            values[at] = value
        return values


class Registers:
    """The values of registers by their numbers; the flags; and the elements per iteration of a vector loop (1 outside a loop)."""

    __slots__ = ("values", "flags", "elements")

    def __init__(self, values: list[Value], flags: Flags = None, elements: int = 1):
        self.values = values
        self.flags = flags
        self.elements = elements

    def copy(self) -> Registers:
        """Returns an independent copy."""
        return Registers(self.values[:], self.flags, self.elements)


Operation = Callable[[Registers, Memory], None]


def meet(registers: Registers, other: Registers, objects: Objects) -> None:
    """Keeps the values that `other` confirms."""
    registers.values = [objects.joined(one, two) for one, two in zip(registers.values, other.values, strict=True)]
    registers.flags = joined_flags(registers.flags, other.flags)
    if registers.elements != other.elements:
        raise Refusal("loops of vectors with elements of several sizes meet")


def require_known(value: Value, what: str) -> int:
    """Returns a known number; Refusal for another value."""
    if not isinstance(value, int):
        raise Refusal(f"{what} depends on data")
    return value
