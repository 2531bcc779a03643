# SPDX-License-Identifier: MIT
"""Spreads buffers over several memories that hold them only together: what is accessed most per byte comes first.

Each buffer goes as a whole into one region. A region is filled up to its room by the live bytes of every step; then its buffers
are packed by the planner, and where they do not fit packed, the room is made smaller and everything is spread again. That no
arrangement exists is known only where the live bytes of a step, or a single buffer, exceed the rooms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy

from aidge_build.memory.buffer import Buffer, Overlap
from aidge_build.memory.plan import CapacityExceeded, MemoryPlan
from aidge_build.memory.planner import plan

ROUNDS = 8
SHUFFLES = 24
SEED = 20232


@dataclass(frozen=True)
class Room:
    """The bytes of a region that buffers may use; rooms are listed with the preferred one first."""

    region: str
    size_bytes: int


@dataclass(frozen=True)
class NoSpread:
    """Why nothing was found: the step that breaks it, and whether it is proved that nothing exists."""

    step: int
    needed_bytes: int
    proved: bool


def spread(buffers: Sequence[Buffer], rooms: Sequence[Room], accesses: Mapping[str, int],
           overlaps: Sequence[Overlap] = ()) -> tuple[MemoryPlan, ...] | NoSpread:
    """One plan per region that is used, in the order of `rooms`; `accesses` counts how often each byte of a buffer is touched."""
    impossible = _impossible(buffers, rooms) if not overlaps else None
    if impossible:
        return impossible
    for order in _orders(buffers, accesses):
        found = _spread_in(order, rooms, overlaps)
        if found:
            return found
    step, needed = _fullest(buffers)
    return NoSpread(step, needed, proved=False)


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
        for room in rooms:
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
    largest_room = max((room.size_bytes for room in rooms), default=0)
    for buffer in sorted(buffers, key=lambda b: (-b.size_bytes, b.first)):
        if buffer.size_bytes > largest_room:
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
