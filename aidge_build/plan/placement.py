# SPDX-License-Identifier: MIT
"""From a schedule to places: the arena's plan, the region that holds it, and the place of each tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial

from aidge_build.boards import Board
from aidge_build.contract.mem_info import MemInfo
from aidge_build.contract.spec import Demands
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.arena_regions import ARENA_ALIGNMENT, NoRoom, regions_of, room_in
from aidge_build.plan.cascade.cascade import Cascade, Line
from aidge_build.plan.cascade.moves import LEFT, RowMoves
from aidge_build.plan.cascade.pieces import PieceMoves
from aidge_build.plan.cascade.progress import Progress
from aidge_build.plan.cascade.row_layer import ROW_AXIS
from aidge_build.plan.cascade.waiting import Waiting
from aidge_build.plan.integrity import Integrity, require_one_piece, with_canaries
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.plan import MemoryPlan
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.memory.replay import Joint, Move, Piece, Span, replay
from aidge_build.plan.monitoring import monitor_bytes
from aidge_build.plan.options import Options
from aidge_build.plan.place import ArenaPart, Place, Placed
from aidge_build.plan.schedule.joint import Joining, Part
from aidge_build.plan.schedule.recording import Recording
from aidge_build.plan.schedule.schedule import Schedule
from aidge_build.plan.schedule.stores import NO_STATE, StateMemory
from aidge_build.prepare.adaptation.assignment import Assignment

_POINTER_BYTES = 4  # on boards with known memories
_FROM_THE_START = Part("", 0, 0, rows=1, stride_bytes=0)  # the place of a tensor in a buffer of its own


def check_memory(schedule: Schedule, placed: Placed, assignment: Assignment, demands: Callable[[Node], Demands]) -> None:
    """Proves that both plans are legal, as arrangements of buffers and byte by byte along the steps; otherwise raises
    CheckFailed."""
    check(placed.arena, placed.arena_buffers)
    if placed.peak is not placed.arena:
        check(placed.peak, schedule.buffers)
    view = assignment.view
    unwritten: dict[str, Piece | Joint] = {
        node.outputs[0]: Piece(node.inputs[0]) for node in view.nodes if assignment.choices[node.name].kernel is None
    }
    nodes = {node.name: node for node in view.nodes}
    for joining in schedule.joined:
        unwritten |= _parts_of(nodes[joining.node], joining, view)
    outside = not any(buffer.kind == "io" for buffer in placed.arena_buffers)
    io = frozenset(schedule.buffer_of[name] for name in (*view.given, *view.handed_out)) - schedule.by_rows
    planes = {name: place.plane for name, place in placed.places.items() if place.plane is not None}
    steps = _Steps(schedule, view, demands, cache(partial(_move, view, demands)), unwritten)
    steps.replay(_Bytes(schedule, view, placed.arena, placed.states, io if outside else frozenset(), planes))
    if placed.peak is not placed.arena or outside or planes:
        steps.replay(_Bytes(schedule, view, placed.peak, placed.states))


def _move(view: GraphView, demands: Callable[[Node], Demands], node: Node) -> Move:
    """Returns the tensors that a layer reads and writes, wherever they are."""
    wanted = demands(node)
    read = [index for index, name in enumerate(node.inputs) if name and not view.tensor(name).is_constant]
    positions = {index: position for position, index in enumerate(read)}  # a tensor that is read twice has two
    return Move(
        node.name,
        tuple([node.inputs[index] for index in read]),
        node.outputs,
        None,
        tuple([positions[index] for index in wanted.in_place if index in positions]),
        tuple([(positions[index], lead) for index, lead in wanted.overlap if index in positions]),
    )


def _parts_of(node: Node, joining: Joining, view: GraphView) -> dict[str, Piece | Joint]:
    """Returns the source of the bytes of each tensor that a concatenation or split would write, if it does not run."""
    if joining.merges:
        return {node.outputs[0]: Joint(node.inputs, next(iter(joining.parts.values())).rows)}
    pieces, first = dict[str, Piece | Joint](), 0
    for name in node.outputs:
        pieces[name] = Piece(node.inputs[0], first)
        first += view.tensor(name).size_bytes
    return pieces


@dataclass(frozen=True)
class _Bytes:
    """The bytes that a plan gives to a schedule's tensors. Each buffer in `io` is a memory of the firmware; the others are in the
    arena, and tensors in `planes` wrap there."""

    schedule: Schedule
    view: GraphView
    plan: MemoryPlan
    states: StateMemory
    io: frozenset[str] = frozenset()
    planes: Mapping[str, MemInfo] = field(default_factory=dict)

    @property
    def memories(self) -> dict[str, int]:
        """The size of each memory."""
        io = {name: self.view.tensor(name).size_bytes for name in sorted(self.io)}
        return {"the arena": self.plan.peak_bytes, **io, "the state": self.states.size_bytes}

    def spans(self) -> dict[str, Span]:
        """Returns the bytes of each tensor and copy, without other names of a tensor that is never in memory as a whole."""
        schedule, lines, span_at = self.schedule, lines_of(self.schedule), cache(Span)  # most tensors of a deep graph share one
        spans, by_rows = {}, schedule.by_rows
        for name, tensor in self.view.tensors.items():
            if tensor.is_constant or schedule.buffer_of[name] in by_rows and name not in lines:
                continue
            part, size_bytes = schedule.parts.get(name, _FROM_THE_START), lines.get(name, tensor).size_bytes
            memory, start = self._start(schedule.buffer_of[name])
            spans[name] = span_at(memory, start + part.offset_bytes, size_bytes, part.rows, part.stride_bytes)
        spans |= {name: _span(plane, self.view.tensor(name).size_bytes) for name, plane in self.planes.items()}
        return spans | {copy.name: self.in_arena(copy.name, copy.size_bytes) for copy in schedule.copies}

    def in_arena(self, buffer: str, size_bytes: int) -> Span:
        """Returns the first bytes of a buffer of the arena."""
        return Span("the arena", self.plan.offset_of(buffer), size_bytes)

    def _start(self, buffer: str) -> tuple[str, int]:
        if buffer in self.states.offsets:
            return "the state", self.states.offsets[buffer]
        return (buffer, 0) if buffer in self.io else ("the arena", self.plan.offset_of(buffer))


@dataclass(frozen=True)
class _Steps:
    """A schedule's steps, to be replayed with each of its plans; `unwritten` are the tensors that no step writes."""

    schedule: Schedule
    view: GraphView
    demands: Callable[[Node], Demands]
    move_of: Callable[[Node], Move]
    unwritten: Mapping[str, Piece | Joint]

    def replay(self, plan: _Bytes) -> None:
        """Raises CheckFailed if a step reads bytes of another tensor than its own, or an output is not whole at the end."""
        schedule, spans, unwritten = self.schedule, plan.spans(), {**self.unwritten}
        heads = {cascade.nodes[0]: cascade for cascade in schedule.cascades}
        inside = {name for cascade in schedule.cascades for name in cascade.nodes}
        moves: list[Move] = []
        for step, node in enumerate(schedule.steps):
            if node.name in heads:
                rows = self._by_rows(heads[node.name], node, plan, spans)
                moves += rows.moves
                spans |= rows.rows
                unwritten |= rows.unwritten
            elif node.name not in inside:
                moves += self._of_step(step, node, plan)
        memories = plan.memories | ({LEFT: spans[LEFT].size_bytes} if LEFT in spans else {})
        by_rows, left = schedule.by_rows, [LEFT] if schedule.departing else []
        inputs, outputs = (
            [name for name in names if schedule.buffer_of[name] not in by_rows] for names in (self.view.inputs, self.view.outputs)
        )
        replay(moves, spans, memories, unwritten, inputs, [*outputs, *left])

    @cached_property
    def _heights(self) -> dict[str, int]:
        tensors = self.view.tensors.items()
        return {name: each.dims[ROW_AXIS] for name, each in tensors if not each.is_constant and each.rank > ROW_AXIS}

    def _of_step(self, step: int, node: Node, plan: _Bytes) -> list[Move]:
        """Returns the copies of constants that begin in this step, then the layer, which reads the copies that are made for
        it."""
        copies, scratch = self.schedule.copies, self.schedule.scratch_of.get(node.name)
        move = self.move_of(node)
        copied = [copy.name for copy in copies if copy.step == step]
        if copied or scratch:
            held = plan.in_arena(scratch, self.demands(node).scratch_bytes) if scratch else None
            move = replace(move, reads=(*move.reads, *copied), scratch=held)
        return [*(Move(f"copying the {copy.name}", (), (copy.name,)) for copy in copies if copy.first == step), move]

    def _by_rows(self, cascade: Cascade, head: Node, plan: _Bytes, spans: dict[str, Span]) -> PieceMoves | RowMoves:
        """Returns the steps of a cascade, which begins with the layer `head`."""
        sizes = {buffer.name: buffer.size_bytes for buffer in self.schedule.buffers}
        scratch = {node: plan.in_arena(name, sizes[name]) for node, name in self.schedule.scratch_of.items()}
        if cascade.is_cut and not cascade.carrying:
            return PieceMoves(cascade, head.inputs, spans, self._heights, scratch.get(head.name))
        return RowMoves(cascade, {node.name: node for node in self.schedule.steps}, spans, self._heights, scratch)


