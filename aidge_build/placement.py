# SPDX-License-Identifier: MIT
"""From a schedule to places: the arena's plan, the region that holds it, and where each tensor lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aidge_build.adaptation.assignment import Assignment
from aidge_build.banding import banded
from aidge_build.boards import Board, Region
from aidge_build.cascade.cascade import Line
from aidge_build.cascade.kernels import BandKernels
from aidge_build.cascade.moves import RowMoves
from aidge_build.cascade.row_layer import ROW_AXIS
from aidge_build.cascade.search import Found
from aidge_build.contract.mem_info import MemInfo
from aidge_build.contract.spec import Demands
from aidge_build.errors import AidgeError
from aidge_build.graph.view import GraphView, Node
from aidge_build.memory import cp_sat
from aidge_build.memory.buffer import Buffer
from aidge_build.memory.checker import check
from aidge_build.memory.plan import MemoryPlan, Placement
from aidge_build.memory.planner import plan
from aidge_build.memory.regions import NoSpread, Room, spread
from aidge_build.memory.replay import Joint, Move, Piece, Span, replay
from aidge_build.program import ArenaPart, Options, Place
from aidge_build.schedule.joint import Joining, Part, candidates, compatible
from aidge_build.schedule.schedule import Schedule, buffers_of, make_schedule
from aidge_build.schedule.stores import NO_STATE, StateMemory, without_stores

MOST_JOININGS = 24  # concatenations and splits that are tried without a copy
LARGEST_TENSOR_BYTES = (1 << 31) - 1
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
    split: tuple[ArenaPart, ...] = ()
    split_proved: bool = False
    states: StateMemory = NO_STATE


def plan_memory(
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    options: Options,
    board: Board | None,
    bands: Callable[[Assignment], BandKernels],
) -> tuple[Assignment, Schedule, Placed]:
    """The schedule and its places with the smaller peak: with what kernels allow to share, unless that makes it worse. In the
    assignment next values of states that are computed in the states' bytes are not copied there."""
    _refuse_giants(assignment.view, board)
    assignment = without_stores(assignment, demands, buffers_of(assignment))
    outside = options.io == "caller"
    plain = make_schedule(assignment, demands, "plain", io_outside=outside)
    shared = make_schedule(assignment, demands, "shared", io_outside=outside) if options.memory_model != "plain" else plain
    peaks = [
        (schedule, plan(schedule.buffers, overlaps=schedule.overlaps))
        for schedule in ((shared, plain) if shared.in_place or shared.overlaps else (plain,))
    ]
    schedule, peak = min(peaks, key=lambda entry: entry[1].peak_bytes)
    joined = (schedule, peak) if options.memory_model == "plain" else _join(assignment, demands, outside, schedule, peak)
    if options.memory_model == "cascade" or options.ram_budget:
        plans = banded(assignment, demands, options, Found(schedule, peak), bands(assignment))
        best = plans.within(options.ram_budget, Found(*joined)) if options.ram_budget else plans.smallest(Found(*joined))
        joined = best.schedule, best.peak
    return assignment, joined[0], place(*joined, assignment.view, options, board)


def _refuse_giants(view: GraphView, board: Board | None) -> None:
    """Kernels count elements and bytes in int32_t: what is larger fits no core that this is for."""
    for name, tensor in view.tensors.items():
        if not tensor.is_constant and tensor.size_bytes > LARGEST_TENSOR_BYTES:
            ram = sum(region.length_bytes for region in board.regions if region.kind == "ram") if board else 0
            limit = f"board {board.name} has {ram:,} B of RAM" if board and ram else f"the limit is {LARGEST_TENSOR_BYTES:,} B"
            raise AidgeError(
                f"it needs {tensor.size_bytes:,} B, {limit}",
                where=f"tensor '{name}'",
                code="PLAN01",
                hint="export the model for a smaller input",
            )


def _join(
    assignment: Assignment, demands: Callable[[Node], Demands], outside: bool, schedule: Schedule, peak: MemoryPlan
) -> tuple[Schedule, MemoryPlan]:
    """Leave out concatenations and splits, one after the other, as long as neither the peak nor the linked arena grows."""
    taken: list[Joining] = []
    linked_bytes = None
    for joining in candidates(assignment, demands, buffers_of(assignment))[:MOST_JOININGS]:
        if not compatible(taken, joining):
            continue
        trial = make_schedule(assignment, demands, "shared", io_outside=outside, joined=[*taken, joining])
        found = plan(trial.buffers, overlaps=trial.overlaps, like=peak)
        if found.peak_bytes > peak.peak_bytes:
            continue
        linked_bytes = _linked(schedule, peak, outside) if linked_bytes is None else linked_bytes
        trial_bytes = _linked(trial, found, outside)
        if trial_bytes <= linked_bytes:
            taken, schedule, peak, linked_bytes = [*taken, joining], trial, found, trial_bytes
    return schedule, peak


