# SPDX-License-Identifier: MIT
"""Spreads buffers over several memories that hold them only together: the buffers with the most accesses go where access is
cheapest.

Each buffer goes as a whole into one region. A region is filled up to its room by the live bytes of every step; then its buffers
are packed by the planner, and the first one that does not fit packed has to go elsewhere. Only one case proves that no
arrangement exists: the live buffers of a step cannot be shared out among the rooms. If a constraint solver (`cp_sat`) is
installed, it looks for a cheaper arrangement, or for any, and may prove that there is none.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

import numpy

from aidge_build.plan.memory.buffer import Buffer, Overlap
from aidge_build.plan.memory.plan import CapacityExceeded, MemoryPlan, Placement
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.memory.problem import Problem, saved_bytes

ROUNDS = 24
SHUFFLES = 12
SEED = 20232
NODES = 4_000  # of each search


@dataclass(frozen=True)
class Room:
    """The bytes of a region that buffers may use; of rooms of equal `access_cost` the first is preferred. Without `dma`
    peripherals do not reach it: inputs and outputs stay out."""

    region: str
    size_bytes: int
    access_cost: int = 1
    dma: bool = True

    def takes(self, buffer: Buffer) -> bool:
        """Whether the buffer may be in this room, its size aside."""
        return self.dma or buffer.kind != "io"


@dataclass(frozen=True)
class Spread:
    """One plan per region that is used, in the order of the rooms. `cost` sums accesses x bytes x cost of the region;
    `proved`: no arrangement costs less."""

    plans: tuple[MemoryPlan, ...]
    cost: int
    proved: bool


@dataclass(frozen=True)
class NoSpread:
    """Why nothing was found: the step that breaks it, and whether it is proved that nothing exists."""

    step: int
    needed_bytes: int
    proved: bool


@dataclass(frozen=True)
class Answer:
    """(number of the room, offset) per buffer; none when nothing was found. `proved`: it is the cheapest, or nothing exists."""

    places: tuple[tuple[int, int], ...]
    proved: bool


class Solver(Protocol):
    """Looks for the least sum of weights x access cost. `hint` is an arrangement that is known, by the buffers' names."""

    def __call__(
        self, problem: Problem, rooms: Sequence[Room], weights: Sequence[int], hint: Mapping[str, tuple[int, int]]
    ) -> Answer: ...


def spread(
    buffers: Sequence[Buffer],
    rooms: Sequence[Room],
    accesses: Mapping[str, int],
    overlaps: Sequence[Overlap] = (),
    solve: Solver | None = None,
) -> Spread | NoSpread:
    """Returns the cheapest arrangement that is found; `accesses` counts how often each byte of a buffer is touched, once by
    default."""
    question = _Question(Problem.of(buffers, overlaps), rooms, accesses)
    return question.impossible() or question.answer(solve)


