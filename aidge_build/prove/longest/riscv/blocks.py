# SPDX-License-Identifier: MIT
"""RISC-V code as basic blocks: straight-line instructions, their number, and the targets of the last one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from aidge_build.contract.riscv.instruction import REGISTERS, TRAP, UNKNOWN, Instruction
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.elf.riscv_numbers import CONDITIONS
from aidge_build.prove.elf.riscv_walk import RiscvCode
from aidge_build.prove.longest.blocks import Blocks
from aidge_build.prove.longest.ends import (
    Block,
    End,
    Known,
    Link,
    State,
    Way,
    Ways,
    direct_call,
    onward,
    refused,
    register_call,
)
from aidge_build.prove.longest.registers import Convention, Operation, meet
from aidge_build.prove.longest.riscv.operations import NUMBERS, changes_memory, decided, learned, operation
from aidge_build.prove.longest.riscv.shifts import most_rounds
from aidge_build.prove.longest.values import WORD, Objects

_REFUSED = ("ecall", "ebreak", "mret", "sret", "wfi", TRAP, UNKNOWN)
_LEADING = (*CONDITIONS, "jal", "jalr", *_REFUSED)  # instructions after which the next one may not run
_A0 = NUMBERS["a0"]
_SAVED = frozenset(name for name in REGISTERS if name[0] == "s" and name != "sp")  # by functions for their caller


class RiscvBlocks(Blocks[Instruction]):
    """The blocks of a program for RISC-V."""

    code: RiscvCode

    def __init__(self, code: RiscvCode, objects: Objects, known: Known, parts: bool = False):
        super().__init__(code, objects, known, parts)
        self.convention = _convention(code)
        self._vector_bits = _vector_bits(code.image.extensions)
        self._starts = set(_starts(code))
        self._joined: dict[tuple[int, int], Way | None] = {}
        self._saves: dict[int, frozenset[int]] = {}

    def shown_rounds(
        self, head: int, body: Mapping[int, Sequence[Instruction]], successors: Mapping[int, Sequence[int]]
    ) -> int | None:
        return most_rounds(head, body, successors)

    def _made(self, start: int) -> Block:
        operations: list[Operation] = []
        place, count = start, 0
        while True:
            instruction = self.code.instructions.get(place)
            if instruction is None:
                raise Refusal(f"the way leads to {self.code.image.describe(place)}, where no instruction begins")
            count += 1
            found = self._end(instruction, start)
            if found is not None:
                return Block(start, count, tuple(operations), *found)
            made = operation(instruction, self.objects, self._is_save(instruction), self._vector_bits)
            operations += [made] if made else []
            place = instruction.next
            if place in self._starts:
                return Block(start, count, tuple(operations), onward(place), (place,))

    def _end(self, instruction: Instruction, start: int) -> tuple[End, tuple[int, ...]] | None:
        """Returns the end of a block for an instruction that may not continue at the next one, and its successors in the same
        function; None for other instructions."""
        one, target, then = instruction.operation, instruction.target, instruction.next
        if one.name in CONDITIONS:
            return self._fork(instruction), (target, then)
        if one.name == "jal":
            is_call = one.target != "zero"
            return (direct_call(target, self._link(instruction, start)), (then,)) if is_call else (onward(target), (target,))
        if one.name == "jalr":
            return self._through_register(instruction, start)
        if one.name == UNKNOWN:
            return refused(f"an instruction of an extension that is not read at 0x{instruction.address:x}"), ()
        return (refused(f"'{one.name}' at 0x{instruction.address:x} is not followed"), ()) if one.name in _REFUSED else None

    @staticmethod
    def _link(instruction: Instruction, start: int) -> Link:
        return Link(NUMBERS[instruction.operation.target], instruction.next, start)

    def _through_register(self, instruction: Instruction, start: int) -> tuple[End, tuple[int, ...]]:
        """Returns the end for a call, a return or another jump by the address in a register."""
        one, at = instruction.operation, NUMBERS[instruction.operation.first]
        if one.target != "zero":
            return register_call(at, self._link(instruction, start), one.number), (instruction.next,)

        def end(state: State) -> Ways:
            value = state.registers.values[at]
            return state.leave(value + one.number & WORD if isinstance(value, int) else None, instruction.address)

        return end, ()

    def _fork(self, branch: Instruction) -> End:
        """Returns the end of a block that continues at the target of a branch or at the next instruction."""
        name, first, second = branch.operation.name, NUMBERS[branch.operation.first], NUMBERS[branch.operation.second]
        ways = tuple(self._way(branch, is_taken) for is_taken in (True, False))
        target, then = branch.target, branch.next

        def end(state: State) -> Ways:
            values = state.registers.values
            met = decided(name, values[first], values[second])
            if met is not None:
                return target if met else then
            both = None if self.parts else self._both(target, then)
            return ways if both is None else both(state)

        return end

    def _both(self, one: int, two: int) -> Way | None:
        """Returns two ways as one, if they meet after one block, or a block of each, that only changes registers; or None."""
        if (one, two) not in self._joined:
            after, other = self._after(one), self._after(two)
            both = (one, two) if after is not None and after == other else ()
            arms = both or ((two,) if other == one else (one,) if after == two else ())
            self._joined[one, two] = self._merged(*arms) if arms else None
        return self._joined[one, two]

    def _after(self, start: int) -> int | None:
        """Returns the address after a block that only changes registers and has one end; None for other blocks."""
        operations = [one.operation for one in self._instructions(start)]
        last = operations[-1]
        leads_on = last.name not in _LEADING or last.name == "jal" and last.target == "zero"
        return self._plain(start).successors[0] if leads_on and not any(map(changes_memory, operations)) else None

    def _merged(self, start: int, other: int | None = None) -> Way:
        """Returns the way through one block and through another one, or none: what is different after them is unknown."""
        one, two = self._plain(start), None if other is None else self._plain(other)
        (after,) = one.successors

        def way(state: State) -> int:
            registers = state.registers.copy()
            for change in one.operations:
                change(registers, state.memory)
            for change in two.operations if two else ():
                change(state.registers, state.memory)
            meet(state.registers, registers, self.objects)
            state.instructions += max(one.count, two.count if two else 0)
            return after

        return way

    def _way(self, branch: Instruction, is_taken: bool) -> Way:
        """Returns the path of a branch that is taken or not; with `parts` it knows what that says of the two numbers."""
        name, first, second = branch.operation.name, NUMBERS[branch.operation.first], NUMBERS[branch.operation.second]
        to = branch.target if is_taken else branch.next

        def way(state: State) -> int:
            values = state.registers.values
            if self.parts:
                values[first], values[second] = learned(name, is_taken, values[first], values[second])
            return to

        return way

    def _is_save(self, instruction: Instruction) -> bool:
        """Whether it stores the value that a register had when its function was called."""
        one = instruction.operation
        if one.name != "sw" or one.first != "sp":
            return False
        first, end = self.code.extent(instruction.address)
        if first not in self._saves:
            self._saves[first] = frozenset(_saves(self.code, first, end))
        return instruction.address in self._saves[first]


def _convention(code: RiscvCode) -> Convention:
    """RISC-V ABIs Specification 1.0, 1.1 and 2: with 16 registers, six of them hold arguments."""
    is_embedded = code.image.extensions.startswith("rv32e")
    kept = frozenset(NUMBERS[name] for name in (*_SAVED, "gp", "tp"))
    fixed = {0: 0} if code.global_pointer is None else {0: 0, NUMBERS["gp"]: code.global_pointer}
    arguments = range(_A0, _A0 + (6 if is_embedded else 8))
    return Convention(len(NUMBERS), len(REGISTERS), NUMBERS["sp"], NUMBERS["ra"], arguments, kept, fixed)


def _vector_bits(extensions: str) -> int:
    """Returns the least length of vectors that an instruction set promises: by Zvl, or by Zve and V."""
    lengths = [int(bits) for bits in re.findall(r"_z(?:vl|ve)(\d+)", extensions)]
    return max((*lengths, 128 if re.search(r"_v\d", extensions) else 0))


def _in_order(code: RiscvCode, first: int, end: int) -> Iterator[Instruction]:
    """Yields the instructions from one address to another."""
    place = first
    while place < end and (instruction := code.instructions.get(place)):
        yield instruction
        place = instruction.next


def _starts(code: RiscvCode) -> Iterator[int]:
    """Yields the addresses at which paths may merge: functions, and the targets of branches."""
    for first in code.starts:
        yield first
        for instruction in _in_order(code, *code.extent(first)):
            if instruction.operation.name in CONDITIONS or instruction.operation.name == "jal":
                yield instruction.target


def _saves(code: RiscvCode, first: int, end: int) -> Iterator[int]:
    """Yields the places of a function that store a register before it is written in the order of their addresses."""
    written = set[str]()
    for instruction in _in_order(code, first, end):
        one = instruction.operation
        if one.name == "sw" and one.first == "sp" and one.second in _SAVED | {"ra"} and one.second not in written:
            yield instruction.address
        written.add(one.target)
