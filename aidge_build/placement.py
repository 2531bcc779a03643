# SPDX-License-Identifier: MIT
"""From a schedule to places: the arena's plan, the region that holds it, and where each tensor lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from aidge_build.adaptation.assignment import Assignment
from aidge_build.arena_regions import ARENA_ALIGNMENT, NoRoom, regions_of, room_in
from aidge_build.banding import Plans, banded
from aidge_build.boards import Board
from aidge_build.cascade.cascade import Cascade, Line
from aidge_build.cascade.kernels import BandKernels
from aidge_build.cascade.moves import LEFT, RowMoves
from aidge_build.cascade.pieces import PieceMoves
from aidge_build.cascade.progress import Progress
from aidge_build.cascade.question import Found
from aidge_build.cascade.row_layer import ROW_AXIS
from aidge_build.cascade.search import QUICK
from aidge_build.cascade.waiting import Waiting
from aidge_build.cascade.words import fitted, smallest
from aidge_build.contract.mem_info import MemInfo
from aidge_build.contract.spec import Demands
from aidge_build.errors import AidgeError
from aidge_build.graph.view import GraphView, Node
from aidge_build.memory.buffer import Buffer
from aidge_build.memory.checker import check
from aidge_build.memory.plan import MemoryPlan
from aidge_build.memory.planner import plan
from aidge_build.memory.replay import Joint, Move, Piece, Span, replay
from aidge_build.program import ArenaPart, Options, Place
from aidge_build.schedule.joint import Joining, Part, candidates, compatible
from aidge_build.schedule.recording import Recording
from aidge_build.schedule.schedule import Reuse, Schedule, buffers_of, make_schedule
from aidge_build.schedule.stores import NO_STATE, StateMemory, without_stores
from aidge_build.stepping import Limit, in_pieces

MOST_JOININGS = 24  # concatenations and splits that are tried without a copy
LARGEST_TENSOR_BYTES = (1 << 31) - 1
_POINTER_BYTES = 4  # of boards whose memories are known


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
    notices: tuple[str, ...] = ()
    whole_peak_bytes: int = 0  # of tensors as a whole, where cascades keep fewer bytes
    room_bytes: int = 0  # that `region` has for an arena


def plan_memory(
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    options: Options,
    board: Board | None,
    bands: Callable[[Assignment], BandKernels],
) -> tuple[Assignment, Schedule, Placed]:
    """The schedule and its places with the smaller peak: with what kernels allow to share, unless that makes it worse. In the
    assignment next values of states that are computed in the states' bytes are not copied there."""
    assignment, whole, joined = _whole_tensors(assignment, demands, options, board)
    kernels = bands(assignment)
    limit = Limit(options.max_step, kernels.libraries, "fpu" in kernels.target.features) if options.max_step else None
    keeps = partial(limit.keeps, kernels) if limit else None

    def short(found: Found) -> Found:
        """The plan with layers cut where an inference runs in steps."""
        if limit is None:
            return found
        reuse: Reuse = "plain" if options.memory_model == "plain" else "shared"
        return in_pieces(assignment, demands, reuse, options.io == "caller", found, kernels, limit)

    if options.memory_model == "cascade" or options.ram_budget or "rows" in (options.input, options.output):
        plans = banded(assignment, demands, options, whole, kernels, keeps=keeps)
        best = short(_chosen(plans, joined, assignment.view, options, board))
        placed = place(best.schedule, best.peak, assignment.view, options, board)
        return assignment, best.schedule, replace(placed, whole_peak_bytes=joined.peak.peak_bytes)
    best = short(joined)
    try:
        return assignment, best.schedule, place(best.schedule, best.peak, assignment.view, options, board)
    except NoRoom as error:
        if options.memory_model != "default":
            raise
        plans = banded(assignment, demands, options, whole, kernels, QUICK, keeps)
        return assignment, *_by_rows(plans, best, error, assignment.view, options, board, short)


def bytes_of_whole(
    assignment: Assignment, demands: Callable[[Node], Demands], options: Options, board: Board | None
) -> tuple[int, int]:
    """The peak of the plan of tensors as a whole, and the bytes of its arena as it is linked."""
    _, _, joined = _whole_tensors(assignment, demands, options, board)
    return joined.peak.peak_bytes, _linked(joined.schedule, joined.peak, options.io == "caller")


def memory_curve(
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    options: Options,
    board: Board | None,
    bands: Callable[[Assignment], BandKernels],
) -> tuple[Found, ...]:
    """The fewest instructions that were found for each peak, from the largest peak, that of whole tensors, to the smallest."""
    assignment, whole, joined = _whole_tensors(assignment, demands, options, board)
    return banded(assignment, demands, options, whole, bands(assignment)).curve(joined)


def _whole_tensors(
    assignment: Assignment, demands: Callable[[Node], Demands], options: Options, board: Board | None
) -> tuple[Assignment, Found, Found]:
    """The best plans of tensors as a whole: with all concatenations and splits, from which cascades are made, and without those
    that need not run."""
    _refuse_giants(assignment.view, board)
    if not options.max_step and options.output != "rows":  # an inference that is left half-way has changed no state
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
    return assignment, Found(schedule, peak), Found(*joined)