def _linked(schedule: Schedule, peak: MemoryPlan, outside: bool) -> int:
    """The bytes of the arena, without the inputs and outputs that the firmware owns."""
    buffers = [buffer for buffer in schedule.buffers if not (outside and buffer.kind == "io")]
    return plan(buffers, overlaps=schedule.overlaps, like=peak).peak_bytes if outside else peak.peak_bytes


def check_memory(schedule: Schedule, placed: Placed, assignment: Assignment, demands: Callable[[Node], Demands]) -> None:
    """Prove both plans legal: as arrangements of buffers, and byte by byte along the steps."""
    check(placed.peak, schedule.buffers)
    check(placed.arena, placed.arena_buffers)
    view = assignment.view
    unwritten: dict[str, Piece | Joint] = {
        node.outputs[0]: Piece(node.inputs[0]) for node in view.nodes if assignment.choices[node.name].kernel is None
    }
    nodes = {node.name: node for node in view.nodes}
    for joining in schedule.joined:
        unwritten |= _parts_of(nodes[joining.node], joining, view)
    outside = not any(buffer.kind == "io" for buffer in placed.arena_buffers)
    planes = {name: place.plane for name, place in placed.places.items() if place.plane is not None}
    _replay(schedule, placed.peak, view, unwritten, demands, False, {}, placed.states)
    _replay(schedule, placed.arena, view, unwritten, demands, outside, planes, placed.states)


def _parts_of(node: Node, joining: Joining, view: GraphView) -> dict[str, Piece | Joint]:
    """What a concatenation or split that does not run means for the bytes of its tensors."""
    if joining.merges:
        return {node.outputs[0]: Joint(node.inputs, next(iter(joining.parts.values())).rows)}
    pieces, first = dict[str, Piece | Joint](), 0
    for name in node.outputs:
        pieces[name] = Piece(node.inputs[0], first)
        first += view.tensor(name).size_bytes
    return pieces


def _replay(
    schedule: Schedule,
    arena: MemoryPlan,
    view: GraphView,
    unwritten: Mapping[str, Piece | Joint],
    demands: Callable[[Node], Demands],
    outside: bool,
    planes: Mapping[str, MemInfo],
    states: StateMemory,
) -> None:
    moving = {name: tensor for name, tensor in view.tensors.items() if not tensor.is_constant}
    io = {schedule.buffer_of[name] for name in (*view.given, *view.handed_out)} if outside else set()
    lines = lines_of(schedule)
    heights = {name: tensor.dims[ROW_AXIS] for name, tensor in moving.items() if tensor.rank > ROW_AXIS}
    spans = {}
    for name, tensor in moving.items():
        buffer, part = schedule.buffer_of[name], schedule.parts.get(name, Part("", 0, tensor.size_bytes))
        if buffer in states.offsets:
            memory, start = "the state", states.offsets[buffer]
        else:
            memory, start = (buffer, 0) if buffer in io else ("the arena", arena.offset_of(buffer))
        size = lines[name].size_bytes if name in lines else tensor.size_bytes
        spans[name] = Span(memory, start + part.offset_bytes, size, part.rows, part.stride_bytes)
        if name in planes:
            spans[name] = _span(planes[name], tensor.size_bytes)
    memories = {"the arena": arena.peak_bytes, **{name: view.tensor(name).size_bytes for name in sorted(io)}}
    memories["the state"] = states.size_bytes
    moves = []
    inside = {name: cascade for cascade in schedule.cascades for name in cascade.nodes}
    for node in schedule.steps:
        cascade = inside.get(node.name)
        if cascade is not None:
            if node.name == cascade.nodes[0]:
                rows = RowMoves(cascade, {each.name: each for each in schedule.steps}, spans, heights, _scratch(schedule, arena))
                moves += rows.moves
                spans, unwritten = {**spans, **rows.rows}, {**unwritten, **rows.unwritten}
            continue
        wanted, scratch = demands(node), schedule.scratch_of.get(node.name)
        read = [index for index, name in enumerate(node.inputs) if name in moving]
        positions = {index: position for position, index in enumerate(read)}  # a tensor that is read twice has two
        moves.append(
            Move(
                node.name,
                tuple(node.inputs[index] for index in read),
                node.outputs,
                Span("the arena", arena.offset_of(scratch), wanted.scratch_bytes) if scratch else None,
                tuple(positions[index] for index in wanted.in_place if index in positions),
                tuple((positions[index], lead) for index, lead in wanted.overlap if index in positions),
            )
        )
    replay(moves, spans, memories, unwritten, view.inputs, view.outputs)


