# SPDX-License-Identifier: MIT
"""The functions that start-up code calls by tables of the linker script: constructors and destructors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from aidge_build.contract.thumb.instruction import Instruction, memory_operand
from aidge_build.prove.elf.destinations import written_registers
from aidge_build.prove.elf.frames import CALL_CLOBBERS, Refusal, State, address_of, apply
from aidge_build.prove.elf.linked_code import LinkedCode
from aidge_build.prove.elf.program_code import BRANCHES, Code

# Prefixes of our start-up code's symbols; other symbols with aidge_ are kernels.
START_UP_NAMES = ("aidge_start", "aidge_vectors", "aidge_copied_", "aidge_cleared_", "aidge_constructors_")
# Functions of start-up code that call each function of tables between two symbols.
_TABLES = {
    "aidge_start": (("aidge_constructors_first", "aidge_constructors_end"),),
    "__libc_init_array": (("__preinit_array_start", "__preinit_array_end"), ("__init_array_start", "__init_array_end")),
    "__libc_fini_array": (("__fini_array_start", "__fini_array_end"),),
}
_WORD_BYTES = 4
# The kinds of values in registers and stack slots: an address in a table, or a word of a table.
_PLACE, _ENTRY = "place", "entry"
_KEEPING = ("mov", "movs", "add", "adds", "addw", "sub", "subs", "subw")
_Limits = Sequence[tuple[int, int]]


def tabled(code: Code, call: Instruction) -> tuple[int, ...] | None:
    """Returns the functions that an indirect call of start-up code calls, or None if it calls no entry of a table.

    The analysis assumes that the code walks from the start of the table to its end, and no further.
    """
    limits = limits_of_tables(code, code.name(call.address))
    return entries_of_tables(code, limits) if limits and _calls_entry(code, call, limits) else None


def limits_of_tables(code: LinkedCode, name: str) -> tuple[tuple[int, int], ...]:
    """Returns the start and end of each table of a function; none if a symbol is missing."""
    symbols = [(code.image.symbol(first), code.image.symbol(end)) for first, end in _TABLES.get(name, ())]
    limits = tuple((first.address, end.address) for first, end in symbols if first and end)
    return limits if len(limits) == len(symbols) else ()


def entries_of_tables(code: LinkedCode, limits: _Limits) -> tuple[int, ...] | None:
    """Returns the functions in tables; None if they are not stored."""
    # Compilers mark these tables writable, but no code writes them.
    entries = [code.stored(at, _WORD_BYTES) for first, end in limits for at in range(first, end, _WORD_BYTES)]
    return None if None in entries else tuple(entry & ~1 for entry in entries if entry is not None)


def is_in_tables(number: int, limits: _Limits) -> bool:
    """Whether code that walks through one of the tables may hold a number as its place."""
    return any(low - _WORD_BYTES <= number <= high for low, high in limits)


def _calls_entry(code: Code, call: Instruction, limits: _Limits) -> bool:
    """Whether the called register holds a word of one of the tables on every path to the call."""
    first, end = code.extent(call.address)
    seen: dict[int, _Held] = {}
    pending = [(first, _Held())]
    while pending:
        address, held = pending.pop()
        instruction = code.instructions.get(address)
        if instruction is None or not first <= address < end or (address in seen and not seen[address].meet(held)):
            continue
        onward = seen.setdefault(address, held).copy()
        onward.follow(code, instruction, limits)
        pending += [(place, onward.copy()) for place in _successors(instruction)]
    return call.address in seen and seen[call.address].kinds.get(call.operands[0]) == _ENTRY


def _successors(instruction: Instruction) -> Iterator[int]:
    name, target = instruction.mnemonic, instruction.target
    if target is not None and (name == "b" or name in BRANCHES):
        yield target
    if name not in ("b", "bx") and "pc" not in written_registers(name, instruction.operands):
        yield instruction.next


@dataclass
class _Held:
    """The state on a path, and which registers and stack slots hold an address in a table or a word of a table."""

    state: State = field(default_factory=State)
    kinds: dict[str | int, str] = field(default_factory=dict)

    def copy(self) -> _Held:
        return _Held(self.state.copy(), dict(self.kinds))

    def meet(self, other: _Held) -> bool:
        """Forgets values that `other` does not confirm. Returns whether anything was forgotten."""
        before = len(self.kinds)
        self.kinds = {where: kind for where, kind in self.kinds.items() if other.kinds.get(where) == kind}
        return self.state.meet(other.state) or len(self.kinds) != before

    def follow(self, code: Code, instruction: Instruction, limits: _Limits) -> None:
        """Changes the state as the instruction does."""
        name, operands, kind = instruction.mnemonic, instruction.operands, self._made(instruction)
        place = self._slot(instruction)
        if name == "str" and place is not None:
            self._set(place, self.kinds.get(operands[0]))
        with suppress(Refusal):  # the instruction sets the stack pointer
            apply(self.state, instruction, name, code.word)
        written = written_registers(name, operands)
        if name == "bl" or name.startswith("blx"):
            self.state.after_call()
            written = frozenset(CALL_CLOBBERS)
        for register in written:
            value = self.state.value(register)
            is_place = value and value[0] == "number" and is_in_tables(value[1], limits)
            self._set(register, _PLACE if is_place else kind)

    def _made(self, instruction: Instruction) -> str | None:
        """Returns the kind of value that the instruction writes to its destinations, or None."""
        name, operands = instruction.mnemonic, instruction.operands
        memory = next((operand for operand in operands if operand.startswith("[")), None)
        if name.startswith("ldm"):
            return _ENTRY if self.kinds.get(operands[0].removesuffix("!")) == _PLACE else None
        if name == "ldr" and memory:
            base, words, _ = memory_operand(memory)
            slot = self._slot(instruction)
            return _ENTRY if self._is_place(base, *words) else self.kinds.get(slot) if slot is not None else None
        return self._kept_kind(name, operands) if name in _KEEPING else None

    def _kept_kind(self, name: str, operands: tuple[str, ...]) -> str | None:
        """Returns the kind of a result: a move copies the kind, a sum with an address in a table is an address in it."""
        is_move = name.startswith("mov")
        sources = operands[1:] if is_move or len(operands) > 2 else operands
        kinds = {self.kinds[source] for source in sources if source in self.kinds}
        if is_move and len(sources) == 1 and kinds:
            return kinds.pop()
        return _PLACE if _PLACE in kinds else None

    def _is_place(self, *words: str) -> bool:
        return any(self.kinds.get(word) == _PLACE for word in words)

    def _slot(self, instruction: Instruction) -> int | None:
        """Returns the stack slot of the memory operand, or None."""
        operand = next((operand for operand in instruction.operands if operand.startswith("[")), None)
        place = address_of(self.state, instruction, operand) if operand else None
        return place[1] if place and place[0] == "stack" else None

    def _set(self, where: str | int, kind: str | None) -> None:
        if kind is None:
            self.kinds.pop(where, None)
        else:
            self.kinds[where] = kind