def _chosen(plans: Plans, whole: Found, view: GraphView, options: Options, board: Board | None) -> Found:
    """What the options ask for. Where they ask for an input by rows alone: the fewest instructions that fit a memory of the
    board, with bands as they were found; without a board the fewest bytes."""
    if options.ram_budget:
        return plans.within(options.ram_budget, whole)
    if options.memory_model == "cascade" or board is None or not board.arena_regions:
        return plans.smallest(whole)

    def limit_of(found: Found) -> int | None:
        try:
            place(found.schedule, found.peak, view, options, board)
        except NoRoom:
            return None
        return found.peak.peak_bytes

    return plans.fitting(limit_of) or plans.smallest(whole)


def _by_rows(
    plans: Plans,
    whole: Found,
    error: NoRoom,
    view: GraphView,
    options: Options,
    board: Board | None,
    short: Callable[[Found], Found],
) -> tuple[Schedule, Placed]:
    """The fewest instructions that fit the board's memories; `whole`, without cascades, does not, and that is the `error`. Bands
    do not grow beyond what whole tensors need, inputs and outputs of the firmware counted, though the arena may leave room."""

    def limit_of(found: Found) -> int | None:
        try:
            placed = place(found.schedule, found.peak, view, options, board)
        except NoRoom:
            return None
        room_bytes = 0 if placed.split else error.room_bytes - placed.arena.peak_bytes
        return found.peak.peak_bytes + max(0, min(room_bytes, whole.peak.peak_bytes - found.peak.peak_bytes))

    best = plans.fitting(limit_of)
    if best is None:
        least = plans.smallest(whole)
        size = place(least.schedule, least.peak, view, options, None).arena.peak_bytes
        error.tried, error.least_bytes = (*error.tried, smallest(least, size)), min(size, error.needed_bytes)
        raise error
    best = short(best)
    placed = place(best.schedule, best.peak, view, options, board)
    notice = fitted(best.schedule.cascades, error.needed_bytes, placed.arena.peak_bytes, board.name if board else "")
    return best.schedule, replace(placed, notices=(notice,), whole_peak_bytes=whole.peak.peak_bytes)


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
    """Leave out concatenations and splits, one after the other, as long as neither the peak nor the linked arena grows. A plan as
    good as the last one is enough to know that; what is left at the end is planned with all effort."""
    taken: list[Joining] = []
    linked_bytes = None
    for joining in candidates(assignment, demands, buffers_of(assignment))[:MOST_JOININGS]:
        if not compatible(taken, joining):
            continue
        trial = make_schedule(assignment, demands, "shared", io_outside=outside, joined=[*taken, joining])
        found = plan(trial.buffers, overlaps=trial.overlaps, like=peak, enough_bytes=peak.peak_bytes)
        if found.peak_bytes > peak.peak_bytes:
            continue
        linked_bytes = _linked(schedule, peak, outside) if linked_bytes is None else linked_bytes
        trial_bytes = _linked(trial, found, outside, linked_bytes)
        if trial_bytes <= linked_bytes:
            taken, schedule, peak, linked_bytes = [*taken, joining], trial, found, trial_bytes
    if taken:
        best = plan(schedule.buffers, overlaps=schedule.overlaps, like=peak)
        peak = min(peak, best, key=lambda each: (each.peak_bytes, not each.offsets_proved_optimal))
    return schedule, peak


def _linked(schedule: Schedule, peak: MemoryPlan, outside: bool, enough_bytes: int = 0) -> int:
    """The bytes of the arena, without the inputs and outputs that the firmware owns."""
    buffers = [buffer for buffer in schedule.buffers if not (outside and buffer.kind == "io")]
    if not outside:
        return peak.peak_bytes
    return plan(buffers, overlaps=schedule.overlaps, like=peak, enough_bytes=enough_bytes).peak_bytes