class _Question:
    """The question, and the packings that were tried: many orders lead to the same packings."""

    def __init__(self, problem: Problem, rooms: Sequence[Room], accesses: Mapping[str, int]):
        self.problem, self.rooms, self.accesses = problem, tuple(rooms), accesses
        self._tried: set[tuple[str, ...]] = set()
        self._packings: dict[tuple[frozenset[str], Room], MemoryPlan | None] = {}

    def impossible(self) -> NoSpread | None:
        """Returns why no arrangement exists: a buffer is larger than every region, or the live buffers of a step cannot be shared
        out; None if one may exist."""
        for buffer in sorted(self.problem.buffers, key=lambda b: (-b.size_bytes, b.first)):
            if buffer.size_bytes > max((room.size_bytes for room in self.rooms if room.takes(buffer)), default=0):
                return NoSpread(buffer.first, buffer.size_bytes, proved=True)
        needed, step = self.problem.fullest
        if needed > sum(room.size_bytes for room in self.rooms):
            return NoSpread(step, needed, proved=True)
        apart = self.problem.steps_apart
        for step, live in self.problem.live_sets:
            buffers = [self.problem.buffers[index] for index in live]
            pieces = [(_live_bytes(buffer, step), buffer) for buffer in buffers if step not in apart.get(buffer.name, ())]
            if not _can_be_shared_out(pieces, self.rooms):
                return NoSpread(step, sum(size for size, _ in pieces), proved=True)
        return None

    def answer(self, solve: Solver | None) -> Spread | NoSpread:
        """Returns the cheapest greedy arrangement; the solver is asked if something cheaper may exist."""
        known = None
        for found in filter(None, map(self._greedy, self._orders())):
            known = found if known is None or found.cost < known.cost else known
            if known.proved:
                return known
        if solve is None:
            return known or self._nothing(proved=False)
        weights = [self._weight(buffer) for buffer in self.problem.buffers]
        answer = solve(self.problem, self.rooms, weights, self._places(known) if known else {})
        if not answer.places:
            return known or self._nothing(answer.proved)
        found = self._spread([self._solved(number, answer) for number in range(len(self.rooms))], answer.proved)
        return found if known is None or found.cost < known.cost else replace(known, proved=answer.proved)

    def _places(self, known: Spread) -> dict[str, tuple[int, int]]:
        """Returns the number of the room and the offset of each buffer."""
        return {
            placement.buffer.name: (self._number(each.region), placement.offset_bytes)
            for each in known.plans
            for placement in each.placements
        }

    def _nothing(self, proved: bool) -> NoSpread:
        needed, step = self.problem.fullest
        return NoSpread(step, needed, proved)

    def _number(self, region: str) -> int:
        return [room.region for room in self.rooms].index(region)

    def _weight(self, buffer: Buffer) -> int:
        return self.accesses.get(buffer.name, 1) * buffer.size_bytes

    def _spread(self, plans: Sequence[MemoryPlan], proved: bool = False) -> Spread:
        """Returns the spread of `plans`, one for each room. It is proved if every buffer is in the cheapest room that takes
        it."""
        cost = sum(
            self._weight(placement.buffer) * room.access_cost
            for room, each in zip(self.rooms, plans, strict=True)
            for placement in each.placements
        )
        least = sum(
            self._weight(buffer) * min(room.access_cost for room in self.rooms if room.takes(buffer))
            for buffer in self.problem.buffers
        )
        return Spread(tuple(each for each in plans if each.placements), cost, proved or cost == least)

    def _solved(self, number: int, answer: Answer) -> MemoryPlan:
        """Returns the plan of the buffers that the solver put into a room, packed more tightly if the planner finds a way."""
        inside = [
            Placement(buffer, offset)
            for buffer, (place, offset) in zip(self.problem.buffers, answer.places, strict=True)
            if place == number
        ]
        buffers, region = [placement.buffer for placement in inside], self.rooms[number].region
        overlaps = self._overlaps_of(buffers)
        bound, step = Problem.of(buffers, overlaps).lower_bound
        peak = max((placement.end_bytes for placement in inside), default=0)
        given = MemoryPlan(tuple(inside), peak, bound, step, False, region, overlaps)
        return self._packed(buffers, self.rooms[number]) or given

    def _orders(self) -> list[list[Buffer]]:
        """Returns the orders to try: dense buffers first (accesses for each step of their lives), large buffers first, which are
        hard to place, and seeded mixtures."""
        large = sorted(self.problem.buffers, key=lambda b: (-b.size_bytes, b.first, b.name))

        def density(buffer: Buffer) -> float:
            return self.accesses.get(buffer.name, 1) / (buffer.last - buffer.first)

        found, random = [sorted(large, key=lambda b: -density(b)), large], Random(SEED)
        for _ in range(SHUFFLES):
            found.append(sorted(large, key=lambda b: -density(b) * random.uniform(0.5, 2)))
            found.append(sorted(large, key=lambda b: -b.size_bytes * random.uniform(0.5, 2)))
        return found

    def _greedy(self, order: Sequence[Buffer]) -> Spread | None:
        """Assigns, then packs. A buffer that does not fit packed goes elsewhere; a buffer that finds no place comes first in the
        next round."""
        refused: set[tuple[str, str]] = set()
        for _ in range(ROUNDS):
            names = tuple(buffer.name for buffer in order)
            if not refused and names in self._tried:
                return None
            self._tried.add(names)
            assigned, homeless = self._assigned(order, refused)
            if homeless:
                order, refused = [homeless, *(buffer for buffer in order if buffer != homeless)], set()
                continue
            plans = []
            for room in self.rooms:
                packed = self._packed(assigned[room.region], room)
                if packed is None and len(self.rooms) == 1:
                    return None  # there is no elsewhere
                if packed is None:
                    refused.add((self._one_too_many(assigned[room.region], room).name, room.region))
                    break
                plans.append(packed)
            else:
                return self._spread(plans)
        return None

    def _assigned(
        self, order: Sequence[Buffer], refused: Collection[tuple[str, str]]
    ) -> tuple[dict[str, list[Buffer]], Buffer | None]:
        """Returns each buffer in the cheapest room that is not too full while it lives; and the first buffer that finds no
        room."""
        cheapest = sorted(self.rooms, key=lambda room: room.access_cost)
        fillings = {room.region: _Filling(self.problem, room) for room in cheapest}
        for buffer in order:
            if not any(filling.add(buffer) for region, filling in fillings.items() if (buffer.name, region) not in refused):
                return {}, buffer
        return {region: filling.buffers for region, filling in fillings.items()}, None

    def _one_too_many(self, buffers: Sequence[Buffer], room: Room) -> Buffer:
        """Returns the first buffer that does not fit with the buffers before it."""
        count = bisect(range(1, len(buffers)), False, key=lambda length: self._packed(buffers[:length], room) is None)
        return buffers[count]

    def _packed(self, buffers: Sequence[Buffer], room: Room) -> MemoryPlan | None:
        key = frozenset(buffer.name for buffer in buffers), room
        if key not in self._packings:
            overlaps = self._overlaps_of(buffers)
            try:
                self._packings[key] = plan(buffers, room.size_bytes, room.region, nodes=NODES, overlaps=overlaps)
            except CapacityExceeded:
                self._packings[key] = None
        return self._packings[key]

    def _overlaps_of(self, buffers: Sequence[Buffer]) -> tuple[Overlap, ...]:
        names = {buffer.name for buffer in buffers}
        return tuple(overlap for overlap in self.problem.overlaps if {overlap.lower, overlap.upper} <= names)