def _scratch(schedule: Schedule, arena: MemoryPlan) -> dict[str, Span]:
    """The scratch of each layer as bytes of the arena."""
    sizes = {buffer.name: buffer.size_bytes for buffer in schedule.buffers}
    return {node: Span("the arena", arena.offset_of(name), sizes[name]) for node, name in schedule.scratch_of.items()}


def _span(plane: MemInfo, size_bytes: int) -> Span:
    """A plane of the arena as its bytes."""
    rows = plane.length * plane.count
    cont_bytes = plane.cont_size if plane.wrap_size else 0
    return Span("the arena", plane.offset, size_bytes, rows, plane.stride, cont_bytes, plane.wrap_offset)


def place(schedule: Schedule, peak: MemoryPlan, view: GraphView, options: Options, board: Board | None) -> Placed:
    """Plan the arena; AidgeError PLAN01 with the largest moment when the board's regions cannot hold it."""
    outside = options.io == "caller"
    buffers = tuple(buffer for buffer in schedule.buffers if not (outside and buffer.kind == "io"))
    arena = plan(buffers, overlaps=schedule.overlaps, like=peak) if outside else peak
    region, split, proved = "", tuple[ArenaPart, ...](), False
    states = StateMemory.of(view)
    if options.arena == "static":
        arena, region, split, proved = _regions(arena, schedule, view, board, states.bytes_of(options.arena))
    return Placed(
        arena,
        buffers,
        peak,
        places_of(schedule, view, arena, outside, states),
        sum(view.tensor(name).size_bytes for name in dict.fromkeys((*view.given, *view.handed_out))),
        max(ARENA_ALIGNMENT, arena.alignment),
        region,
        split,
        proved,
        states,
    )


def lines_of(schedule: Schedule) -> dict[str, Line]:
    """The tensors of which only some rows are kept."""
    return {name: line for cascade in schedule.cascades for name, line in cascade.lines.items()}


def places_of(
    schedule: Schedule, view: GraphView, arena: MemoryPlan, outside: bool, states: StateMemory = NO_STATE
) -> dict[str, Place]:
    """Where each tensor lies: with the caller (`outside`) or in the arena, in the state, among the constants, or inside another
    tensor."""
    io = {name: Place("input", index) for index, name in enumerate(view.given)}
    io |= {name: Place("output", index) for index, name in enumerate(view.handed_out)}
    lines = lines_of(schedule)
    places = {}
    for name, tensor in view.tensors.items():
        if tensor.is_constant:
            places[name] = Place("constant")
        elif schedule.buffer_of[name] in states.offsets:
            places[name] = Place("state", 0, states.offsets[schedule.buffer_of[name]])
        elif outside and schedule.buffer_of[name] in io:
            places[name] = io[schedule.buffer_of[name]]
        else:
            part = schedule.parts.get(name, Part("", 0, tensor.size_bytes))
            offset = arena.offset_of(schedule.buffer_of[name]) + part.offset_bytes
            line = lines.get(name)
            places[name] = Place(
                "arena", 0, offset, part.rows, part.stride_bytes, line_bytes=0 if line is None else line.size_bytes
            )
    return places


def _regions(
    arena: MemoryPlan, schedule: Schedule, view: GraphView, board: Board | None, state_bytes: int
) -> tuple[MemoryPlan, str, tuple[ArenaPart, ...], bool]:
    """The first region in the board's order of preference that holds the arena in one piece, else several that hold its parts;
    and whether no arrangement over several has a lower access cost."""
    if board is None or not board.arena_regions or not arena.peak_bytes:
        return arena, "", (), False
    rooms = [_room(region, board, state_bytes) for region in board.arena_regions]
    for room in rooms:
        if arena.peak_bytes <= room.size_bytes and all(room.takes(placement.buffer) for placement in arena.placements):
            return arena, room.region, (), False
    buffers = [placement.buffer for placement in arena.placements]
    found = spread(buffers, rooms, _accesses(schedule), arena.overlaps, cp_sat.installed())
    if isinstance(found, NoSpread):
        raise _no_room(found, arena, schedule, view, board, rooms)
    return _joined(found.plans, arena), "", _parts(found.plans), found.proved


