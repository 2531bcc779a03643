# SPDX-License-Identifier: MIT
"""Chooses the schedule of a model: with tensors as a whole or row by row, for one board or for many with the same core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board
from aidge_build.contract.spec import Demands
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.arena_regions import NoRoom
from aidge_build.plan.banding import OverBudget, Plans, banded, converts_input
from aidge_build.plan.cascade.kernels import BandKernels
from aidge_build.plan.cascade.messages import fitted, smallest
from aidge_build.plan.cascade.question import Found
from aidge_build.plan.cascade.search import ALL, QUICK, Effort
from aidge_build.plan.memory.plan import MemoryPlan
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.monitoring import monitor_at_end
from aidge_build.plan.options import Options
from aidge_build.plan.place import Placed
from aidge_build.plan.placement import Arena, arena_of, place
from aidge_build.plan.schedule.joint import Joining, candidates, compatible
from aidge_build.plan.schedule.schedule import Reuse, Schedule, buffers_of, make_schedule
from aidge_build.plan.schedule.stores import without_stores
from aidge_build.plan.stepping import Limit, in_pieces
from aidge_build.prepare.adaptation.assignment import Assignment

MOST_JOININGS = 24  # concatenations and splits that are tried without a copy
LARGEST_TENSOR_BYTES = (1 << 31) - 1


def plan_memory(
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    options: Options,
    board: Board | None,
    bands: Callable[[Assignment], BandKernels],
) -> tuple[Assignment, Schedule, Placed]:
    """Returns the assignment, the schedule and its places. Buffers share the bytes that kernels allow, unless that raises the
    peak. In the assignment, next values of states that are computed in the states' bytes are not copied there."""
    return Planning(assignment, demands, options, bands).on(board)


class Planning:
    """The plans of a model for any board; boards with the same core share the searches."""

    def __init__(
        self,
        assignment: Assignment,
        demands: Callable[[Node], Demands],
        options: Options,
        bands: Callable[[Assignment], BandKernels],
    ):
        self._given, self.demands, self._options, self._bands = assignment, demands, options, bands
        self._plans: Plans | None = None
        self._arenas: dict[int, tuple[Found, Arena]] = {}  # by the identity of what was found

    def on(self, board: Board | None) -> tuple[Assignment, Schedule, Placed]:
        """Returns what `plan_memory` returns for this board; NoRoom if no plan fits the memories of the board."""
        options = self._options
        _refuse_giants(self._given.view, board)
        assignment, _, joined = self._whole
        if options.memory_model == "cascade" or options.ram_budget or "rows" in (options.input, options.output):
            in_budget = self.in_budget if options.ram_budget else None
            best = self._short(in_budget or _chosen(self._rows(ALL), joined, options, board, self._place))
            placed = self._place(best, board)
            return assignment, best.schedule, replace(placed, whole_peak_bytes=joined.peak.peak_bytes)
        best = self._short_joined
        try:
            placed = self._place(best, board)
            return assignment, best.schedule, replace(placed, whole_peak_bytes=joined.peak.peak_bytes) if best.runs else placed
        except NoRoom as error:
            if options.memory_model != "default":
                raise
            return assignment, *_by_rows(self._rows(QUICK), best, error, board, self._place, self._short)

    @cached_property
    def in_budget(self) -> Found:
        """The plan with the fewest instructions within --ram-budget, for any board; OverBudget if there is none."""
        return self._rows(ALL).within(self._options.ram_budget, self._whole[2])

    @property
    def over_budget(self) -> OverBudget | None:
        """Why no plan keeps --ram-budget; None if one does."""
        try:
            _ = self.in_budget
        except OverBudget as error:
            return error
        return None

    def _place(self, found: Found, board: Board | None) -> Placed:
        """Returns the places of a plan on the board; AidgeError PLAN01 if the board's memories do not hold the arena."""
        if id(found) not in self._arenas:
            self._arenas[id(found)] = found, arena_of(found.schedule, found.peak, self._options)
        return place(found.schedule, self._arenas[id(found)][1], self._whole[0].view, self._options, board)

    @cached_property
    def _whole(self) -> tuple[Assignment, Found, Found]:
        return whole_tensors(self._given, self.demands, self._options)

    @cached_property
    def _short_joined(self) -> Found:
        """The plan of whole tensors. An input that the firmware owns is converted to another type by rows, not by a copy of the
        whole input; an input in the arena is converted in place."""
        whole, options = self._whole[2], self._options
        is_plain = options.memory_model != "default" or options.io != "caller" or options.max_step
        if not is_plain and converts_input(self._whole[0].view, self._whole[1].schedule):
            whole = self._rows(ALL).with_input_by_rows(whole)
        return self._short(whole)

    @cached_property
    def _kernels(self) -> BandKernels:
        return self._bands(self._whole[0])

    @cached_property
    def _limit(self) -> Limit | None:
        if not self._options.max_step:
            return None
        has_fpu = "fpu" in self._kernels.target.features
        monitor = monitor_at_end(self._whole[0].view, self._options, has_fpu)
        return Limit(self._options.max_step, self._kernels.libraries, has_fpu, monitor=monitor)

    def _short(self, found: Found) -> Found:
        """Returns the plan, with layers cut if an inference runs in steps."""
        if self._limit is None:
            return found
        reuse: Reuse = "plain" if self._options.memory_model == "plain" else "shared"
        outside = self._options.io == "caller"
        return in_pieces(self._whole[0], self.demands, reuse, outside, found, self._kernels, self._limit)

    def _rows(self, effort: Effort) -> Plans:
        """Returns the plans of layers row by row. The next board reuses them, unless the search refused bands: with refused bands
        the next search might end elsewhere than a search for that board alone."""
        if self._plans is None or self._plans.has_refused:
            assignment, whole, _ = self._whole
            kernels = self._bands(assignment) if self._plans else self._kernels
            keeps = partial(self._limit.keeps, kernels) if self._limit else None
            self._plans = banded(assignment, self.demands, self._options, whole, kernels, effort, keeps)
        return self._plans