def _span(plane: MemInfo, size_bytes: int) -> Span:
    """Returns the bytes of a plane of the arena."""
    rows = plane.length * plane.count
    cont_bytes = plane.cont_size if plane.wrap_size else 0
    return Span("the arena", plane.offset, size_bytes, rows, plane.stride, cont_bytes, plane.wrap_offset)


@dataclass(frozen=True)
class Arena:
    """The buffers of a schedule that the firmware does not own, and their `plan`; `peak` is the plan with the firmware's buffers.
    The arena is the same for every board."""

    buffers: tuple[Buffer, ...]
    peak: MemoryPlan
    plan: MemoryPlan


def arena_of(schedule: Schedule, peak: MemoryPlan, options: Options) -> Arena:
    """Returns the arena of a schedule."""
    outside = options.io == "caller"
    buffers = tuple(buffer for buffer in schedule.buffers if not (outside and buffer.kind == "io"))
    if options.dma_line and not outside:
        buffers = tuple(in_lines(buffer, options.dma_line) for buffer in buffers)
        peak = plan(buffers, overlaps=schedule.overlaps, like=peak)
    if outside:
        return _linked(buffers, peak, plan(buffers, overlaps=schedule.overlaps, like=peak), options)
    found = _linked(buffers, peak, peak, options)
    return replace(found, peak=found.plan)


