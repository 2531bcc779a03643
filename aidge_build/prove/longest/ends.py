# SPDX-License-Identifier: MIT
"""Where a block leads: the state of a way through the code, and what its last instruction makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.memory import Memory
from aidge_build.prove.longest.operands import LR, SP, Operation, Registers
from aidge_build.prove.longest.values import WORD, Value, assumed, holds, opposite


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


def onward(target: int) -> End:
    """On to an address."""
    return lambda state: target


def onward_way(target: int) -> Way:
    """On to an address, as one of several ways."""
    return lambda state: target


def refused(text: str) -> End:
    """Refuses the way."""

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


def conditional(end: End, condition: str, then: int) -> End:
    """The same under a condition; both ways where it is not known whether it is met."""
    ways = (_as_way(end), onward_way(then))

    def chosen(state: State) -> Ways:
        met = holds(condition, state.registers.flags)
        return ways if met is None else end(state) if met else then

    return chosen


def assuming(end: End, condition: str, then: int, compared: tuple[int, int] | None = None) -> End:
    """The same, with ways that know whether the condition was met: the flags, and what a `compared` register is."""
    met, unmet = _as_way(end), onward_way(then)

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


def call_of_known(known: Known | None, plain: Block) -> End:
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


def direct_call(target: int, back: int, site: int) -> End:
    """A call of a function, and back behind it."""

    def end(state: State) -> Ways:
        state.registers.values[LR] = back | 1
        return state.call(target, back, site)

    return end


def register_call(at: int, back: int, site: int) -> End:
    """A call of the function that a register names."""

    def end(state: State) -> Ways:
        target = state.registers.values[at]
        if not isinstance(target, int):
            raise Refusal(f"a call of an address that is not known, before 0x{back:x}")
        state.registers.values[LR] = back | 1
        return state.call(target & ~1, back, site)

    return end


def jump(at: int, where: int) -> End:
    """To where a register leads: back, or on in the same function."""
    return lambda state: state.leave(state.registers.values[at], where)


def returned(rest: Operation, where: int) -> End:
    """A return by a load of pc from the stack, behind the loads of the `rest`."""

    def end(state: State) -> Ways:
        rest(state.registers, state.memory)
        stack = state.registers.values[SP]
        state.registers.values[SP] = stack + 4 & WORD if isinstance(stack, int) else None
        return state.leave(state.memory.load(stack, 4), where)

    return end


def compared(at: int, if_zero: bool, target: int, then: int, parts: bool) -> End:
    """`cbz` and `cbnz`; where ways part, the one where the register is zero knows it."""
    zero, other = (target, then) if if_zero else (then, target)

    def when_zero(state: State) -> int:
        if parts:
            state.registers.values[at] = 0
        return zero

    ways = (when_zero, onward_way(other)) if if_zero else (onward_way(other), when_zero)

    def end(state: State) -> Ways:
        value = state.registers.values[at]
        if type(value) is not int:
            return ways
        return target if (value == 0) == if_zero else then

    return end


def repeated(target: int, then: int, counts: bool, ends_vectors: bool) -> End:
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


def begun(at: int, elements: int, target: int, then: int) -> End:
    """`wls lr, r0, target`: past the loop where there is nothing to do."""

    def enter(state: State) -> int:
        state.registers.values[LR] = state.registers.values[at]
        state.registers.elements = elements
        return then

    def end(state: State) -> Ways:
        value = state.registers.values[at]
        if not isinstance(value, int):
            return enter, onward_way(target)
        return enter(state) if value else target

    return end
