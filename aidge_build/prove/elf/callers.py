# SPDX-License-Identifier: MIT
"""Whether any code that runs may call a function: follows callers back to the start of the program."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from functools import cached_property
from math import inf
from struct import iter_unpack

from aidge_build.contract.thumb.instruction import Instruction, immediate
from aidge_build.prove.elf.destinations import written_registers
from aidge_build.prove.elf.frames import State, address_of
from aidge_build.prove.elf.image import Section
from aidge_build.prove.elf.linear_sweep import linear_sweep
from aidge_build.prove.elf.program_code import BRANCHES, Code

_REACH = 1 << 12  # bytes from an instruction to the word that it loads, and from the begin of a table to its entries
_UNWINDING = (".ARM.exidx", ".ARM.extab", ".eh_frame")  # offsets of functions that nothing calls
_SUMS = ("add", "sub", "rsb", "orr", "eor", "bic", "lsl", "lsr", "asr", "ror", "mul", "mla")
_WORD = 0xFFFFFFFF


class Callers:
    """The paths that lead to the functions of a program.

    A function is called by a branch, by a pointer in the constants or instructions of its caller, and by code that runs on into
    it. Pointers in data, and code that no function's symbol covers, may be used at any time.
    """

    def __init__(self, code: Code):
        self.code = code
        self._places = sorted({symbol.address for symbol in code.image.symbols if symbol.kind != "absolute"})

    @cached_property
    def has_begin(self) -> bool:
        """Whether a vector table, or an entry that is a Thumb function, says where the program begins."""
        entry = self.code.image.entry
        return bool(self.code.tables) or bool(entry & 1 and entry & ~1 in self.code.instructions)

    def dead(self, function: int) -> frozenset[int] | None:
        """Returns the functions that lead to `function` if no code that runs leads to it; None otherwise. In a program without a
        known start each function may run."""
        known, pending = {function}, [function]
        while pending:
            callers = set(self._callers(pending.pop()))
            if None in callers or callers and not self.has_begin:
                return None
            pending += callers - known
            known |= callers
        return frozenset(known - {function})

    def may_compute(self, function: int, dead: Collection[int], numbers: Collection[str]) -> str:
        """Returns how other code of the program may compute the address of `function` or of a `dead` function that leads to it;
        "" if no code does. These addresses are stored nowhere. The arrays `numbers` hold no addresses."""
        known = self.code.instructions
        if any(one.kind == "function" and one.size_bytes and one.address not in known for one in self.code.image.symbols):
            return "functions of the program are in a section that is not executable, so their calls are not read"
        named = self._named(dead)
        for one in (function, *sorted(dead)):
            if self._is_offset(one, named, numbers):
                return f"a table may hold the offset of {self.code.name(one)}"
        if not named.isdisjoint((function, *dead)) or self._computes_calls(dead):
            return "code of the program computes addresses of functions"
        return ""

    def _callers(self, function: int) -> Iterator[int | None]:
        """Yields the functions that lead to one function; None for code that may run at any time."""
        end, entry = self._end(function), self.code.image.entry
        if entry & 1 and function <= entry < end:
            yield None
        for source, target in self._leading:
            if function <= target < end and not function <= source < end:
                yield self._holder(source)
        before = self._in_front(function)
        if before is not None and self._goes_on(before):
            yield self._holder(before.address)
        yield from self.users(function | 1)

    def users(self, address: int) -> Iterator[int | None]:
        """Yields the functions that may hold an address, in an instruction or a constant; None for data."""
        yield from (self._holder(at) for at, half in self._halves if half == address & 0xFFFF)
        for place in self.code.image.places_of(address):
            yield from self._readers(place)

    @cached_property
    def _leading(self) -> list[tuple[int, int]]:
        branches = (branch for of_name in self.code.targets.values() for branch in of_name.items())
        return [(address, target) for address, target in branches if target is not None]

    @cached_property
    def _halves(self) -> list[tuple[int, int | None]]:
        found = self.code.instructions.items()
        return [(at, immediate(one.operands[-1])) for at, one in found if one.mnemonic.startswith("movw")]

    def _in_front(self, function: int) -> Instruction | None:
        """Returns the last instruction before a function, alignment NOPs skipped."""
        first = self.code.instructions.get(function)
        before = self.code.before(first) if first else None
        while before is not None and before.mnemonic == "nop":
            before = self.code.before(before)
        return before

    def _goes_on(self, last: Instruction) -> bool:
        """Whether the next instruction may run after this one. A call at the end of a function does not return."""
        return last.address in self.code.plain or last.mnemonic in BRANCHES or last.address in self.code.conditional

    def _readers(self, place: int) -> Iterator[int | None]:
        """Yields the function that a word is in, and the functions that load it relative to pc."""
        yield self._holder(place)
        addresses = self.code.addresses
        for at in addresses[bisect_left(addresses, place - _REACH) : bisect_right(addresses, place)]:
            one = self.code.instructions[at]
            if one.mnemonic.startswith("ldr") and len(one.operands) == 2 and one.operands[1].startswith("[pc"):
                if address_of(State(), one, one.operands[1]) == ("number", place):
                    yield self._holder(at)

    def _holder(self, place: int) -> int | None:
        """Returns the function that contains an address, by its symbol; None if no symbol covers it."""
        first, _ = self.code.extent(place)
        return first if first in self.code.functions and place < self._end(first) else None

    def _end(self, function: int) -> int:
        """Returns the address at which a function ends: by its size, or at the next symbol."""
        size = max((symbol.size_bytes for symbol in self.code.image.symbols if symbol.address == function), default=0)
        following = bisect_right(self._places, function)
        return function + size if size or following == len(self._places) else self._places[following]

    def _named(self, dead: Collection[int]) -> set[int]:
        """Returns the numbers that code outside `dead` loads or computes, bit 0 left out; they include all addresses that it
        knows."""
        guesses = (guess for start in self.code.starts if start not in dead for guess in linear_sweep(self.code, start))
        return {number & ~1 for guess in guesses for kind, number in guess.state.registers.values() if kind == "number"}

    def _is_offset(self, function: int, named: set[int], numbers: Collection[str]) -> bool:
        """Whether a word may be the distance of a function from the word, from the symbol before it, or from an address that code
        names shortly before it."""
        for place, word in self._words(numbers):
            base = function - word & _WORD  # or the next address: the word may have the Thumb bit of the function
            bases = {base & ~1, base + 1 & ~1}
            if not min(bases) <= place < min(bases) + _REACH:
                continue
            begin = self._places[bisect_right(self._places, place) - 1]
            if bases & {place, begin & ~1} or bases & named:
                return True
        return False

    def _words(self, numbers: Collection[str]) -> Iterator[tuple[int, int]]:
        """Yields (address, word) for each word that is neither an instruction nor a pointer to a function."""
        arrays = sorted((one.address, one.end) for one in self.code.image.symbols if one.name in numbers)
        for section in self.code.image.sections:
            if section.name in _UNWINDING:
                continue
            for place, word in _aligned(section):
                known = bisect_right(arrays, (place, inf)) - 1
                is_number = known >= 0 and place < arrays[known][1]
                if not is_number and place not in self.code.instructions and not (word & 1 and word & ~1 in self.code.functions):
                    yield place, word

    def _computes_calls(self, dead: Collection[int]) -> bool:
        """Whether code jumps to an address that it has just computed, within straight-line code."""
        for start, instructions in self.code.of_functions():
            made = set[str]()
            for one in () if start in dead else instructions:
                name, operands = one.mnemonic, one.operands
                made = set() if one.address in self.code.led_to else made
                if (name in ("blx", "bx") or name == "mov" and operands[0] == "pc") and operands[-1] in made:
                    return True
                written = written_registers(name, operands) - {"lr"}  # lr returns, though code may compute with it before
                is_made = name.startswith(_SUMS) or name.startswith("mov") and operands[-1] in made
                made = made | written if is_made else made - written
        return False


def _aligned(section: Section) -> Iterator[tuple[int, int]]:
    begin = section.address + -section.address % 4
    content = section.content[begin - section.address :]
    for index, (word,) in enumerate(iter_unpack("<I", content[: len(content) // 4 * 4])):
        yield begin + 4 * index, word
