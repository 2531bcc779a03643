# SPDX-License-Identifier: MIT
"""The ends of blocks of Thumb code: conditions on flags, returns that pop, and loops that the core counts."""

from __future__ import annotations

from aidge_build.prove.longest.ends import End, State, Way, Ways, onward_way
from aidge_build.prove.longest.registers import Operation
from aidge_build.prove.longest.thumb.operands import LR, SP
from aidge_build.prove.longest.values import WORD, assumed, holds, opposite


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
