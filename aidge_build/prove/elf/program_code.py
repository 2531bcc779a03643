# SPDX-License-Identifier: MIT
"""The code of a linked program: its instructions, its functions, and the targets in its constant tables."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product

from aidge_build.contract.thumb.instruction import CONDITIONS, Instruction, immediate, memory_operand
from aidge_build.prove.elf.destinations import is_misread
from aidge_build.prove.elf.effects import Effect, effect_of
from aidge_build.prove.elf.image import Image, Section, Symbol
from aidge_build.prove.elf.vectors import find_tables

# Instructions with two possible successors.
BRANCHES = {f"b{condition}" for condition in CONDITIONS} | {"cbz", "cbnz", "le", "letp", "wls", "wlstp"}
FORKS = BRANCHES - {"le", "letp", "wls", "wlstp"}  # these count in lr
DIRECT = FORKS | {"b", "bl"}  # these write no register, but for the lr of a call
# Other instructions after which the next one may not run, or that the analysis does not know.
_LEADING = frozenset("b bl blx bx bxns tbb tbh udf <undefined> bf bfl bfx bflx blxns svc".split())
_BLOCKS = frozenset("it" + "".join(others) for count in range(4) for others in product("te", repeat=count))
_BRANCHING = ("b", "cb", "le", "wls")

Text = tuple[str, tuple[str, ...]]  # the mnemonic and operands of an instruction


class Code:
    """The instructions, constants, function names and vector tables of a program."""

    def __init__(self, image: Image, instructions: Mapping[int, Instruction]):
        self.image = image
        self.instructions = instructions
        self.functions = {symbol.address: symbol for symbol in reversed(image.symbols) if symbol.kind == "function"}
        self.starts = sorted(self.functions)
        self.addresses = sorted(instructions)
        self.texts = _by_text(instructions)
        self.conditional = frozenset(self._in_blocks())
        self._constants = [section for section in image.sections if section.content and not section.writable]
        self.tables = find_tables(image)
        self._tables = [symbol for symbol in image.symbols if symbol.kind == "object" and symbol.size_bytes]
        self._twice = _shared(section for section in image.sections if section.content and section.executable)
        first = min((section.address for section in self._constants), default=0)
        self.initial_stack = self.tables[0].stack if self.tables else self.word(first)

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

    def of_functions(self) -> Iterator[tuple[int, list[Instruction]]]:
        """Yields the first address and the instructions of each function, in order."""
        bounds = [bisect_left(self.addresses, start) for start in self.starts]
        for start, first, end in zip(self.starts, bounds, [*bounds[1:], len(self.addresses)]):
            yield start, [self.instructions[place] for place in self.addresses[first:end]]

    def name(self, address: int) -> str:
        """Returns the name of the function that holds `address`."""
        symbol = self.functions.get(self.extent(address)[0])
        return symbol.name if symbol else f"0x{address:x}"

    def compared_with(self, switch: Instruction) -> int:
        """Returns how many entries the table of `tbb [pc, r0]` has, by the `cmp r0, #4` and `bhi` before it; 0 without these.

        If a branch skips the comparison, the table fills the space up to the next instruction, except for a last entry that may
        be alignment.
        """
        branch = self.before(switch)
        comparison = self.before(branch) if branch and branch.mnemonic in ("bhi", "bcs", "bhs") else None
        _, index, _ = memory_operand(switch.operands[0])
        if comparison is None or comparison.mnemonic != "cmp" or comparison.operands[0] not in index:
            return 0
        if self.led_to & {switch.address, branch.address}:
            behind = next(iter(self.addresses[bisect_left(self.addresses, switch.next) :]), switch.next)
            return (behind - switch.next) // (1 if switch.mnemonic == "tbb" else 2) - 1
        largest = immediate(comparison.operands[1])
        return 0 if largest is None else largest + (branch.mnemonic == "bhi")

    @cached_property
    def targets(self) -> Mapping[str, Mapping[int, int | None]]:
        """The target of each branch, by mnemonic and address."""
        found: dict[str, dict[int, int | None]] = {}
        for (name, _), places in self.texts.items():
            if name.startswith(_BRANCHING):
                of_name, target = found.setdefault(name, {}), self.instructions[places[0]].target
                for place in places:
                    of_name[place] = target
        return found

    @cached_property
    def led_to(self) -> frozenset[int | None]:
        """The targets of all branches."""
        return frozenset[int | None]().union(*(targets.values() for targets in self.targets.values()))

    @cached_property
    def plain(self) -> Mapping[int, Effect]:
        """The instructions after which the next one always runs, with the effect that their text gives: no branches, returns,
        conditions."""
        texts = ((effect_of(*text), text, places) for text, places in self.texts.items() if text[0] not in DIRECT)
        found = {place: effect for effect, text, places in texts if not _leads(text, effect) for place in places}
        for place in self.conditional:
            found.pop(place, None)
        return {place: effect for place, effect in found.items() if not self.is_overlaid(place)} if self._twice else found

    @cached_property
    def forks(self) -> frozenset[int]:
        """The branches that do nothing but lead to one of two places."""
        return self._of_one_section(place for name in FORKS for place in self.targets.get(name, ()))

    @cached_property
    def jumps(self) -> Mapping[int, int]:
        """The targets of unconditional branches, by address."""
        return self._leading("b")

    @cached_property
    def calls(self) -> Mapping[int, int]:
        """The called functions, by the address of the call."""
        return {at: target for at, target in self._leading("bl").items() if target in self.functions}

    def _leading(self, name: str) -> dict[int, int]:
        found = self.targets.get(name, {})
        return {at: target for at in self._of_one_section(found) if (target := found[at]) is not None}

    def _of_one_section(self, addresses: Iterable[int]) -> frozenset[int]:
        """Returns the addresses that no IT block makes conditional and no overlay shares."""
        kept = (at for at in addresses if not self.is_overlaid(at)) if self._twice else addresses
        return frozenset(kept) - self.conditional

    def _in_blocks(self) -> Iterator[int]:
        """Yields the addresses of instructions that an IT block makes conditional."""
        texts = [(name, places) for (name, operands), places in self.texts.items() if name in _BLOCKS and operands]
        blocks = [(name, place) for name, places in texts for place in places]
        for name, block in blocks:
            address = self.instructions[block].next
            for _ in name[1:]:
                yield address
                address = self.instructions[address].next if address in self.instructions else address

    def before(self, instruction: Instruction) -> Instruction | None:
        """Returns the instruction before another one, or None."""
        for size_bytes in (2, 4):
            before = self.instructions.get(instruction.address - size_bytes)
            if before is not None and before.size_bytes == size_bytes:
                return before
        return None

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
        others = {word & ~1 for word in words if word & 1 and word & ~1 in self.functions}
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

    def is_overlaid(self, address: int) -> bool:
        """Whether several sections have code at this address, one at a time (overlays)."""
        return any(begin <= address < end for begin, end in self._twice)


def _shared(sections: Iterable[Section]) -> tuple[tuple[int, int], ...]:
    """Returns the address ranges that two sections share."""
    spans = sorted((section.address, section.end) for section in sections)
    common = [(max(one[0], two[0]), min(one[1], two[1])) for one, two in combinations(spans, 2)]
    return tuple((begin, end) for begin, end in common if begin < end)


def _by_text(instructions: Mapping[int, Instruction]) -> Mapping[Text, Sequence[int]]:
    """Returns the addresses of each text: in a large program, about four instructions share a text."""
    found = defaultdict[Text, list[int]](list)
    for at, (_, _, name, operands, _) in instructions.items():
        found[name, operands].append(at)
    return found


def _leads(text: Text, effect: Effect) -> bool:
    """Whether an instruction that is no direct branch may not continue at the next one, or may be misread."""
    name = text[0]
    return "pc" in effect.written or name in _LEADING or name in BRANCHES or name in _BLOCKS or is_misread(*text)


def is_if_then(instruction: Instruction) -> bool:
    """Whether it begins an IT block."""
    return instruction.mnemonic in _BLOCKS and bool(instruction.operands)