def bytes_of_whole(
    assignment: Assignment, demands: Callable[[Node], Demands], options: Options, board: Board | None
) -> tuple[int, int]:
    """Returns the peak of the plan of tensors as a whole, and the bytes of its arena as it is linked."""
    _refuse_giants(assignment.view, board)
    _, _, joined = whole_tensors(assignment, demands, options)
    return joined.peak.peak_bytes, _linked(joined.schedule, joined.peak, options.io == "caller")


def memory_curve(
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    options: Options,
    board: Board | None,
    bands: Callable[[Assignment], BandKernels],
) -> tuple[Found, ...]:
    """Returns the plan with the fewest instructions for each peak that was found, from the largest peak (whole tensors) to the
    smallest."""
    _refuse_giants(assignment.view, board)
    assignment, whole, joined = whole_tensors(assignment, demands, options)
    return banded(assignment, demands, options, whole, bands(assignment)).curve(joined)


def whole_tensors(
    assignment: Assignment, demands: Callable[[Node], Demands], options: Options
) -> tuple[Assignment, Found, Found]:
    """Returns the assignment and the best plans of tensors as a whole: one with all concatenations and splits, the base of
    cascades, and one without the concatenations and splits that need not run."""
    if options.changes_states_at_once:
        assignment = without_stores(assignment, demands, buffers_of(assignment))
    outside = options.io == "caller"
    found: list[tuple[Schedule, MemoryPlan]] = []
    if options.memory_model != "plain":
        shared = make_schedule(assignment, demands, "shared", io_outside=outside)
        if shared.in_place or shared.overlaps:
            found.append((shared, plan(shared.buffers, overlaps=shared.overlaps)))
    if not any(peak.peak_bytes <= schedule.order.peak_bytes for schedule, peak in found):  # nothing was lost by sharing
        plain = make_schedule(assignment, demands, "plain", io_outside=outside)
        found.append((plain, plan(plain.buffers)))
    schedule, peak = min(found, key=lambda entry: entry[1].peak_bytes)
    joined = (schedule, peak) if options.memory_model == "plain" else _join(assignment, demands, outside, schedule, peak)
    return assignment, Found(schedule, peak), Found(*joined)


def _chosen(
    plans: Plans, whole: Found, options: Options, board: Board | None, placing: Callable[[Found, Board | None], Placed]
) -> Found:
    """Returns the plan that the options ask for. With only input or output by rows: the plan with the fewest instructions that
    fits a memory of the board, without a larger peak for wider bands; without a board the plan with the fewest bytes."""
    if options.memory_model == "cascade" or board is None or not board.arena_regions:
        return plans.smallest(whole)

    def limit_of(found: Found) -> int | None:
        try:
            placing(found, board)
        except NoRoom:
            return None
        return found.peak.peak_bytes

    return plans.fitting(limit_of) or plans.smallest(whole)