def _room(region: Region, board: Board, state_bytes: int) -> Room:
    """What of the region an arena may take: not what the board keeps free, nor the state, which lies with the program's data."""
    kept_free = board.reserved_bytes if {"data", "stack"} & set(region.roles) else 0
    kept_free += state_bytes if "data" in region.roles else 0
    return Room(region.name, max(0, region.length_bytes - kept_free), region.access_cost, region.dma)


def _accesses(schedule: Schedule) -> dict[str, int]:
    """How often each byte of a buffer is written or read, at least."""
    count: dict[str, int] = {}
    for node in schedule.steps:
        touched = [schedule.buffer_of[name] for name in (*node.inputs, *node.outputs) if name in schedule.buffer_of]
        for buffer in [*touched, *([schedule.scratch_of[node.name]] * 2 if node.name in schedule.scratch_of else ())]:
            count[buffer] = count.get(buffer, 0) + 1
    return count


def _starts(plans: Sequence[MemoryPlan]) -> list[int]:
    """Where each region's part begins, counted through all parts."""
    starts, reached = [], 0
    for each in plans:
        starts.append(reached)
        reached = -(-(reached + each.peak_bytes) // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
    return starts


def _joined(plans: Sequence[MemoryPlan], whole: MemoryPlan) -> MemoryPlan:
    """The parts as one arena, whose addresses run through them; it is proved optimal in no sense."""
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
        ArenaPart(each.region, start, each, each.region.lower()) for each, start in zip(plans, _starts(plans), strict=True)
    )


def _no_room(
    reason: NoSpread, arena: MemoryPlan, schedule: Schedule, view: GraphView, board: Board, rooms: Sequence[Room]
) -> AidgeError:
    """Which layer breaks it, what it needs, and what each region has."""
    live = sorted(arena.live_at(reason.step), key=lambda placement: -placement.buffer.size_bytes)
    names = " + ".join(f"'{placement.buffer.name}' {placement.buffer.size_bytes:,} B" for placement in live[:4])
    names += f" + {len(live) - 4} more" if len(live) > 4 else ""
    piece = next((p.buffer.name for p in live if reason.proved and p.buffer.size_bytes == reason.needed_bytes), "")
    moment = f"needs '{piece}', which alone is {reason.needed_bytes:,} B" if piece else f"needs {names} at once"
    if reason.proved and not piece and reason.needed_bytes <= sum(room.size_bytes for room in rooms):
        moment += ", which cannot be shared out among these"
    io = any(placement.buffer.kind == "io" for placement in arena.placements)
    sizes = [
        f"{room.region} {room.size_bytes:,} B{' (no DMA: not for inputs and outputs)' if io and not room.dma else ''}"
        for room in rooms
    ]
    which = "largest moment" if reason.step == arena.bound_step else "breaks at"
    unproved = "tensors spread over all of them: none of the arrangements fits, which is no proof"
    return AidgeError(
        f"the activations need {arena.peak_bytes:,} B, board {board.name} has {', '.join(sizes)} "
        f"after {board.reserved_bytes:,} B reserved; {which}: {schedule.steps[reason.step].where()} {moment}",
        code="PLAN01",
        tried=() if reason.proved or len(rooms) < 2 else (unproved,),
        hint=_remedy(arena, view, board, rooms),
    )


def _remedy(arena: MemoryPlan, view: GraphView, board: Board, rooms: Sequence[Room]) -> str:
    """What helps: fewer bytes, or regions that are one, because their addresses follow each other."""
    usable = {room.region: room.size_bytes for room in rooms}
    chain: list[Region] = []
    for region in sorted(board.arena_regions, key=lambda region: region.origin):
        chain = [*chain, region] if chain and chain[-1].end == region.origin else [region]
        if len(chain) > 1 and sum(usable[each.name] for each in chain) >= arena.peak_bytes:
            return f"{' and '.join(each.name for each in chain)} follow each other: a board file may make them one region"
    if any(tensor.dtype.is_float for tensor in view.tensors.values() if not tensor.is_constant):
        return "int8 instead of float32 needs a quarter"
    return "a board with a larger memory, or a smaller model"