def _linked(buffers: tuple[Buffer, ...], peak: MemoryPlan, bare: MemoryPlan, options: Options) -> Arena:
    """Returns the arena with its canaries."""
    whole = with_canaries(bare, options)
    canaries = [placement.buffer for placement in whole.placements if placement.buffer.kind == "canary"]
    return Arena((*buffers, *canaries), peak, whole)


def place(schedule: Schedule, whole: Arena, view: GraphView, options: Options, board: Board | None) -> Placed:
    """Returns the places on the board; AidgeError PLAN01 names the peak if the board's regions cannot hold the arena."""
    arena, outside = whole.plan, options.io == "caller"
    region, split, proved, room_bytes = "", tuple[ArenaPart, ...](), False, 0
    states = StateMemory.of(view)
    if options.arena == "static":
        kept_bytes = kept_beside(view, states, schedule.cascades, options)
        arena, region, split, proved = regions_of(arena, schedule, view, board, kept_bytes, options.constants_in)
        require_one_piece(len(split), options)
        room_bytes = room_in(region, board, kept_bytes, options.constants_in)
    return Placed(
        arena,
        whole.buffers,
        whole.peak,
        places_of(schedule, view, arena, outside, states),
        sum(
            view.tensor(name).size_bytes
            for name in dict.fromkeys((*view.given, *view.handed_out))
            if schedule.buffer_of[name] not in schedule.by_rows
        ),
        max(ARENA_ALIGNMENT, arena.alignment),
        region,
        split,
        proved,
        states,
        room_bytes=room_bytes,
    )