def check_memory(schedule: Schedule, placed: Placed, assignment: Assignment, demands: Callable[[Node], Demands]) -> None:
    """Prove both plans legal: as arrangements of buffers, and byte by byte along the steps."""
    check(placed.peak, placed.arena_buffers if placed.peak is placed.arena else schedule.buffers)
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
    lines, by_rows = lines_of(schedule), schedule.by_rows
    io = {schedule.buffer_of[name] for name in (*view.given, *view.handed_out)} - by_rows if outside else set()
    heights = {name: tensor.dims[ROW_AXIS] for name, tensor in moving.items() if tensor.rank > ROW_AXIS}
    spans = {}
    for name, tensor in moving.items():
        buffer, part = schedule.buffer_of[name], schedule.parts.get(name, Part("", 0, tensor.size_bytes))
        if buffer in states.offsets:
            memory, start = "the state", states.offsets[buffer]
        else:
            memory, start = (buffer, 0) if buffer in io else ("the arena", arena.offset_of(buffer))
        size = lines[name].size_bytes if name in lines else tensor.size_bytes
        if buffer in by_rows and name not in lines:
            continue  # another name of what is never there as a whole
        spans[name] = Span(memory, start + part.offset_bytes, size, part.rows, part.stride_bytes)
        if name in planes:
            spans[name] = _span(planes[name], tensor.size_bytes)
    memories = {"the arena": arena.peak_bytes, **{name: view.tensor(name).size_bytes for name in sorted(io)}}
    memories["the state"] = states.size_bytes
    spans |= {copy.name: Span("the arena", arena.offset_of(copy.name), copy.size_bytes) for copy in schedule.copies}
    moves = []
    inside = {name: cascade for cascade in schedule.cascades for name in cascade.nodes}
    for step, node in enumerate(schedule.steps):
        cascade = inside.get(node.name)
        if cascade is not None:
            if cascade.is_cut and not cascade.carrying:
                held = _scratch(schedule, arena).get(node.name)
                pieces = PieceMoves(cascade, node.inputs, spans, heights, held)
                moves += pieces.moves
                spans, unwritten = {**spans, **pieces.rows}, {**unwritten, **pieces.unwritten}
            elif node.name == cascade.nodes[0]:
                rows = RowMoves(cascade, {each.name: each for each in schedule.steps}, spans, heights, _scratch(schedule, arena))
                moves += rows.moves
                spans, unwritten = {**spans, **rows.rows}, {**unwritten, **rows.unwritten}
                memories |= {LEFT: rows.left_bytes} if rows.left_bytes else {}
            continue
        wanted, scratch = demands(node), schedule.scratch_of.get(node.name)
        read = [index for index, name in enumerate(node.inputs) if name in moving]
        positions = {index: position for position, index in enumerate(read)}  # a tensor that is read twice has two
        moves += [Move(f"copying the {copy.name}", (), (copy.name,)) for copy in schedule.copies if copy.first == step]
        copied = (copy.name for copy in schedule.copies if copy.step == step)
        moves.append(
            Move(
                node.name,
                (*(node.inputs[index] for index in read), *copied),
                node.outputs,
                Span("the arena", arena.offset_of(scratch), wanted.scratch_bytes) if scratch else None,
                tuple(positions[index] for index in wanted.in_place if index in positions),
                tuple((positions[index], lead) for index, lead in wanted.overlap if index in positions),
            )
        )
    inputs, outputs = (
        [name for name in names if schedule.buffer_of[name] not in by_rows] for names in (view.inputs, view.outputs)
    )
    replay(moves, spans, memories, unwritten, inputs, [*outputs, *([LEFT] if schedule.departing else [])])


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
    if options.dma_line and not outside:
        buffers = tuple(in_lines(buffer, options.dma_line) for buffer in buffers)
        peak = plan(buffers, overlaps=schedule.overlaps, like=peak)
    arena = plan(buffers, overlaps=schedule.overlaps, like=peak) if outside else peak
    region, split, proved, room_bytes = "", tuple[ArenaPart, ...](), False, 0
    states = StateMemory.of(view)
    if options.arena == "static":
        kept_bytes = kept_beside(view, states, schedule.cascades, options)
        arena, region, split, proved = regions_of(arena, schedule, view, board, kept_bytes, options.constants_in)
        room_bytes = room_in(region, board, kept_bytes, options.constants_in)
    return Placed(
        arena,
        buffers,
        peak,
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
    """The bytes of RAM that the model has beside an arena of its own: the states, where an inference waits, and its record."""
    ports = len(view.given) + len(view.handed_out) if options.io == "caller" else 0
    progress = Progress.of(cascades, ports) or (Waiting.of(cascades, ports) if options.max_step else None)
    recording = Recording.of(view, states, options.record)
    return (
        states.bytes_of(options.arena)
        + (progress.size_bytes(_POINTER_BYTES) if progress else 0)
        + (recording.size_bytes if recording else 0)
    )


def placed_anew(placed: Placed, view: GraphView, options: Options, board: Board | None, schedule: Schedule) -> Placed:
    """The places of a schedule that has more buffers than the one that was `placed`; in no region where no memory holds them."""
    peak = plan(schedule.buffers, overlaps=schedule.overlaps, like=placed.peak)
    try:
        return replace(place(schedule, peak, view, options, board), notices=placed.notices)
    except NoRoom:
        return replace(placed, arena=peak, region="")


def in_lines(buffer: Buffer, line: int) -> Buffer:
    """An input or output with whole lines of the data cache: those of its live bytes are its own."""
    if buffer.kind != "io":
        return buffer
    windows = tuple(
        replace(window, low_bytes=window.low_bytes // line * line, high_bytes=-(-window.high_bytes // line) * line)
        for window in buffer.windows
    )
    size_bytes = -(-buffer.size_bytes // line) * line
    return replace(buffer, size_bytes=size_bytes, alignment=max(buffer.alignment, line), windows=windows)


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
            part = schedule.parts.get(name, Part("", 0, tensor.size_bytes))
            offset = arena.offset_of(schedule.buffer_of[name]) + part.offset_bytes
            line = lines.get(schedule.buffer_of[name])
            places[name] = Place(
                "arena", 0, offset, part.rows, part.stride_bytes, line_bytes=0 if line is None else line.size_bytes
            )
    return places
