# SPDX-License-Identifier: MIT
"""A linked program for each instruction set: its instructions, functions, constants, and the targets in its constant tables."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, Generic, Protocol, TypeVar

from aidge_build.prove.elf.image import Image, Section, Symbol


class Placed(Protocol):
    """An instruction of any set."""

    @property
    def address(self) -> int:
        """The address of its first byte."""

    @property
    def next(self) -> int:
        """The address of the next instruction."""


One = TypeVar("One", bound=Placed)


class LinkedCode(Generic[One]):
    """The instructions, constants and function names of a program.

    `pointer_bit` is what the address of a function has added in a pointer to it, `initial_stack` the stack pointer after reset.
    """

    pointer_bit = 0
    initial_stack: int | None = None

    def __init__(self, image: Image, instructions: Mapping[int, One]):
        self.image = image
        self.instructions = instructions
        self.functions = {symbol.address: symbol for symbol in reversed(image.symbols) if symbol.kind == "function"}
        self.starts = sorted(self.functions)
        self._constants = [section for section in image.sections if section.content and not section.writable]
        self._tables = [symbol for symbol in image.symbols if symbol.kind == "object" and symbol.size_bytes]
        self._twice = _shared(section for section in image.sections if section.content and section.executable)

    @cached_property
    def plain(self) -> Mapping[int, Any]:
        """The instructions after which the next one always runs, with their effects, if they are known before a walk."""
        return {}

    @cached_property
    def forks(self) -> frozenset[int]:
        """The known branches that do nothing but lead to one of two places."""
        return frozenset()

    @cached_property
    def led_to(self) -> frozenset[int | None]:
        """The targets of all known branches."""
        return frozenset()

    @cached_property
    def jumps(self) -> Mapping[int, int]:
        """The targets of known unconditional branches, by address."""
        return {}

    @cached_property
    def calls(self) -> Mapping[int, int]:
        """The known called functions, by the address of the call."""
        return {}

    def read(self, address: int, width: int) -> int | None:
        """Returns the little-endian number at an address that the program cannot write, or None."""
        return self._read(self._constants, address, width)

    def word(self, address: int) -> int | None:
        """Returns the word at an address that the program cannot write, or None."""
        return self._read(self._constants, address, 4)

    def stored(self, address: int, width: int) -> int | None:
        """Returns the little-endian number that an address holds at the start, even if the program can write it, or None."""
        return self._read(self.image.sections, address, width)

    @staticmethod
    def _read(sections: Sequence[Section], address: int, width: int) -> int | None:
        for section in sections:
            offset = address - section.address
            if section.content and 0 <= offset <= section.size_bytes - width:
                return int.from_bytes(section.content[offset : offset + width], "little")
        return None

    def extent(self, address: int) -> tuple[int, int]:
        """Returns the first address of the function that holds `address`, and of the next function."""
        index = bisect_right(self.starts, address)
        first = self.starts[index - 1] if index else 0
        return first, self.starts[index] if index < len(self.starts) else 1 << 32

    def name(self, address: int) -> str:
        """Returns the name of the function that holds `address`."""
        symbol = self.functions.get(self.extent(address)[0])
        return symbol.name if symbol else f"0x{address:x}"

    def is_inside(self, name: str, address: int) -> bool:
        """Whether an address is one of code of the function `name`, its parts that are elsewhere included."""
        return address in self.instructions and self.name(address) == name

    def table_at(self, place: int) -> tuple[int, int | None]:
        """Returns the first address and the end of the table that holds `place`; (place, None) if no symbol covers it."""
        symbol = next((symbol for symbol in self._tables if symbol.holds(place)), None)
        return (symbol.address, symbol.end) if symbol else (place, None)

    @cached_property
    def labels(self) -> Mapping[str, frozenset[int]]:
        """The possible targets of jumps through tables in each function: the targets of all constant tables with an address
        inside the function.

        A table is an array of addresses of code. Compilers may take an address below the table and add an offset, so an address
        in the code does not identify its table.
        """
        found: dict[str, set[int]] = {}
        for symbol in self._tables:
            targets = set(self._addresses_in(symbol))
            for name in {self.name(target) for target in targets if target not in self.functions}:
                found.setdefault(name, set()).update(targets)
        return {name: frozenset(targets) for name, targets in found.items()}

    def targets_in(self, begin: int, end: int, name: str) -> frozenset[int]:
        """Returns the targets in a table that may also hold numbers: addresses in function `name`, and other functions."""
        words = [self.word(place) or 0 for place in range(begin, end - 3, 4)]
        inside = {word & ~1 for word in words if word & ~1 in self.instructions and self.name(word & ~1) == name}
        others = {word & ~1 for word in words if word & 1 == self.pointer_bit and word & ~1 in self.functions}
        return frozenset(inside | others if inside else ())

    def _addresses_in(self, symbol: Symbol) -> Iterator[int]:
        """Yields the addresses of code in a constant array that holds only addresses of code and zeros."""
        words = []
        for place in range(symbol.address, symbol.end - 3, 4):
            word = self.word(place)
            if word is None or (word and word & ~1 not in self.instructions):
                return
            words += [word & ~1] if word else []
        yield from words

    @property
    def placed(self) -> Container[int]:
        """The addresses at which an instruction is known to begin, and no constant."""
        return self.instructions

    def is_overlaid(self, address: int) -> bool:
        """Whether several sections have code at this address, one at a time (overlays)."""
        return any(begin <= address < end for begin, end in self._twice)


def _shared(sections: Iterable[Section]) -> tuple[tuple[int, int], ...]:
    """Returns the address ranges that two sections share."""
    spans = sorted((section.address, section.end) for section in sections)
    common = [(max(one[0], two[0]), min(one[1], two[1])) for one, two in combinations(spans, 2)]
    return tuple((begin, end) for begin, end in common if begin < end)