def kept_beside(view: GraphView, states: StateMemory, cascades: tuple[Cascade, ...], options: Options) -> int:
    """Returns the bytes of RAM that the model needs in addition to an arena of its own: the states, the struct of a waiting
    inference, the record, the progress of checks, and the counters of the monitor."""
    ports = len(view.given) + len(view.handed_out) if options.io == "caller" else 0
    progress = Progress.of(cascades, ports) or (Waiting.of(cascades, ports) if options.max_step else None)
    recording, integrity = Recording.of(view, states, options.record), Integrity.of(options)
    return (
        states.bytes_of(options.arena)
        + (progress.size_bytes(_POINTER_BYTES) if progress else 0)
        + (recording.size_bytes if recording else 0)
        + (integrity.size_bytes if integrity else 0)
        + monitor_bytes(view, options)
    )


def place_with_added_buffers(
    placed: Placed, view: GraphView, options: Options, board: Board | None, schedule: Schedule
) -> Placed:
    """Returns the places of `schedule`, which has more buffers than the schedule that was `placed`; the region is "" if no memory
    holds them."""
    peak = plan(schedule.buffers, overlaps=schedule.overlaps, like=placed.peak)
    try:
        found = place(schedule, arena_of(schedule, peak, options), view, options, board)
        return replace(found, notices=placed.notices, whole_peak_bytes=placed.whole_peak_bytes)
    except NoRoom:
        return replace(placed, arena=peak, region="")


def in_lines(buffer: Buffer, line: int) -> Buffer:
    """Returns an input or output that begins and ends at a line of the data cache: no other buffer uses the lines of its live
    bytes."""
    if buffer.kind != "io":
        return buffer
    windows = tuple(
        replace(window, low_bytes=window.low_bytes // line * line, high_bytes=-(-window.high_bytes // line) * line)
        for window in buffer.windows
    )
    size_bytes = -(-buffer.size_bytes // line) * line
    return replace(buffer, size_bytes=size_bytes, alignment=max(buffer.alignment, line), windows=windows)


def lines_of(schedule: Schedule) -> dict[str, Line]:
    """Returns tensor -> line for the tensors that are never in memory as a whole."""
    return {name: line for cascade in schedule.cascades for name, line in cascade.lines.items()}


def places_of(
    schedule: Schedule, view: GraphView, arena: MemoryPlan, outside: bool, states: StateMemory = NO_STATE
) -> dict[str, Place]:
    """Returns the place of each tensor: with the caller (`outside`) or in the arena, in the state, among the constants, or inside
    another tensor."""
    io = {name: Place("input", index) for index, name in enumerate(view.given)}
    io |= {name: Place("output", index) for index, name in enumerate(view.handed_out)}
    io = {name: place for name, place in io.items() if schedule.buffer_of[name] not in schedule.by_rows}
    lines = {schedule.buffer_of[name]: line for name, line in lines_of(schedule).items()}
    places = {}
    for name, tensor in view.tensors.items():
        if tensor.is_constant:
            places[name] = Place("constant")
        elif schedule.buffer_of[name] in states.offsets:
            places[name] = Place("state", 0, states.offsets[schedule.buffer_of[name]])
        elif outside and schedule.buffer_of[name] in io:
            places[name] = io[schedule.buffer_of[name]]
        else:
            part = schedule.parts.get(name, _FROM_THE_START)
            offset = arena.offset_of(schedule.buffer_of[name]) + part.offset_bytes
            line = lines.get(schedule.buffer_of[name])
            kept = (0, 0) if line is None else (line.size_bytes, line.height)
            places[name] = Place("arena", 0, offset, part.rows, part.stride_bytes, None, *kept)
    return places