def _by_rows(
    plans: Plans,
    whole: Found,
    error: NoRoom,
    board: Board | None,
    placing: Callable[[Found, Board | None], Placed],
    short: Callable[[Found], Found],
) -> tuple[Schedule, Placed]:
    """Returns the plan with the fewest instructions that fits the board's memories; `error` says that `whole`, without cascades,
    does not fit. Bands do not grow beyond what whole tensors need, inputs and outputs of the firmware counted, though the arena
    may leave room."""
    known: dict[int, tuple[Found, Placed]] = {}  # by identity: the plan that is chosen is asked for once more

    def placed_on_board(found: Found) -> Placed:
        if id(found) not in known:
            known[id(found)] = found, placing(found, board)
        return known[id(found)][1]

    def limit_of(found: Found) -> int | None:
        try:
            placed = placed_on_board(found)
        except NoRoom:
            return None
        room_bytes = 0 if placed.split else error.room_bytes - placed.arena.peak_bytes
        return found.peak.peak_bytes + max(0, min(room_bytes, whole.peak.peak_bytes - found.peak.peak_bytes))

    best = plans.fitting(limit_of)
    if best is None:
        least = plans.smallest(whole)
        size = placing(least, None).arena.peak_bytes
        error.tried, error.least_bytes = (*error.tried, smallest(least, size)), min(size, error.needed_bytes)
        raise error
    best = short(best)
    placed = placed_on_board(best)
    notice = fitted(best.schedule.cascades, error.needed_bytes, placed.arena.peak_bytes, board.name if board else "")
    return best.schedule, replace(placed, notices=(notice,), whole_peak_bytes=whole.peak.peak_bytes)


def _refuse_giants(view: GraphView, board: Board | None) -> None:
    """Raises AidgeError PLAN01 for a tensor that no supported core can hold: kernels count elements and bytes in int32_t."""
    for name, tensor in view.tensors.items():
        if not tensor.is_constant and tensor.size_bytes > LARGEST_TENSOR_BYTES:
            ram = sum(region.length_bytes for region in board.memories if region.kind == "ram") if board else 0
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
    """Leaves out concatenations and splits, one after the other, as long as neither the peak nor the linked arena grows. A plan
    as good as the last one is enough for that decision; the result is then planned with full effort."""
    taken: list[Joining] = []
    linked_bytes = -1  # not known yet
    for joining in candidates(assignment, demands, buffers_of(assignment))[:MOST_JOININGS]:
        if not compatible(taken, joining):
            continue
        trial = make_schedule(assignment, demands, "shared", io_outside=outside, joined=[*taken, joining], like=schedule)
        found = plan(trial.buffers, overlaps=trial.overlaps, like=peak, enough_bytes=peak.peak_bytes)
        if found.peak_bytes > peak.peak_bytes:
            continue
        linked_bytes = _linked(schedule, peak, outside) if linked_bytes < 0 else linked_bytes
        trial_bytes = _linked(trial, found, outside, linked_bytes)
        if trial_bytes <= linked_bytes:
            taken, schedule, peak, linked_bytes = [*taken, joining], trial, found, trial_bytes
    if not taken:
        return schedule, peak
    searched = make_schedule(assignment, demands, "shared", io_outside=outside, joined=taken)
    found = plan(searched.buffers, overlaps=searched.overlaps, like=peak)
    if found.peak_bytes <= peak.peak_bytes and _linked(searched, found, outside, linked_bytes) <= linked_bytes:
        return searched, found
    best = plan(schedule.buffers, overlaps=schedule.overlaps, like=peak)
    return schedule, min(peak, best, key=lambda each: (each.peak_bytes, not each.offsets_proved_optimal))


def _linked(schedule: Schedule, peak: MemoryPlan, outside: bool, enough_bytes: int = 0) -> int:
    """Returns the bytes of the arena, without the inputs and outputs that the firmware owns."""
    buffers = [buffer for buffer in schedule.buffers if not (outside and buffer.kind == "io")]
    if not outside:
        return peak.peak_bytes
    return plan(buffers, overlaps=schedule.overlaps, like=peak, enough_bytes=enough_bytes).peak_bytes
