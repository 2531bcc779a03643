# SPDX-License-Identifier: MIT
"""The ends of blocks: the state of a path through the code, and the effect of a block's last instruction on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.memory import Memory
from aidge_build.prove.longest.registers import Operation, Registers
from aidge_build.prove.longest.values import WORD, Value

NOWHERE = 0xFFFFFFFE  # the return address of the first function


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


def call_of_known(known: Known, plain: Block, link: int) -> End:
    """Returns an end for a known function: its call and return, or the block itself if the effect is unknown for these
    arguments. `link` is the register that holds its return address."""

    def end(state: State) -> Ways:
        back = state.registers.values[link]
        if known.call(plain.start, state):
            return state.leave(back, plain.start)
        for one in plain.operations:
            one(state.registers, state.memory)
        state.instructions += plain.count
        return plain.end(state)

    return end


@dataclass(frozen=True)
class Link:
    """The end of a call from the block `site`: `register` holds the address `back`, with 1 added if `bit` is 1."""

    register: int
    back: int
    site: int
    bit: int = 0

    def enter(self, target: int, state: State) -> int:
        """Enters a function and returns its address."""
        state.registers.values[self.register] = self.back | self.bit
        return state.call(target, self.back, self.site)


def direct_call(target: int, link: Link) -> End:
    """Returns an end that calls a function."""
    return lambda state: link.enter(target, state)


def register_call(at: int, link: Link, distance: int = 0) -> End:
    """Returns an end that calls the function that is a distance away from the address in a register."""

    def end(state: State) -> Ways:
        target = state.registers.values[at]
        if not isinstance(target, int):
            raise Refusal(f"a call of an address that is not known, before 0x{link.back:x}")
        return link.enter(target + distance & WORD - 1, state)

    return end


def jump(at: int, where: int) -> End:
    """Returns an end that jumps to the address in a register: a return, or a jump in the same function."""
    return lambda state: state.leave(state.registers.values[at], where)
