# SPDX-License-Identifier: MIT
"""The memories of a board that hold the arena, in one piece or in parts, and the error if they do not."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board, Region
from aidge_build.graph.view import GraphView
from aidge_build.plan.memory import cp_sat
from aidge_build.plan.memory.plan import MemoryPlan, Placement
from aidge_build.plan.memory.regions import NoSpread, Room, spread
from aidge_build.plan.place import ArenaPart
from aidge_build.plan.schedule.schedule import Schedule

ARENA_ALIGNMENT = 16  # bytes: enough for every core's widest access


NO_ROOM = "PLAN01"


class NoRoom(AidgeError):
    """The board's memories do not hold the arena of `needed_bytes` (code PLAN01); the largest of them has `room_bytes`."""

    def __init__(self, what: str, *, needed_bytes: int, room_bytes: int, tried: Sequence[str], hint: str):
        super().__init__(what, tried=tried, hint=hint, code=NO_ROOM)
        self.needed_bytes = needed_bytes
        self.room_bytes = room_bytes
        self.least_bytes = needed_bytes  # of the smallest arena that was found, row by row


def regions_of(
    arena: MemoryPlan,
    schedule: Schedule,
    view: GraphView,
    board: Board | None,
    state_bytes: int,
    constants_in: Sequence[tuple[str, int]] = (),
) -> tuple[MemoryPlan, str, tuple[ArenaPart, ...], bool]:
    """Returns (plan, region, parts, proof). The region is the first in the board's order of preference that holds the arena in
    one piece. Otherwise the arena is in parts in several regions, and the proof says whether no other arrangement over them has a
    lower access cost."""
    if board is None or not board.arena_regions or not arena.peak_bytes:
        return arena, "", (), False
    rooms = _rooms(board, state_bytes, constants_in)
    whole = _that_holds(arena, rooms)
    if whole is not None:
        return arena, whole.region, (), False
    buffers = [placement.buffer for placement in arena.placements]
    found = spread(buffers, rooms, accesses_of(schedule), arena.overlaps, cp_sat.installed())
    if isinstance(found, NoSpread):
        raise _no_room(found, arena, schedule, view, board, rooms, state_bytes)
    return _joined(found.plans, arena), "", _parts(found.plans), found.proved


def single_region(arena: MemoryPlan, board: Board, state_bytes: int, constants_in: Sequence[tuple[str, int]] = ()) -> str | None:
    """Returns the memory of the board that holds the arena in one piece, as `regions_of` chooses it; None if no memory does, ""
    for an arena without bytes or a board without memories for it."""
    if not board.arena_regions or not arena.peak_bytes:
        return ""
    room = _that_holds(arena, _rooms(board, state_bytes, constants_in))
    return None if room is None else room.region


def _rooms(board: Board, state_bytes: int, constants_in: Sequence[tuple[str, int]]) -> list[Room]:
    return [_room(region, board, state_bytes, constants_in) for region in board.arena_regions]


def _that_holds(arena: MemoryPlan, rooms: Sequence[Room]) -> Room | None:
    """Returns the first room that takes the whole arena."""
    for room in rooms:
        if arena.peak_bytes <= room.size_bytes and all(room.takes(placement.buffer) for placement in arena.placements):
            return room
    return None


def room_in(name: str, board: Board | None, state_bytes: int, constants_in: Sequence[tuple[str, int]] = ()) -> int:
    """Returns the bytes that an arena may take of this memory of the board; 0 if the board has no memory of this name."""
    region = next((region for region in board.arena_regions if region.name == name), None) if board else None
    return _room(region, board, state_bytes, constants_in).size_bytes if board and region else 0


def _room(region: Region, board: Board, state_bytes: int, constants_in: Sequence[tuple[str, int]]) -> Room:
    """Returns the part of the region that an arena may take."""
    same = {one.name for one in board.regions if region.name in (one.name, one.same_as)}
    kept_free = kept_in(region, board, state_bytes) + sum(size for name, size in constants_in if name in same)
    return Room(region.name, max(0, region.length_bytes - kept_free), region.access_cost, region.dma)


def kept_in(region: Region, board: Board, state_bytes: int) -> int:
    """Returns the bytes of the region that no arena may take: the bytes that the board keeps free, and the state if the region
    holds the program's data."""
    kept_free = board.reserved_bytes if {"data", "stack"} & set(region.roles) else 0
    return kept_free + (state_bytes if "data" in region.roles else 0)


def accesses_of(schedule: Schedule) -> dict[str, int]:
    """Returns how often each byte of a buffer is written or read, at least."""
    count: dict[str, int] = {}
    for node in schedule.steps:
        touched = [schedule.buffer_of[name] for name in (*node.inputs, *node.outputs) if name in schedule.buffer_of]
        for buffer in [*touched, *([schedule.scratch_of[node.name]] * 2 if node.name in schedule.scratch_of else ())]:
            count[buffer] = count.get(buffer, 0) + 1
    return count


