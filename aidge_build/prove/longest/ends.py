# SPDX-License-Identifier: MIT
"""The ends of blocks: the state of a path through the code, and the effect of a block's last instruction on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.memory import Memory
from aidge_build.prove.longest.thumb.operands import LR, SP, Operation, Registers
from aidge_build.prove.longest.values import WORD, Value, assumed, holds, opposite


@dataclass(frozen=True)
class Frame:
    """A call that has not returned: its return address, the called function, and the calling block."""

    back: int
    entry: int
    site: int
    position: tuple[int, ...] = ()


@dataclass
class State:
    """A path through the code: the known values, its open calls, its next address, and its instructions so far.

    `position` is its position in the order of the function, while there are other paths."""

    registers: Registers
    memory: Memory
    frames: tuple[Frame, ...]
    at: int
    instructions: int = 0
    position: tuple[int, ...] = ()
    left: int | None = None  # the block with the call that just returned
    called: dict[int, None] = field(default_factory=dict)  # called functions, in the order of their first calls

    def parted(self) -> State:
        """Returns an independent copy: a path that continues from here."""
        return State(
            self.registers.copy(),
            self.memory.parted(),
            self.frames,
            self.at,
            self.instructions,
            self.position,
            self.left,
            self.called.copy(),
        )

    def call(self, target: int, back: int, site: int) -> int:
        """Enters a function and returns its address."""
        self.frames = (*self.frames, Frame(back, target, site, self.position))
        self.called[target] = None
        return target

    def leave(self, value: Value, where: int) -> int:
        """Jumps to the address in a register: a return from the functions with this return address, or a jump in the same
        function. Returns the address."""
        if not isinstance(value, int):
            raise Refusal(f"a jump to an address that is not known, at 0x{where:x}")
        target = value & ~1
        for depth, frame in reversed([*enumerate(self.frames)]):
            if frame.back == target:
                self.position, self.left, self.frames = frame.position, frame.site, self.frames[:depth]
                break
        return target


Way = Callable[[State], int]
Ways = int | tuple[Way, ...]
End = Callable[[State], Ways]


@dataclass(frozen=True)
class Block:
    """A basic block: `count` is the number of its instructions; `end` returns the next address, or the first step of each of
    several paths. `successors` are the blocks of the same function that may follow it, by the text of the code."""

    start: int
    count: int
    operations: tuple[Operation, ...]
    end: End
    successors: tuple[int, ...]


class Known(Protocol):
    """Functions for which the effect of a call on a state is known."""

    def __contains__(self, entry: int) -> bool: ...

    def call(self, entry: int, state: State) -> bool:
        """Changes the state as a call does. Returns whether the effect is known."""
        ...

    def rounds(self, entry: int) -> int | None:
        """Returns the most iterations of a loop of a function, if its code does not show them, or None."""


def onward(target: int) -> End:
    """Returns an end that continues at an address."""
    return lambda state: target


def onward_way(target: int) -> Way:
    """Returns a path, one of several, that continues at an address."""
    return lambda state: target


def refused(text: str) -> End:
    """Returns an end that refuses the path."""

    def end(state: State) -> Ways:
        raise Refusal(text)

    return end


def _as_way(end: End) -> Way:
    def way(state: State) -> int:
        found = end(state)
        assert isinstance(found, int)
        return found

    return way


def conditional(end: End, condition: str, then: int) -> End:
    """Returns an end under a condition; both paths are followed if the condition is unknown."""
    ways = (_as_way(end), onward_way(then))

    def chosen(state: State) -> Ways:
        met = holds(condition, state.registers.flags)
        return ways if met is None else end(state) if met else then

    return chosen


def assuming(end: End, condition: str, then: int, compared: tuple[int, int] | None = None) -> End:
    """Returns an end under a condition, with paths that know whether it was met: in the flags, and in the value of a `compared`
    register."""
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


def call_of_known(known: Known, plain: Block) -> End:
    """Returns an end for a known function: its call and return, or the block itself if the effect is unknown for these
    arguments."""

    def end(state: State) -> Ways:
        back = state.registers.values[LR]
        if known.call(plain.start, state):
            return state.leave(back, plain.start)
        for one in plain.operations:
            one(state.registers, state.memory)
        state.instructions += plain.count
        return plain.end(state)

    return end


def direct_call(target: int, back: int, site: int) -> End:
    """Returns an end that calls a function; `back` is the return address."""

    def end(state: State) -> Ways:
        state.registers.values[LR] = back | 1
        return state.call(target, back, site)

    return end


def register_call(at: int, back: int, site: int) -> End:
    """Returns an end that calls the function in a register."""

    def end(state: State) -> Ways:
        target = state.registers.values[at]
        if not isinstance(target, int):
            raise Refusal(f"a call of an address that is not known, before 0x{back:x}")
        state.registers.values[LR] = back | 1
        return state.call(target & ~1, back, site)

    return end


def jump(at: int, where: int) -> End:
    """Returns an end that jumps to the address in a register: a return, or a jump in the same function."""
    return lambda state: state.leave(state.registers.values[at], where)


def returned(rest: Operation, where: int) -> End:
    """Returns an end that loads the `rest` of the registers and then pc from the stack."""

    def end(state: State) -> Ways:
        rest(state.registers, state.memory)
        stack = state.registers.values[SP]
        state.registers.values[SP] = stack + 4 & WORD if isinstance(stack, int) else None
        return state.leave(state.memory.load(stack, 4), where)

    return end


def compared(at: int, if_zero: bool, target: int, then: int, parts: bool) -> End:
    """Returns the end of `cbz` and `cbnz`; with `parts`, the path of a zero register knows that it is zero."""
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


def repeated(target: int, then: int, counts: bool) -> End:
    """Returns the end of `le lr, target` and `letp`: repeats the loop while more elements are left than one iteration takes.
    `counts`: it is not `le target`, which always repeats the loop."""

    def more(state: State) -> int:
        left = state.registers.values[LR]
        state.registers.values[LR] = left - state.registers.elements & WORD if isinstance(left, int) else None
        return target

    def done(state: State) -> int:
        state.registers.elements = 1
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
    """Returns the end of `wls lr, r0, target`: skips the loop if there are no elements."""

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
