# SPDX-License-Identifier: MIT
"""Thumb code as basic blocks: straight-line instructions, their number, and the targets of the last one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aidge_build.contract.thumb.instruction import CONDITIONS, Instruction, immediate, memory_operand, register_list
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.elf.jump_tables import offsets
from aidge_build.prove.elf.program_code import Code, is_if_then
from aidge_build.prove.longest.blocks import Blocks
from aidge_build.prove.longest.ends import (
    Block,
    End,
    Known,
    Link,
    State,
    Ways,
    direct_call,
    jump,
    onward,
    onward_way,
    refused,
    register_call,
)
from aidge_build.prove.longest.registers import Operation
from aidge_build.prove.longest.thumb.ends import assuming, begun, compared, conditional, repeated, returned
from aidge_build.prove.longest.thumb.operands import CONVENTION, LR, NUMBERS, address, register
from aidge_build.prove.longest.thumb.operations import elements_of, operation, predicated
from aidge_build.prove.longest.thumb.shifts import most_rounds
from aidge_build.prove.longest.values import WORD, Objects, opposite

_BRANCHES = {f"b{condition}": condition for condition in CONDITIONS}
_POPS_OF_PC = ("pop", "ldmia", "ldm", "ldmfd")
_ENTRY_BYTES = {"tbb": 1, "tbh": 2}  # of jump tables


class ThumbBlocks(Blocks[Instruction]):
    """The blocks of a program of Thumb code."""

    convention = CONVENTION
    code: Code

    def __init__(self, code: Code, objects: Objects, known: Known, parts: bool = False):
        super().__init__(code, objects, known, parts)
        self._conditions = dict(_conditions(code.instructions))
        self._tables = dict(_tables(code))
        self._starts = set(_starts(code.instructions, self._tables)) | set(code.functions)

    def shown_rounds(
        self, head: int, body: Mapping[int, Sequence[Instruction]], successors: Mapping[int, Sequence[int]]
    ) -> int | None:
        named = {start: [(one, self._name(one)[0]) for one in block] for start, block in body.items()}
        return most_rounds(head, named, successors)

    def _made(self, start: int) -> Block:
        operations: list[Operation] = []
        successors: tuple[int, ...]
        place, count, before = start, 0, None
        while True:
            instruction = self.code.instructions.get(place)
            if instruction is None or (not count and place in self._conditions and not self.parts):
                raise Refusal(f"the way leads to {self.code.image.describe(place)}, where no instruction begins")
            if self.parts and is_if_then(instruction):
                end, successors = self._before_condition(instruction) if count else self._at_condition(instruction)
                count = max(count, 1)
                break
            count += 1
            name, condition = self._name(instruction)
            found = self._end(instruction, name, start, before)
            if found is not None:
                end, successors = found
                if condition:
                    end, successors = self._under(condition, end, instruction.next), (*successors, instruction.next)
                break
            made = operation(instruction, name, self.objects, self._raw(instruction))
            operations.append(predicated(made, condition, name) if condition else made)
            place, before = instruction.next, instruction
            if place in self._starts and place not in self._conditions:
                end, successors = onward(place), (place,)
                break
        return Block(start, count, tuple(operations), end, successors)

    @staticmethod
    def _before_condition(instruction: Instruction) -> tuple[End, tuple[int, ...]]:
        return onward(instruction.address), (instruction.address,)

    @staticmethod
    def _at_condition(instruction: Instruction) -> tuple[End, tuple[int, ...]]:
        """Returns the end of a block that consists of an IT instruction, at which paths fork."""
        (condition,), then = instruction.operands, instruction.next
        return assuming(onward(then), condition, then), (then,)

    def _name(self, instruction: Instruction) -> tuple[str, str]:
        """Returns the mnemonic without the condition of its IT block, and that condition."""
        condition = self._conditions.get(instruction.address, "")
        name = instruction.mnemonic
        return (name[:-2] if condition and name.endswith(CONDITIONS) else name), condition

    def _raw(self, instruction: Instruction) -> int:
        raw = self.code.stored(instruction.address, instruction.size_bytes)
        assert raw is not None
        return raw

    def _end(
        self, instruction: Instruction, name: str, start: int, before: Instruction | None
    ) -> tuple[End, tuple[int, ...]] | None:
        """Returns the end of a block for an instruction that may not continue at the next one, and its successors in the same
        function; None for other instructions. `before` is the instruction before it in the block."""
        operands, target, then = instruction.operands, instruction.target, instruction.next
        if name == "b" and target is not None:
            return onward(target), (target,)
        if name in ("bl", "blx") and target is not None:
            return direct_call(target, Link(LR, then, start, 1)), (then,)
        if name in ("blx", "bx", "bxns") and (at := register(*operands)) is not None:
            return (
                (register_call(at, Link(LR, then, start, 1)), (then,)) if name == "blx" else (jump(at, instruction.address), ())
            )
        fork = None if target is None else self._fork(instruction, name, before, target)
        if fork is not None and target is not None:
            return fork, (target, then)
        if name in _ENTRY_BYTES:
            return self._switch(instruction, name), self._tables.get(instruction.address, ())
        return self._written_counter(instruction, name)

    def _fork(self, instruction: Instruction, name: str, before: Instruction | None, target: int) -> End | None:
        """Returns the end of a block that continues at a target or at the next instruction; None for other instructions."""
        operands, then = instruction.operands, instruction.next
        if name in _BRANCHES:
            return self._under(_BRANCHES[name], onward(target), then, _compared_with(before))
        if name in ("cbz", "cbnz"):
            return compared(NUMBERS[operands[0]], name == "cbz", target, then, self.parts)
        if name in ("le", "letp"):
            return repeated(target, then, len(operands) > 1)
        if name in ("wls", "wlstp"):
            elements = elements_of(self._raw(instruction)) if name == "wlstp" else 1
            return begun(NUMBERS[operands[1]], elements, target, then)
        return None

    def _under(self, condition: str, end: End, then: int, compared: tuple[int, int] | None = None) -> End:
        return assuming(end, condition, then, compared) if self.parts else conditional(end, condition, then)

    def _switch(self, instruction: Instruction, name: str) -> End:
        """Returns the end for a jump through a table that follows it. All entries are targets if the index is unknown."""
        table, width = instruction.next, _ENTRY_BYTES[name]
        _, (index, *_), _ = memory_operand(*instruction.operands)
        at, targets = NUMBERS[index], self._tables.get(instruction.address)
        if targets is None:
            return refused(f"a jump table that cannot be read at 0x{instruction.address:x}")
        ways = tuple(onward_way(target) for target in targets)

        def end(state: State) -> Ways:
            number = state.registers.values[at]
            if type(number) is not int:
                return ways
            entry = self.code.read(table + number * width, width)
            if entry is None:
                raise Refusal(f"a jump beyond the table at 0x{table:x}")
            return table + 2 * entry

        return end

    def _written_counter(self, instruction: Instruction, name: str) -> tuple[End, tuple[int, ...]] | None:
        """Returns the end for another instruction that writes pc: a return, a jump through a register or a table of addresses;
        None for other instructions."""
        operands = instruction.operands
        if name in _POPS_OF_PC and "pc" in register_list(operands[-1]):
            return returned(self._popped(instruction, name), instruction.address), ()
        if not operands or operands[0] != "pc" or name in ("cmp", "cmn", "tst", "teq"):
            return None
        if name == "ldr":
            where = address(instruction, self.objects)

            def loaded(state: State) -> int:
                values = state.registers.values
                value = state.memory.load(where.place(values), 4)
                if where.base is not None:
                    values[where.base] = where.after(values)
                return state.leave(value, instruction.address)

            return loaded, ()
        if name == "mov" and (at := register(operands[1])) is not None:
            return jump(at, instruction.address), ()
        return refused(f"'{name}' writes pc at 0x{instruction.address:x}"), ()

    def _popped(self, instruction: Instruction, name: str) -> Operation:
        """Returns the load of the other registers: pc is the last one and is loaded separately."""
        *base, listed = instruction.operands
        *others, _ = register_list(listed)
        if not others:
            return lambda registers, memory: None
        rest = instruction._replace(operands=(*base, f"{{{', '.join(others)}}}"))
        return operation(rest, name, self.objects, self._raw(instruction))


def _conditions(instructions: Mapping[int, Instruction]) -> list[tuple[int, str]]:
    """Returns the condition of each instruction of an IT block."""
    found = []
    for block in instructions.values():
        if not is_if_then(block):
            continue
        address, (condition,) = block.next, block.operands
        for letter in "t" + block.mnemonic[2:]:
            found.append((address, "" if condition == "al" else condition if letter == "t" else opposite(condition)))
            address = instructions[address].next if address in instructions else address
    return found


def _tables(code: Code) -> list[tuple[int, tuple[int, ...]]]:
    """Returns the targets of each jump through a table that follows it."""
    found = []
    for instruction in code.instructions.values():
        width = _ENTRY_BYTES.get(instruction.mnemonic)
        if width and any(operand.startswith("[pc") for operand in instruction.operands):
            try:
                count = code.compared_with(instruction)
                targets = offsets(instruction.next, width, False, 2, code.instructions, code.read, count)
            except Refusal:
                continue
            found.append((instruction.address, targets))
    return found


def _starts(instructions: Mapping[int, Instruction], tables: Mapping[int, Sequence[int]]) -> set[int]:
    """Returns the addresses at which paths may merge: the targets of branches."""
    found = {target for targets in tables.values() for target in targets}
    return found | (instructions.keys() & {one.target for one in instructions.values()})


def _compared_with(before: Instruction | None) -> tuple[int, int] | None:
    """Returns the register and the number that the instruction before a branch compares; None for other instructions."""
    if before is None or before.mnemonic != "cmp":
        return None
    one, two, *_ = before.operands
    at, number = register(one), immediate(two)
    return None if at is None or number is None else (at, number & WORD)