class _Filling:
    """The buffers of one room, and at least how many of their bytes are live in each step."""

    def __init__(self, problem: Problem, room: Room):
        self.buffers: list[Buffer] = []
        self._overlaps, self._room = problem.overlaps, room
        self._live = numpy.zeros(max(problem.lasts, default=1), numpy.int64)

    def add(self, buffer: Buffer) -> bool:
        """Adds the buffer if it may be in this room and no step then exceeds the room; returns whether it was added."""
        live = self._live.copy()
        for window in buffer.extents:
            live[window.first : window.last] += window.high_bytes - window.low_bytes
        there = {other.name: other for other in self.buffers} | {buffer.name: buffer}
        for overlap in self._overlaps:
            if buffer.name in (overlap.lower, overlap.upper) and overlap.lower in there and overlap.upper in there:
                lower, upper = there[overlap.lower], there[overlap.upper]
                step = max(lower.first, upper.first)
                live[step] -= saved_bytes(overlap, lower, upper, step)
        if live.max() > self._room.size_bytes or not self._room.takes(buffer):
            return False
        self._live = live
        self.buffers.append(buffer)
        return True


def _live_bytes(buffer: Buffer, step: int) -> int:
    low, high = buffer.live_bytes(step)
    return high - low


def _can_be_shared_out(pieces: Sequence[tuple[int, Buffer]], rooms: Sequence[Room]) -> bool:
    """Whether pieces (bytes, buffer) go into the rooms, addresses aside; also True if that takes too long to find out."""
    largest_first = sorted(pieces, key=lambda piece: (-piece[0], piece[1].name))
    visits = 0

    def place(number: int, free: tuple[int, ...]) -> bool:
        nonlocal visits
        visits += 1
        if number == len(largest_first) or visits > NODES:
            return True
        size, buffer = largest_first[number]
        tried = set()
        for index, (room, left) in enumerate(zip(rooms, free, strict=True)):
            if left >= size and room.takes(buffer) and (left, room.dma) not in tried:
                tried.add((left, room.dma))
                if place(number + 1, (*free[:index], left - size, *free[index + 1 :])):
                    return True
        return False

    return place(0, tuple(room.size_bytes for room in rooms))
