# SPDX-License-Identifier: MIT
"""The spine: what happens to a model. Pure: it reads no file, and knows no time, path, user or build system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from aidge_build.base.debug import is_shown, show
from aidge_build.base.errors import AidgeError
from aidge_build.base.source_files import Sources
from aidge_build.build.adapted import assigned, bands_of, demands_of, in_groups, notices_of, planned, with_budget
from aidge_build.build.calls import make_program
from aidge_build.build.emit import emit
from aidge_build.build.emit.flash import require_flash
from aidge_build.build.imported import import_model, macs_of, price_of_update, reduced, simplified
from aidge_build.build.monitored import not_counted
from aidge_build.build.request import CompileRequest
from aidge_build.contract.spec import Demands
from aidge_build.graph.view import Node
from aidge_build.plan.budget import within_budget
from aidge_build.plan.cascade.question import Found
from aidge_build.plan.constant_copies import with_copies
from aidge_build.plan.fast_memory import require_made_for
from aidge_build.plan.packed_constants import with_packed
from aidge_build.plan.place import Placed
from aidge_build.plan.placement import check_memory, place_with_added_buffers
from aidge_build.plan.planning import memory_curve
from aidge_build.plan.program import Program
from aidge_build.plan.schedule.schedule import Schedule
from aidge_build.plan.stepping import TooLong
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.assignment import Assignment

MOST_TRIED_STEPS = 6  # after a refusal, until one is long enough


def compile(request: CompileRequest) -> Sources:
    """The generated files of a model; AidgeError names the model's file and the node."""
    return emit(build_program(request))


def build_program(request: CompileRequest) -> Program:
    """Imports, simplifies, adapts, schedules, plans and checks; the result is ready to be printed. TooLong (STEP) names a
    --max-step that is possible."""
    try:
        return Compilation(request).program(request)
    except TooLong as error:
        raise _with_possible_step(request, error) from None


class Compilation:
    """A model simplified and adapted to a core; the requests that it `serves` share it."""

    def __init__(self, request: CompileRequest):
        self._seen = _seen_of(request)
        whole, notices = simplified(request)
        self._macs = macs_of(whole)
        try:
            view = reduced(whole, request.options, request.libraries)
            notices += price_of_update(whole) if request.options.replaces_weights else ()
            assignment, given_way = assigned(view, request)
            assignment = in_groups(view, assignment, request)
            self._planning = planned(request, assignment, request.options)
            if request.options.ram_budget:
                room = partial(with_budget, view, request)
                assignment, self._planning, gave = within_budget(assignment, request.options, partial(planned, request), room)
                given_way = (*given_way, *gave)
            if is_shown(2):
                show(2, "assignment", f"{assignment.view}\n{assignment}")
            self._assignment, self._notices = assignment, (*notices, *given_way, *not_counted(view, request.options))
        except AidgeError as error:
            raise error.within(request.file_name)

    def serves(self, request: CompileRequest) -> bool:
        """Whether a new compilation for the request would be the same: boards with other memories share it, and cores whose
        kernels and options are the same."""
        return _seen_of(request) == self._seen

    def program(self, request: CompileRequest) -> Program:
        """Returns the program for a request that the compilation serves."""
        try:
            assignment, schedule, placed = self._planning.on(request.board)
            show(3, "schedule", schedule)
            check_memory(schedule, placed, assignment, self._planning.demands)
            notices = (*self._notices, *notices_of(self._assignment, request), *placed.notices)
            program = make_program(request, assignment, schedule, placed, notices, self._macs)
            program = _with_copies(program, request, assignment, self._planning.demands)
            if request.fast is not None:
                require_made_for(request.fast, program.model_sha256, request.words, [layer.node.name for layer in program.layers])
            require_flash(program)
            return program
        except AidgeError as error:
            raise error.within(request.file_name)


def _seen_of(request: CompileRequest) -> CompileRequest:
    """Returns the request with nothing but what a compilation depends on: without a table of costs no wait states."""
    target = request.target if request.target.cost_table is not None else replace(request.target, flash_wait_states=0)
    seen = replace(request, target=target, board=None, core=None, timing=None, left_out=())
    return replace(seen, target_name="", file_name="", words=(), dependencies=())


def _with_copies(
    program: Program, request: CompileRequest, assignment: Assignment, demands: Callable[[Node], Demands]
) -> Program:
    """The program once more, with constants that are expanded or copied before their layer: which ones follows from the
    constants that the calls read."""
    options, board = request.options, request.board
    placing = partial(place_with_added_buffers, program.memory, assignment.view, options, board)
    if request.target.packs_weights:
        schedule, placed, notices = with_packed(program, program.schedule, program.memory, placing)
        program = _made_again(program, request, assignment, demands, schedule, placed, notices)
    if options.copy_constants != "off" and board is not None:
        schedule, placed, notice = with_copies(program, program.schedule, program.memory, board, placing)
        program = _made_again(program, request, assignment, demands, schedule, placed, (notice,))
    return program


def _made_again(
    program: Program,
    request: CompileRequest,
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    schedule: Schedule,
    placed: Placed,
    notices: tuple[str, ...],
) -> Program:
    """The program with the notices and with calls for these places, if they are others."""
    if placed is program.memory:
        return replace(program, notices=(*program.notices, *notices))
    check_memory(schedule, placed, assignment, demands)
    return make_program(request, assignment, schedule, placed, (*program.notices, *notices), program.model_macs)


def _with_possible_step(request: CompileRequest, refused: TooLong) -> TooLong:
    """The refusal with a step that was tried: longer steps cut the graph otherwise, and other layers may be too long then."""
    least = refused.least
    for _ in range(MOST_TRIED_STEPS):
        longer = replace(request, options=replace(request.options, max_step=least))
        try:
            Compilation(longer).program(longer)
        except TooLong as error:
            least = error.least
        except AidgeError:
            break
        else:
            refused.hint = f"--max-step {least} is possible"
            break
    return refused


def curve_of(request: CompileRequest) -> tuple[Found, ...]:
    """The model's plans with fewer and fewer bytes for more and more instructions, whatever its options ask for."""
    view, _ = import_model(request)
    try:
        assignment = adapt_to_backend(view, request.libraries, request.target)
        demands = cache(partial(demands_of, assignment))
        return memory_curve(assignment, demands, request.options, request.board, bands_of(request))
    except AidgeError as error:
        raise error.within(request.file_name)