def _starts(plans: Sequence[MemoryPlan]) -> list[int]:
    """Returns the byte of the whole arena at which the part in each region begins."""
    starts, reached, step = [], 0, max(ARENA_ALIGNMENT, *(each.alignment for each in plans))
    for each in plans:
        starts.append(reached)
        reached = -(-(reached + each.peak_bytes) // step) * step
    return starts


def _joined(plans: Sequence[MemoryPlan], whole: MemoryPlan) -> MemoryPlan:
    """Returns the parts as one arena with offsets that run through all parts. Nothing proves that it is optimal."""
    placements = [
        Placement(placement.buffer, placement.offset_bytes + start)
        for each, start in zip(plans, _starts(plans), strict=True)
        for placement in each.placements
    ]
    placements.sort(key=lambda p: (p.buffer.first, -p.buffer.size_bytes, p.buffer.last, p.buffer.name))
    return MemoryPlan(
        tuple(placements),
        _starts(plans)[-1] + plans[-1].peak_bytes,
        whole.lower_bound_bytes,
        whole.bound_step,
        offsets_proved_optimal=False,
        overlaps=whole.overlaps,
    )


def _parts(plans: Sequence[MemoryPlan]) -> tuple[ArenaPart, ...]:
    return tuple(
        ArenaPart(each.region, start, each, each.region.lower(), number)
        for number, (each, start) in enumerate(zip(plans, _starts(plans), strict=True))
    )


def _no_room(
    reason: NoSpread,
    arena: MemoryPlan,
    schedule: Schedule,
    view: GraphView,
    board: Board,
    rooms: Sequence[Room],
    state_bytes: int,
) -> NoRoom:
    """Returns the error that names the layer that breaks the plan, its needs, and the size of each region."""
    io = any(placement.buffer.kind == "io" for placement in arena.placements)
    sizes = [
        f"{room.region} {room.size_bytes:,} B{' (no DMA: not for inputs and outputs)' if io and not room.dma else ''}"
        for room in rooms
    ]
    where = schedule.steps[reason.step].where()
    states = f" and {state_bytes:,} B of states" if state_bytes else ""
    which = "peak" if reason.step == arena.bound_step else "breaks at"
    unproved = "tensors spread over all of them: none of the arrangements fits, which is no proof"
    return NoRoom(
        f"the activations need {arena.peak_bytes:,} B, board {board.name} has {', '.join(sizes)} "
        f"after {board.reserved_bytes:,} B reserved{states}; {which}: {where} needs {_needed(reason, arena, rooms)}",
        needed_bytes=arena.peak_bytes,
        room_bytes=max(room.size_bytes for room in rooms),
        tried=() if reason.proved or len(rooms) < 2 else (unproved,),
        hint=_remedy(reason, arena, schedule, view, board, rooms),
    )


def _needed(reason: NoSpread, arena: MemoryPlan, rooms: Sequence[Room]) -> str:
    """Returns the buffers that the layer needs, in words: one that no room takes, or several at once."""
    live = sorted((placement.buffer for placement in arena.live_at(reason.step)), key=lambda buffer: -buffer.size_bytes)
    alone = next((buffer.name for buffer in live if reason.proved and buffer.size_bytes == reason.needed_bytes), "")
    if alone:
        return f"'{alone}', which alone is {reason.needed_bytes:,} B"
    names = " + ".join(f"'{buffer.name}' {buffer.size_bytes:,} B" for buffer in live[:4])
    names += f" + {len(live) - 4} more at once" if len(live) > 4 else " at once"
    is_parted = reason.proved and reason.needed_bytes <= sum(room.size_bytes for room in rooms)
    return f"{names}, which cannot be shared out among these" if is_parted else names


def _remedy(reason: NoSpread, arena: MemoryPlan, schedule: Schedule, view: GraphView, board: Board, rooms: Sequence[Room]) -> str:
    """Returns the hint of the error: fewer bytes, or one region made of regions that follow each other in the address space."""
    usable = {room.region: room.size_bytes for room in rooms}
    chain: list[Region] = []
    for region in sorted(board.arena_regions, key=lambda region: region.origin):
        chain = [*chain, region] if chain and chain[-1].end == region.origin else [region]
        if len(chain) > 1 and sum(usable[each.name] for each in chain) >= arena.peak_bytes:
            return f"{' and '.join(each.name for each in chain)} follow each other: a board file may make them one region"
    live = {placement.buffer.name: placement.buffer.size_bytes for placement in arena.live_at(reason.step)}
    floats = {
        schedule.buffer_of[name] for name, tensor in view.tensors.items() if tensor.dtype.is_float and name in schedule.buffer_of
    }
    if 2 * sum(live.get(buffer, 0) for buffer in floats) > sum(live.values()):
        return "int8 instead of float32 needs a quarter"
    return "a board with a larger memory, or a smaller model"
