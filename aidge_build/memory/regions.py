# SPDX-License-Identifier: MIT
"""Spreads buffers over several memories that hold them only together: what is accessed most per byte comes first.

Each buffer goes as a whole into one region. A region is filled up to its room by the live bytes of every step; then its buffers
are packed by the planner, and where they do not fit packed, the room is made smaller and everything is spread again. That no
arrangement exists is known only where the live bytes of a step, or a single buffer, exceed the rooms. Where the constraint solver
of `cp_sat` is installed, it looks for a cheaper arrangement, or for any, and may prove that there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy

from aidge_build.memory import cp_sat
from aidge_build.memory.buffer import Buffer, Overlap
from aidge_build.memory.plan import CapacityExceeded, MemoryPlan, Placement
from aidge_build.memory.planner import plan
from aidge_build.memory.problem import Problem

ROUNDS = 8
SHUFFLES = 24
SEED = 20232


@dataclass(frozen=True)
class Room:
    """The bytes of a region that buffers may use; of rooms of equal `access_cost` the first is preferred. Without `dma`
    peripherals do not reach it: inputs and outputs stay out."""

    region: str
    size_bytes: int
    access_cost: int = 1
    dma: bool = True

    def takes(self, buffer: Buffer) -> bool:
        """Whether the buffer may lie here, its size aside."""
        return self.dma or buffer.kind != "io"


@dataclass(frozen=True)
class Spread:
    """One plan per region that is used, in the order of the rooms. `cost` sums accesses x bytes x cost of the region;
    `proved`: no arrangement of buffers as wholes costs less."""

    plans: tuple[MemoryPlan, ...]
    cost: int
    proved: bool = False


@dataclass(frozen=True)
class NoSpread:
    """Why nothing was found: the step that breaks it, and whether it is proved that nothing exists."""

    step: int
    needed_bytes: int
    proved: bool


def spread(buffers: Sequence[Buffer], rooms: Sequence[Room], accesses: Mapping[str, int],
           overlaps: Sequence[Overlap] = ()) -> Spread | NoSpread:
    """The cheapest arrangement that is found; `accesses` counts how often each byte of a buffer is touched."""
    impossible = _impossible(buffers, rooms) if not overlaps else None
    if impossible:
        return impossible
    cheapest = sorted(rooms, key=lambda room: room.access_cost)
    plans = next(filter(None, (_spread_in(order, cheapest, overlaps) for order in _orders(buffers, accesses))), ())
    found = Spread(_in_order(plans, rooms), _cost(plans, rooms, accesses)) if plans else None
    if cp_sat.is_installed() and len(buffers) <= cp_sat.MOST_BUFFERS:
        return _solved(buffers, rooms, accesses, overlaps, found)
    return found or NoSpread(*_fullest(buffers), proved=False)


def _solved(buffers: Sequence[Buffer], rooms: Sequence[Room], accesses: Mapping[str, int], overlaps: Sequence[Overlap],
            known: Spread | None) -> Spread | NoSpread:
    """What the constraint solver finds, starting from what is known; it takes buffers as whole and apart."""
    numbers = {room.region: number for number, room in enumerate(rooms)}
    hint = {placement.buffer.name: numbers[each.region] for each in (known.plans if known else ()) for placement in each.placements}
    answer = cp_sat.solve(buffers, rooms, {buffer.name: accesses.get(buffer.name, 1) * buffer.size_bytes for buffer in buffers}, hint)
    whole = not overlaps and not any(buffer.windows for buffer in buffers)
    if not answer.places:
        return known or NoSpread(*_fullest(buffers), proved=answer.proved and whole)
    plans = []
    for number, room in enumerate(rooms):
        inside = [(buffer, offset) for buffer, (place, offset) in zip(buffers, answer.places, strict=True) if place == number]
        if inside:
            plans.append(_packed_or_as_given(inside, room, overlaps))
    found = Spread(tuple(plans), _cost(plans, rooms, accesses), answer.proved and whole)
    return known if known and known.cost < found.cost else found


def _packed_or_as_given(inside: Sequence[tuple[Buffer, int]], room: Room, overlaps: Sequence[Overlap]) -> MemoryPlan:
    buffers = [buffer for buffer, _ in inside]
    try:
        return _packed(buffers, room, overlaps)
    except CapacityExceeded:
        bound, step = Problem.of(buffers).lower_bound
        placements = sorted((Placement(buffer, offset) for buffer, offset in inside), key=lambda p: (p.buffer.first, p.buffer.name))
        return MemoryPlan(tuple(placements), max(p.end_bytes for p in placements), bound, step, False, room.region)


def _in_order(plans: Sequence[MemoryPlan], rooms: Sequence[Room]) -> tuple[MemoryPlan, ...]:
    by_region = {each.region: each for each in plans}
    return tuple(by_region[room.region] for room in rooms if room.region in by_region)


def _cost(plans: Sequence[MemoryPlan], rooms: Sequence[Room], accesses: Mapping[str, int]) -> int:
    costs = {room.region: room.access_cost for room in rooms}
    return sum(accesses.get(placement.buffer.name, 1) * placement.buffer.size_bytes * costs[each.region]
               for each in plans for placement in each.placements)


def _orders(buffers: Sequence[Buffer], accesses: Mapping[str, int]) -> list[list[Buffer]]:
    """The dense ones first; if that fails the large ones, the long-lived ones, and seeded mixtures."""
    large = sorted(buffers, key=lambda b: (-b.size_bytes, b.first, b.name))
    dense = sorted(large, key=lambda b: -accesses.get(b.name, 1))
    broad = sorted(large, key=lambda b: -b.size_bytes * (b.last - b.first))
    found, random = [dense, large, broad], Random(SEED)
    for _ in range(SHUFFLES):
        found.append(sorted(large, key=lambda b: -b.size_bytes * random.uniform(0.5, 2)))
    return found


def _spread_in(order: Sequence[Buffer], rooms: Sequence[Room], overlaps: Sequence[Overlap]) -> tuple[MemoryPlan, ...]:
    limits = {room.region: room.size_bytes for room in rooms}
    for _ in range(ROUNDS):
        assigned = _assigned(order, rooms, limits)
        if assigned is None:
            return ()
        plans = []
        for room in rooms:
            try:
                plans.append(_packed(assigned[room.region], room, overlaps))
            except CapacityExceeded as excess:
                limits[room.region] -= excess.needed_bytes - room.size_bytes
                break
        else:
            return tuple(found for found in plans if found.placements)
    return ()


def _packed(buffers: Sequence[Buffer], room: Room, overlaps: Sequence[Overlap]) -> MemoryPlan:
    names = {buffer.name for buffer in buffers}
    inside = [overlap for overlap in overlaps if {overlap.lower, overlap.upper} <= names]
    return plan(buffers, room.size_bytes, room.region, overlaps=inside)


def _assigned(order: Sequence[Buffer], rooms: Sequence[Room], limits: Mapping[str, int]) -> dict[str, list[Buffer]] | None:
    """Each buffer in the first room that is not too full while it lives; None when some buffer finds none."""
    steps = max((buffer.last for buffer in order), default=1)
    live = {room.region: numpy.zeros(steps, numpy.int64) for room in rooms}
    assigned: dict[str, list[Buffer]] = {room.region: [] for room in rooms}
    for buffer in order:
        padded = -(-buffer.size_bytes // buffer.alignment) * buffer.alignment
        for room in [room for room in rooms if room.takes(buffer)]:
            span = live[room.region][buffer.first:buffer.last]
            if span.max() + padded <= limits[room.region]:
                span += padded
                assigned[room.region].append(buffer)
                break
        else:
            return None
    return assigned


def _impossible(buffers: Sequence[Buffer], rooms: Sequence[Room]) -> NoSpread | None:
    """What no arrangement avoids: more live bytes than there are, or a buffer larger than every region."""
    for buffer in sorted(buffers, key=lambda b: (-b.size_bytes, b.first)):
        if buffer.size_bytes > max((room.size_bytes for room in rooms if room.takes(buffer)), default=0):
            return NoSpread(buffer.first, buffer.size_bytes, proved=True)
    step, needed = _fullest(buffers)
    return NoSpread(step, needed, proved=True) if needed > sum(room.size_bytes for room in rooms) else None


def _fullest(buffers: Sequence[Buffer]) -> tuple[int, int]:
    best = (0, 0)
    for step in sorted({window.first for buffer in buffers for window in buffer.extents}):
        extents = [buffer.live_bytes(step) for buffer in buffers]
        needed = sum(high - low for low, high in extents)
        if needed > best[1]:
            best = (step, needed)
    return best
