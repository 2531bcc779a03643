# SPDX-License-Identifier: MIT
"""From a schedule to places: the arena's plan, the region that holds it, and where each tensor lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aidge_build.boards import Board
from aidge_build.errors import AidgeError
from aidge_build.graph.view import GraphView
from aidge_build.memory.buffer import Buffer
from aidge_build.memory.plan import MemoryPlan
from aidge_build.memory.planner import plan
from aidge_build.program import Options, Place
from aidge_build.schedule.schedule import Schedule

ARENA_ALIGNMENT = 16  # bytes: enough for every core's widest access


@dataclass(frozen=True)
class Placed:
    """`arena` is planned as it is linked; `peak` counts the graph's inputs and outputs inside."""

    arena: MemoryPlan
    arena_buffers: tuple[Buffer, ...]
    peak: MemoryPlan
    places: Mapping[str, Place]
    io_bytes: int
    alignment: int
    region: str


def place(schedule: Schedule, view: GraphView, options: Options, board: Board | None) -> Placed:
    """Plan the arena; AidgeError PLAN01 with the largest moment when no region of the board can hold it."""
    outside = options.io == "caller"
    buffers = tuple(buffer for buffer in schedule.buffers if not (outside and buffer.kind == "io"))
    peak = plan(schedule.buffers)
    arena = plan(buffers) if outside else peak
    region = _region(arena, schedule, view, board) if options.arena == "static" else ""
    return Placed(arena, buffers, peak, _places(schedule, view, arena, outside),
                  sum(buffer.size_bytes for buffer in schedule.buffers if buffer.kind == "io"),
                  max(ARENA_ALIGNMENT, arena.alignment), region)


def _places(schedule: Schedule, view: GraphView, arena: MemoryPlan, outside: bool) -> dict[str, Place]:
    io = {name: Place("input", index) for index, name in enumerate(view.inputs)}
    io |= {name: Place("output", index) for index, name in enumerate(view.outputs)}
    places = {}
    for name, tensor in view.tensors.items():
        if tensor.is_constant:
            places[name] = Place("constant")
        elif outside and schedule.buffer_of[name] in io:
            places[name] = io[schedule.buffer_of[name]]
        else:
            places[name] = Place("arena", 0, arena.offset_of(schedule.buffer_of[name]))
    return places


def _region(arena: MemoryPlan, schedule: Schedule, view: GraphView, board: Board | None) -> str:
    """The first region in the board's order of preference that has room for the arena."""
    if board is None or not board.arena_regions or not arena.peak_bytes:
        return ""
    rooms = {region.name: region.length_bytes - (board.reserved_bytes if {"data", "stack"} & set(region.roles) else 0)
             for region in board.arena_regions}
    for name, room in rooms.items():
        if arena.peak_bytes <= room:
            return name
    live = sorted(arena.live_at(arena.bound_step), key=lambda placement: -placement.buffer.size_bytes)
    names = " + ".join(f"'{placement.buffer.name}' {placement.buffer.size_bytes:,} B" for placement in live[:4])
    float_model = any(tensor.dtype.is_float for tensor in view.tensors.values() if not tensor.is_constant)
    raise AidgeError(
        f"the activations need {arena.peak_bytes:,} B, board {board.name} has "
        f"{', '.join(f'{name} {room:,} B' for name, room in rooms.items())} after {board.reserved_bytes:,} B reserved; "
        f"largest moment: {schedule.steps[arena.bound_step].where()} needs {names} at once", code="PLAN01",
        hint="int8 instead of float32 needs a quarter" if float_model else "a board with a larger memory, or a smaller model")
