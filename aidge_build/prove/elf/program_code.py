# SPDX-License-Identifier: MIT
"""The Thumb code of a linked program: its instructions, branches and IT blocks."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product

from aidge_build.contract.thumb.instruction import CONDITIONS, Instruction, immediate, memory_operand
from aidge_build.prove.elf.destinations import is_misread
from aidge_build.prove.elf.effects import Effect, effect_of
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.linked_code import LinkedCode
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


class Code(LinkedCode[Instruction]):
    """The instructions, constants, function names and vector tables of a program of Thumb code."""

    pointer_bit = 1

    def __init__(self, image: Image, instructions: Mapping[int, Instruction]):
        super().__init__(image, instructions)
        self.addresses = sorted(instructions)
        self.texts = _by_text(instructions)
        self.conditional = frozenset(self._in_blocks())
        self.tables = find_tables(image)
        first = min((section.address for section in self._constants), default=0)
        self.initial_stack = self.tables[0].stack if self.tables else self.word(first)

    def of_functions(self) -> Iterator[tuple[int, list[Instruction]]]:
        """Yields the first address and the instructions of each function, in order."""
        bounds = [bisect_left(self.addresses, start) for start in self.starts]
        for start, first, end in zip(self.starts, bounds, [*bounds[1:], len(self.addresses)]):
            yield start, [self.instructions[place] for place in self.addresses[first:end]]

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
