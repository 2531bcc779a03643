# SPDX-License-Identifier: MIT
"""Instructions of straight code that must keep their order, and the cycles between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from aidge_build.build.ordering.lines import Moved
from aidge_build.contract.thumb.instruction import Instruction, immediate
from aidge_build.contract.work import UPDATE, Work
from aidge_build.prove.timing.pipeline import Operation

_LANES = frozenset(("vector_gather", "vector_scatter"))
_UPWARDS = frozenset(("ldm", "stm", "ldmia", "stmia", "vldm", "vstm", "vldmia", "vstmia"))  # from the base register on

Root = tuple[str, int]  # a value that a register once had: (register, number of its definition)


class _Access(NamedTuple):
    """An access to the bytes from `first` to `end`, counted from a root; None: anywhere."""

    number: int
    root: Root | None
    first: int
    end: int

    def may_share(self, other: _Access) -> bool:
        """Whether both may reach the same byte."""
        return None in (self.root, other.root) or self.root != other.root or self.first < other.end and other.first < self.end


def dependences(moved: Sequence[Moved], operations: Sequence[Operation]) -> list[dict[int, int]]:
    """Returns the followers of each instruction: the instructions that must come later, with the cycles that they wait.

    A reader waits for the last writer of each register and of the flags, a writer for its readers and writers. A load comes after
    a store, and a store after any access, unless both addresses are the same value plus constants and no byte is the same.
    """
    found = _Dependences(operations)
    for number, one in enumerate(moved):
        found.add(number, *one)
    return found.followers


class _Dependences:
    """The followers so far, the last writers and readers of registers, and the accesses to memory."""

    def __init__(self, operations: Sequence[Operation]):
        self._operations = operations
        self.followers: list[dict[int, int]] = [{} for _ in operations]
        self._writers: dict[str, tuple[int, int]] = {}  # and the cycles until the register can be read
        self._readers: dict[str, list[int]] = {}
        self._loads: list[_Access] = []
        self._stores: list[_Access] = []
        self._values = _Values()

    def add(self, number: int, instruction: Instruction, work: Work) -> None:
        """Adds the next instruction."""
        self._read(number)
        if work.words:
            self._access(self._values.access(number, instruction, work), "store" in work.kind or "scatter" in work.kind)
        self._write(number)
        self._values.follow(instruction, work)

    def _read(self, number: int) -> None:
        for register, stage, delays in self._operations[number].reads:
            if register in self._writers:
                writer, ready = self._writers[register]
                wait = ready - stage + (delays.get(self._operations[writer].kind, 0) if delays else 0)
                self.followers[writer][number] = max(self.followers[writer].get(number, 0), wait)
            self._readers.setdefault(register, []).append(number)

    def _access(self, access: _Access, is_store: bool) -> None:
        for other in (*self._loads, *self._stores) if is_store else self._stores:
            if other.may_share(access):
                self.followers[other.number].setdefault(access.number, 0)
        (self._stores if is_store else self._loads).append(access)

    def _write(self, number: int) -> None:
        for register, cycles, _ in self._operations[number].writes:
            before = self._readers.pop(register, [])
            if register in self._writers:
                before.append(self._writers[register][0])
            for other in before:
                if other != number:
                    self.followers[other].setdefault(number, 0)
            self._writers[register] = number, cycles


class _Values:
    """The value of each register as a root plus a constant."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[Root, int]] = {}
        self._definitions = 0

    def access(self, number: int, instruction: Instruction, work: Work) -> _Access:
        """Returns the bytes that an instruction loads or stores."""
        place = _place(instruction, work)
        if place is None or work.kind in _LANES:
            return _Access(number, None, 0, 0)
        root, constant = self._value(place[0])
        first = constant + place[1]
        return _Access(number, root, first, first + 4 * work.words)

    def follow(self, instruction: Instruction, work: Work) -> None:
        """Notes the registers that an instruction writes: an address that moves by a constant keeps its root."""
        moved = {register: self._moved(instruction, work, register) for register, _ in work.writes}
        for register, value in moved.items():
            self._definitions += 1
            self._values[register] = ((register, self._definitions), 0) if value is None else value

    def _value(self, register: str) -> tuple[Root, int]:
        return self._values.setdefault(register, ((register, 0), 0))

    def _moved(self, instruction: Instruction, work: Work, register: str) -> tuple[Root, int] | None:
        """Returns the new value of a register that an instruction moves by a constant; None for any other value."""
        operands, source = instruction.operands, register
        place = _place(instruction, work)
        constant: int | None = None
        if (register, UPDATE) in work.writes and place is not None:
            is_before = operands[-1].startswith("[")
            passes_all = instruction.mnemonic in _UPWARDS or work.kind.endswith("interleaved")
            constant = 4 * work.words if passes_all else place[1] if is_before else immediate(operands[-1])
        elif work.kind == "add_constant" and instruction.mnemonic[:3] in ("add", "sub"):
            source, size = operands[-2], immediate(operands[-1])
            constant = -size if size is not None and instruction.mnemonic[0] == "s" else size
        if constant is None:
            return None
        root, before = self._value(source)
        return root, before + constant


def _place(instruction: Instruction, work: Work) -> tuple[str, int] | None:
    """Returns (base register, offset) of an access; None if it depends on another register."""
    if instruction.mnemonic in _UPWARDS:
        return instruction.operands[0].rstrip("!"), 0
    return work.place
