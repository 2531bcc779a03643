# SPDX-License-Identifier: MIT
"""Code as blocks: instructions that run one after the other, how many they are, and where the last one leads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aidge_build.prove.elf.disassembly import CONDITIONS, Instruction, immediate, memory_operand, register_list
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.elf.jump_tables import offsets
from aidge_build.prove.elf.program_code import Code, is_if_then
from aidge_build.prove.longest.memory import Memory
from aidge_build.prove.longest.operands import LR, NUMBERS, SP, Operation, Registers, address, reader, register
from aidge_build.prove.longest.operations import elements_of, operation, predicated
from aidge_build.prove.longest.values import WORD, Objects, Value, assumed, holds, opposite

NOWHERE = 0xFFFFFFFE  # what the first function returns to
_BRANCHES = {f"b{condition}": condition for condition in CONDITIONS}
_POPS_OF_PC = ("pop", "ldmia", "ldm", "ldmfd", "ldr")


@dataclass(frozen=True)
class Frame:
    """A call that has not returned: to where it does, the function that it called, and the block that did."""

    back: int
    entry: int
    site: int
    position: tuple[int, ...] = ()


@dataclass
class State:
    """A way through the code: what is known, the calls that it is in, where it goes on, and the instructions of it so far.

    `position` is where it is in the order of the function, where there are other ways."""

    registers: Registers
    memory: Memory
    frames: tuple[Frame, ...]
    at: int
    instructions: int = 0
    position: tuple[int, ...] = ()
    left: int | None = None  # the block with the call that it just came back from
    called: list[int] = field(default_factory=list)  # functions, in the order of their first calls

    def parted(self) -> State:
        """A way that goes on by itself from here."""
        return State(
            self.registers.copy(),
            self.memory.parted(),
            self.frames,
            self.at,
            self.instructions,
            self.position,
            self.left,
            [*self.called],
        )

    def call(self, target: int, back: int, site: int) -> int:
        """Enters a function."""
        self.frames = (*self.frames, Frame(back, target, site, self.position))
        if target not in self.called:
            self.called.append(target)
        return target

    def leave(self, value: Value, where: int) -> int:
        """Goes to where a register leads: back from the functions that return there, or on in the same one."""
        if not isinstance(value, int):
            raise Refusal(f"a jump to an address that is not known, at 0x{where:x}")
        target = value & ~1
        for depth in range(len(self.frames) - 1, -1, -1):
            if self.frames[depth].back == target:
                self.position, self.left = self.frames[depth].position, self.frames[depth].site
                self.frames = self.frames[:depth]
                break
        return target


Way = Callable[[State], int]
Ways = int | tuple[Way, ...]
End = Callable[[State], Ways]


@dataclass(frozen=True)
class Block:
    """`count` are its instructions, `end` says where it leads: an address, or what each of several ways does first.
    `successors` are the blocks of the same function that follow it, as far as the text says."""

    start: int
    count: int
    operations: tuple[Operation, ...]
    end: End
    successors: tuple[int, ...]


class Known(Protocol):
    """Functions of which is known what a call makes of a state."""

    def __contains__(self, entry: int) -> bool: ...

    def call(self, entry: int, state: State) -> bool:
        """Whether the state is now that behind a call."""
        ...

    def rounds(self, entry: int) -> int | None:
        """How often a loop of a function comes round at most, where its code does not say it."""


class Blocks:
    """The blocks of a program by their first addresses, each made when it is asked for. Functions that are `known` are blocks;
    `parts` says that ways part at conditions of single instructions, too, and know then what they decided."""

    def __init__(self, code: Code, objects: Objects, known: Known | None = None, parts: bool = False):
        self.parts = parts
        self.known = known
        self.code = code
        self.objects = objects
        self._conditions = dict(_conditions(code.instructions))
        self._tables = dict(_tables(code))
        self._starts = set(_starts(code.instructions, self._tables)) | set(code.functions)
        self._blocks: dict[int, Block] = {}
        self._made_of_text: dict[int, Block] = {}

    def block(self, start: int) -> Block:
        """The block that begins at an address."""
        if start not in self._blocks:
            plain = self._plain(start)
            is_known = self.known is not None and start in self.known
            self._blocks[start] = Block(start, 0, (), _known(self.known, plain), plain.successors) if is_known else plain
        return self._blocks[start]

    def instructions(self, start: int) -> Iterator[tuple[Instruction, str]]:
        """Those of a block, with their names without conditions."""
        place = start
        for _ in range(self._plain(start).count):
            instruction = self.code.instructions[place]
            yield instruction, self._name(instruction)[0]
            place = instruction.next

    def rounds(self, entry: int) -> int | None:
        """How often a loop of a function comes round at most, where that is known beforehand."""
        return self.known.rounds(entry) if self.known is not None and self.parts else None

    def _plain(self, start: int) -> Block:
        if start not in self._made_of_text:
            self._made_of_text[start] = self._made(start)
        return self._made_of_text[start]

    def _made(self, start: int) -> Block:
        operations: list[Operation] = []
        successors: tuple[int, ...]
        place, count = start, 0
        while True:
            instruction = self.code.instructions.get(place)
            if instruction is None or (not count and place in self._conditions and not self.parts):
                raise Refusal(f"the way leads to {self.code.image.describe(place)}, where no instruction begins")
            if self.parts and count and is_if_then(instruction):
                end, successors = _onward(place), (place,)
                break
            count += 1
            name, condition = self._name(instruction)
            if self.parts and is_if_then(instruction):
                end, successors = (
                    _assuming(_onward(instruction.next), instruction.operands[0], instruction.next),
                    (instruction.next,),
                )
                break
            found = self._end(instruction, name, start)
            if found is not None:
                end, successors = found
                if condition:
                    end, successors = self._under(condition, end, instruction.next), (*successors, instruction.next)
                break
            made = operation(instruction, name, self.objects, self._raw(instruction))
            operations.append(predicated(made, condition, name) if condition else made)
            place = instruction.next
            if place in self._starts and place not in self._conditions:
                end, successors = _onward(place), (place,)
                break
        return Block(start, count, tuple(operations), end, successors)

    def _name(self, instruction: Instruction) -> tuple[str, str]:
        """The mnemonic without the condition that its IT block gives it, and that condition."""
        condition = self._conditions.get(instruction.address, "")
        name = instruction.mnemonic
        return (name[:-2] if condition and name.endswith(CONDITIONS) else name), condition

    def _raw(self, instruction: Instruction) -> int:
        return self.code.read(instruction.address, instruction.size_bytes) or 0

    def _end(self, instruction: Instruction, name: str, start: int) -> tuple[End, tuple[int, ...]] | None:
        """Where an instruction leads that does not go on to the next one, and what may follow in the same function."""
        operands, target, then = instruction.operands, instruction.target, instruction.next
        if name == "b" and target is not None:
            return _onward(target), (target,)
        if name in ("bl", "blx") and target is not None and ("<" in operands[-1] or name == "bl"):
            return _call(target, then, start), (then,)
        if name in ("blx", "bx", "bxns") and (at := register(operands[0])) is not None:
            return (_register_call(at, then, start), (then,)) if name == "blx" else (_jump(at, instruction.address), ())
        if name in _BRANCHES and target is not None:
            return self._under(_BRANCHES[name], _onward(target), then, self._compared_with(instruction, start)), (target, then)
        if name in ("cbz", "cbnz") and target is not None:
            return _compared(NUMBERS[operands[0]], name == "cbz", target, then, self.parts), (target, then)
        if name in ("le", "letp") and target is not None:
            return _repeated(target, then, len(operands) > 1, name == "letp"), (target, then)
        if name in ("wls", "wlstp") and target is not None:
            elements = elements_of(self._raw(instruction)) if name == "wlstp" else 1
            return _begun(NUMBERS[operands[1]], elements, target, then), (target, then)
        if name in ("tbb", "tbh"):
            return self._switch(instruction, name), self._tables.get(instruction.address, ())
        return self._written_counter(instruction, name)

    def _under(self, condition: str, end: End, then: int, compared: tuple[int, int] | None = None) -> End:
        return _assuming(end, condition, then, compared) if self.parts else _conditional(end, condition, then)

    def _compared_with(self, branch: Instruction, start: int) -> tuple[int, int] | None:
        """The register and the number that the instruction before a branch compares, in the same block."""
        before = next((one for one in self._before(branch.address, start) if one.next == branch.address), None)
        if before is None or before.mnemonic != "cmp":
            return None
        at, number = register(before.operands[0]), immediate(before.operands[1])
        return None if at is None or number is None else (at, number & WORD)

    def _before(self, address: int, start: int) -> Iterator[Instruction]:
        return (self.code.instructions[at] for at in (address - 2, address - 4) if at >= start and at in self.code.instructions)

    def _switch(self, instruction: Instruction, name: str) -> End:
        """A jump by a table behind it; all of its entries where the index is not known."""
        table, width = instruction.next, 1 if name == "tbb" else 2
        (operand,) = instruction.operands
        base, words, _ = memory_operand(operand)
        index = reader(instruction, words[:1])
        targets = self._tables.get(instruction.address)
        if base != "pc" or index is None or targets is None:
            return _refused(f"a jump table that cannot be read at 0x{instruction.address:x}")
        ways = tuple(_onward_way(target) for target in targets)

        def end(state: State) -> Ways:
            number = index(state.registers.values)
            if type(number) is not int:
                return ways
            entry = self.code.read(table + number * width, width)
            if entry is None:
                raise Refusal(f"a jump beyond the table at 0x{table:x}")
            return table + 2 * entry

        return end

    def _written_counter(self, instruction: Instruction, name: str) -> tuple[End, tuple[int, ...]] | None:
        """What else writes pc: a return, a jump through a register or a table of addresses."""
        operands = instruction.operands
        if name in _POPS_OF_PC and operands[-1].startswith("{") and "pc" in register_list(operands[-1]):
            return _returned(self._popped(instruction, name), instruction.address), ()
        if not operands or operands[0] != "pc" or name in ("cmp", "cmn", "tst", "teq"):
            return None
        if name == "ldr" and any(operand.startswith("[") for operand in operands):
            where = address(instruction, self.objects)

            def loaded(state: State) -> int:
                values = state.registers.values
                value = state.memory.load(where.place(values), 4)
                if where.base is not None and where.after is not None:
                    values[where.base] = where.after(values)
                return state.leave(value, instruction.address)

            return loaded, ()
        if name == "mov" and (at := register(operands[1])) is not None:
            return _jump(at, instruction.address), ()
        return _refused(f"'{name}' writes pc at 0x{instruction.address:x}"), ()

    def _popped(self, instruction: Instruction, name: str) -> Operation:
        """The same without pc, which is the last and is read apart."""
        rest = instruction.operands[-1].replace("pc", "").rstrip(", }").rstrip("{") + "}"
        first = instruction.operands[:-1] or ("sp!",)
        if not rest.startswith("{"):
            return lambda registers, memory: None
        others = Instruction(instruction.address, instruction.size_bytes, "ldmia", (*first, rest))
        return operation(others, "ldmia", self.objects, 0)


def _conditions(instructions: Mapping[int, Instruction]) -> list[tuple[int, str]]:
    """The condition of each instruction of an IT block."""
    found = []
    for block in instructions.values():
        if not (block.mnemonic.startswith("it") and block.mnemonic.strip("te") == "i" and block.operands):
            continue
        address, condition = block.next, block.operands[0]
        for letter in "t" + block.mnemonic[2:]:
            found.append((address, "" if condition == "al" else condition if letter == "t" else opposite(condition)))
            address = instructions[address].next if address in instructions else address
    return found


def _tables(code: Code) -> list[tuple[int, tuple[int, ...]]]:
    """The targets of each jump by a table behind it."""
    found = []
    for instruction in code.instructions.values():
        if instruction.mnemonic in ("tbb", "tbh") and instruction.operands[0].startswith("[pc"):
            width = 1 if instruction.mnemonic == "tbb" else 2
            try:
                count = code.compared_with(instruction)
                targets = offsets(instruction.next, width, False, 2, code.instructions, code.read, count)
            except Refusal:
                continue
            found.append((instruction.address, targets))
    return found


def _starts(instructions: Mapping[int, Instruction], tables: Mapping[int, Sequence[int]]) -> set[int]:
    """Where ways may meet: at what branches lead to."""
    found = {target for targets in tables.values() for target in targets}
    for one in instructions.values():
        if one.mnemonic.startswith(("b", "cb", "le", "wls")) and one.target is not None and one.target in instructions:
            found.add(one.target)
    return found


def _onward(target: int) -> End:
    return lambda state: target


def _onward_way(target: int) -> Way:
    return lambda state: target


def _refused(text: str) -> End:
    def end(state: State) -> Ways:
        raise Refusal(text)

    return end


def _as_way(end: End) -> Way:
    def way(state: State) -> int:
        found = end(state)
        if not isinstance(found, int):
            raise Refusal("a switch under a condition")
        return found

    return way


def _conditional(end: End, condition: str, then: int) -> End:
    ways = (_as_way(end), _onward_way(then))

    def chosen(state: State) -> Ways:
        met = holds(condition, state.registers.flags)
        return ways if met is None else end(state) if met else then

    return chosen


def _assuming(end: End, condition: str, then: int, compared: tuple[int, int] | None = None) -> End:
    """The same, with ways that know whether the condition was met: the flags, and what a `compared` register is."""
    met, unmet = _as_way(end), _onward_way(then)

    def assume(state: State, known: str) -> None:
        state.registers.flags = assumed(known, state.registers.flags)
        if compared is not None and known == "eq":
            at, number = compared
            state.registers.values[at] = number

    def when_met(state: State) -> int:
        assume(state, condition)
        return met(state)

    def when_not(state: State) -> int:
        assume(state, opposite(condition))
        return unmet(state)

    def chosen(state: State) -> Ways:
        found = holds(condition, state.registers.flags)
        return (when_met, when_not) if found is None else end(state) if found else then

    return chosen


def _known(known: Known | None, plain: Block) -> End:
    """A call of a function that is known, and back; or, where it is not known for these arguments, the block itself."""

    def end(state: State) -> Ways:
        back = state.registers.values[LR]
        if known is not None and known.call(plain.start, state):
            return state.leave(back, plain.start)
        for one in plain.operations:
            one(state.registers, state.memory)
        state.instructions += plain.count
        return plain.end(state)

    return end


def _call(target: int, back: int, site: int) -> End:
    def end(state: State) -> Ways:
        state.registers.values[LR] = back | 1
        return state.call(target, back, site)

    return end


def _register_call(at: int, back: int, site: int) -> End:
    def end(state: State) -> Ways:
        target = state.registers.values[at]
        if not isinstance(target, int):
            raise Refusal(f"a call of an address that is not known, before 0x{back:x}")
        state.registers.values[LR] = back | 1
        return state.call(target & ~1, back, site)

    return end


def _jump(at: int, where: int) -> End:
    return lambda state: state.leave(state.registers.values[at], where)


def _returned(rest: Operation, where: int) -> End:
    def end(state: State) -> Ways:
        rest(state.registers, state.memory)
        stack = state.registers.values[SP]
        state.registers.values[SP] = stack + 4 & WORD if isinstance(stack, int) else None
        return state.leave(state.memory.load(stack, 4), where)

    return end


def _compared(at: int, if_zero: bool, target: int, then: int, parts: bool) -> End:
    """`cbz` and `cbnz`; where ways part, the one where the register is zero knows it."""
    zero, other = (target, then) if if_zero else (then, target)

    def when_zero(state: State) -> int:
        if parts:
            state.registers.values[at] = 0
        return zero

    ways = (when_zero, _onward_way(other)) if if_zero else (_onward_way(other), when_zero)

    def end(state: State) -> Ways:
        value = state.registers.values[at]
        if type(value) is not int:
            return ways
        return target if (value == 0) == if_zero else then

    return end


def _repeated(target: int, then: int, counts: bool, ends_vectors: bool) -> End:
    """`le lr, target`: once more while there are more elements left than it takes at a time."""

    def more(state: State) -> int:
        left = state.registers.values[LR]
        state.registers.values[LR] = left - state.registers.elements & WORD if isinstance(left, int) else None
        return target

    def done(state: State) -> int:
        state.registers.elements = 1 if ends_vectors else state.registers.elements
        return then

    def end(state: State) -> Ways:
        if not counts:
            return target
        left = state.registers.values[LR]
        if not isinstance(left, int):
            return more, done
        return more(state) if left > state.registers.elements else done(state)

    return end


def _begun(at: int, elements: int, target: int, then: int) -> End:
    """`wls lr, r0, target`: past the loop where there is nothing to do."""

    def enter(state: State) -> int:
        state.registers.values[LR] = state.registers.values[at]
        state.registers.elements = elements
        return then

    def end(state: State) -> Ways:
        value = state.registers.values[at]
        if not isinstance(value, int):
            return enter, _onward_way(target)
        return enter(state) if value else target

    return end
