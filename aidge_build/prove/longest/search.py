# SPDX-License-Identifier: MIT
"""Follows a call through code: one path if known values decide a branch, otherwise all paths up to the block where they merge.

When paths merge, values that differ become unknown, and the longer path counts. So the resulting number of instructions belongs
to the longest path, for all data that the analysis assumed nothing about.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.blocks import Blocks
from aidge_build.prove.longest.ends import NOWHERE, Frame, State
from aidge_build.prove.longest.memory import Memory
from aidge_build.prove.longest.order import Order
from aidge_build.prove.longest.registers import Registers, meet
from aidge_build.prove.longest.values import flag_bits

MOST_NUMBERS = 6  # the most numbers of a register for which paths are kept apart
_INSTRUCTIONS_OF_BLOCK = 2  # the limit of instructions divided by this is the limit of blocks on all forked paths


class Search:
    """The paths through a program. In a function of the library, paths with different numbers in a register are kept apart, up to
    `most_numbers`."""

    def __init__(self, blocks: Blocks, most_numbers: int = MOST_NUMBERS):
        self.blocks = blocks
        self._most_numbers = most_numbers
        self._orders: dict[int, Order] = {}
        self.parted: Counter[int] = Counter()  # how often paths forked, by the address of the fork
        self._work: int  # blocks of forked paths that a call may still follow
        self._seen: dict[int, list] = {}  # registers at the last fork, by address
        self._same: set[int] = set()  # forks with the same registers as before
        self._numbers: dict[tuple, list[set[int]]] = {}  # the numbers of each register at a position
        self._many: dict[int, set[int]] = {}  # registers with many numbers, by address
        self._rounds: dict[tuple[int, int], int | None] = {}  # the most iterations of a loop, by its function and its first block

    def call(self, registers: Registers, memory: Memory, entry: int, limit: int) -> State:
        """Returns the state after a call of `entry`, with the instructions of the longest path. The call changes `registers` and
        `memory`. Refusal if there is no bound, or if it exceeds `limit`."""
        self.parted.clear()
        self._seen.clear()
        self._same.clear()
        self._work = limit // _INSTRUCTIONS_OF_BLOCK
        registers.values[self.blocks.convention.link] = NOWHERE | self.blocks.code.pointer_bit
        state = State(registers, memory, (Frame(NOWHERE, entry, NOWHERE),), entry)
        while ways := self._alone(state, limit):
            state = self._together(ways, limit)
        return state

    def _alone(self, state: State, limit: int) -> list[State]:
        """Follows the only path. Returns the paths at its fork, none at the end."""
        registers, memory, block_at, at = state.registers, state.memory, self.blocks.block, state.at
        found: list[State] = []
        while at != NOWHERE and not found:
            block = block_at(at)
            for operation in block.operations:
                operation(registers, memory)
            state.instructions += block.count
            ways = block.end(state)
            if not isinstance(ways, int):
                state.at = at
                self._locate(state)
                found = self._part(state, ways)
                continue
            at = ways
            if state.instructions > limit:
                raise self._too_long(limit)
        return found

    def _locate(self, state: State) -> None:
        """Sets the positions of the only path: past iterations do not count."""
        first, *others = state.frames
        frames, inside = [first], first.entry
        for frame in others:
            frames.append(replace(frame, position=self._order(inside).begin(frame.site)))
            inside = frame.entry
        state.frames = tuple(frames)
        state.position = self._order(inside).begin(state.at)

    def _order(self, entry: int) -> Order:
        if entry not in self._orders:
            self._orders[entry] = Order(entry, self._successors)
        return self._orders[entry]

    def _successors(self, start: int) -> tuple[int, ...]:
        try:
            return self.blocks.block(start).successors
        except Refusal:  # a path that goes there is refused later
            return ()

    def _part(self, state: State, ways: tuple) -> list[State]:
        """Returns the states of the paths after a fork."""
        self.parted.update([state.at])
        if self._seen.get(state.at) == state.registers.values:
            self._same.add(state.at)
        self._seen[state.at] = state.registers.values[:]
        before, found = state.at, [*(state.parted() for _ in ways[1:]), state]
        for one, way in zip(found, ways, strict=True):
            self._go(one, before, way(one))
        return found

    def _go(self, state: State, before: int, to: int) -> None:
        """Moves a path to its next block."""
        frames = state.frames
        state.at = to
        if to == NOWHERE:
            return
        if frames[-1].entry == to and frames[-1].site == before:  # a call
            state.position = self._order(to).begin(to)
        else:
            inside = self._order(frames[-1].entry)
            state.position = inside.moved(state.position, before if state.left is None else state.left, to)
        state.left = None

    def _together(self, ways: list[State], limit: int) -> State:
        """Follows the path with the least position until one path is left."""
        waiting = dict[tuple, State]()
        for state in ways:
            self._meet(waiting, state)
        while len(waiting) > 1:
            state = waiting.pop(min(waiting))
            block = self.blocks.block(state.at)
            for operation in block.operations:
                operation(state.registers, state.memory)
            state.instructions += block.count
            self._work -= 1
            if state.instructions > limit or self._work < 0:
                raise self._too_long(limit)
            before, found = state.at, block.end(state)
            if isinstance(found, int):
                self._go(state, before, found)
                self._meet(waiting, state)
            else:
                for one in self._part(state, found):
                    self._meet(waiting, one)
        (state,) = waiting.values()
        state.memory.settle()
        return state

    def _meet(self, waiting: dict[tuple, State], other: State) -> None:
        """Adds a path to the waiting paths, or merges it with the path that waits at its position."""
        if self._is_over(other):
            return
        key = _key(other)
        state = waiting.setdefault((key, self._apart(other, key)), other)
        if state is other:
            return
        if other.at != state.at or [frame.back for frame in other.frames] != [frame.back for frame in state.frames]:
            raise Refusal(f"ways of several calls meet at 0x{state.at:x}")
        meet(state.registers, other.registers, self.blocks.objects)
        state.memory.meet(other.memory)
        state.instructions = max(state.instructions, other.instructions)
        state.called |= other.called

    def _apart(self, state: State, place: tuple) -> tuple[int, ...]:
        """Returns the key that keeps paths at one position apart: in a function of the library the known numbers and flags,
        except for registers with many numbers there."""
        if not self.blocks.parts or state.at == NOWHERE:
            return ()
        values, flags = state.registers.values[: self.blocks.convention.core], flag_bits(state.registers.flags)
        found = [value if isinstance(value, int) else -1 for value in (*values, *flags)]
        seen, many = self._numbers.setdefault(place, [set() for _ in found]), self._many.setdefault(state.at, set())
        for index, (numbers, number) in enumerate(zip(seen, found, strict=True)):
            numbers.add(number)
            if len(numbers) > self._most_numbers:
                many.add(index)
        return tuple(-1 if index in many else number for index, number in enumerate(found))

    def _is_over(self, state: State) -> bool:
        """Whether a path iterated a loop more often than its bound allows."""
        if state.at == NOWHERE:
            return False
        entry, head = state.frames[-1].entry, state.at
        order = self._order(entry)
        if (entry, head) not in self._rounds:
            body = order.loops.get(head, ())
            leading = {start: self._successors(start) for start in body}
            self._rounds[entry, head] = self.blocks.rounds(entry, head, body, leading) if body else None
        most = self._rounds[entry, head]
        return most is not None and order.rounds(state.position, head) > most

    def _too_long(self, limit: int) -> Refusal:
        often = self.parted.most_common(1)
        if not often:
            return Refusal(f"it takes more than {limit:,} instructions")
        [(place, _)] = often
        where = self.blocks.code.image.describe(place)
        if place in self._same:
            return Refusal(f"how often the loop at {where} repeats depends on data")
        return Refusal(f"it takes more than {limit:,} instructions for some input; data decide most often at {where}")


def _key(state: State) -> tuple:
    """Returns the position of a path in the order of all paths; a finished path is the last one."""
    if state.at == NOWHERE:
        return (NOWHERE,)
    return (*(number for frame in state.frames for number in frame.position), *state.position)
