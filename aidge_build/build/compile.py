# SPDX-License-Identifier: MIT
"""The spine: what happens to a model. Pure: it reads no file, and knows no time, path, user or build system."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from aidge_build.base.debug import is_shown, show
from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import layer_symbols
from aidge_build.base.source_files import Sources
from aidge_build.build.emit import emit
from aidge_build.build.emit.flash import require_flash
from aidge_build.build.request import CompileRequest
from aidge_build.contract.call import Call
from aidge_build.contract.library import CPP_ENDINGS, Kernel, Library
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.budget import within_budget
from aidge_build.plan.cascade.calls import calls_of
from aidge_build.plan.cascade.kernels import BandKernels
from aidge_build.plan.cascade.question import Found
from aidge_build.plan.constant_copies import with_copies
from aidge_build.plan.fast_memory import require_made_for
from aidge_build.plan.placement import Placed, check_memory, placed_anew
from aidge_build.plan.planning import Planning, bytes_of_whole, memory_curve
from aidge_build.plan.program import BandCalls, CopiedTo, Layer, Options, Program
from aidge_build.plan.schedule.schedule import Schedule
from aidge_build.plan.stepping import MOST_CUTS, Limit, TooLong, groups_wanted, wanted_of_layers
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.by_cost import with_quicker
from aidge_build.prepare.adaptation.float_layers import float_normalizations, missing_quantization
from aidge_build.prepare.adaptation.fuse_meta import fuse_meta
from aidge_build.prepare.adaptation.giving_way import with_room
from aidge_build.prepare.adaptation.slow_layers import layers_with_float_weights, slow_layers, wide_layers
from aidge_build.prepare.adaptation.slower import slower_notices
from aidge_build.prepare.adaptation.undefined import undefined_notices
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.check import check_rewrite, checked
from aidge_build.prepare.recipes.remove_constant_channels import remove_constant_channels
from aidge_build.prepare.recipes.separate_outputs import separate_outputs
from aidge_build.prepare.recipes.split_outputs import split_outputs
from aidge_build.sources.importers.formats import import_file
from aidge_build.sources.importers.state import require_same_quantization

MOST_TRIED_STEPS = 6  # after a refusal, until one is long enough


def compile(request: CompileRequest) -> Sources:
    """The generated files of a model; AidgeError names the model's file and the node."""
    return emit(build_program(request))


def build_program(request: CompileRequest) -> Program:
    """Import, simplify, adapt, schedule, plan and check; the result is ready to be printed. TooLong (STEP) names a --max-step
    that is possible."""
    try:
        return Compilation(request).program(request)
    except TooLong as error:
        raise _with_possible_step(request, error) from None


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


class Compilation:
    """A model simplified and adapted to a core: what compilations share whose requests differ in the board's memories alone."""

    def __init__(self, request: CompileRequest):
        whole, notices = _simplified(request)
        self._macs = _macs(whole)
        try:
            view = _reduced(whole, request.options)
            notices += price_of_update(whole) if request.options.replaces_weights else ()
            assignment, given_way = assigned(view, request)
            assignment = _in_groups(view, assignment, request)
            self._planning = _planned(request, assignment, request.options)
            if request.options.ram_budget:
                room = partial(_with_budget, view, request)
                assignment, self._planning, gave = within_budget(assignment, request.options, partial(_planned, request), room)
                given_way = (*given_way, *gave)
            if is_shown(2):
                show(2, "assignment", f"{assignment.view}\n{assignment}")
            self._notices = (*notices, *given_way, *_said_of(assignment, request))
        except AidgeError as error:
            raise error.within(request.file_name)

    def program(self, request: CompileRequest) -> Program:
        """The program for the board of the request, which says of everything else what the compilation's own says."""
        try:
            assignment, schedule, placed = self._planning.on(request.board)
            show(3, "schedule", schedule)
            check_memory(schedule, placed, assignment, self._planning.demands)
            program = make_program(request, assignment, schedule, placed, (*self._notices, *placed.notices), self._macs)
            if request.options.copy_constants != "off" and request.board is not None:
                program = _with_copies(program, request, assignment, schedule, placed, self._planning.demands)
            if request.fast is not None:
                require_made_for(request.fast, program.model_sha256, request.words, [layer.node.name for layer in program.layers])
            require_flash(program)
            return program
        except AidgeError as error:
            raise error.within(request.file_name)


def _said_of(assignment: Assignment, request: CompileRequest) -> tuple[str, ...]:
    """What the user is told of the chosen kernels."""
    names = [one.name for one in request.libraries]
    return (
        *slower_notices(assignment, (*request.left_out, *request.libraries), request.target, request.core),
        *missing_quantization(assignment, request.libraries, request.target),
        *float_normalizations(assignment, request.libraries),
        *slow_layers(assignment, request.target.features, names, lacks_fpu=_lacks_fpu(request)),
        *wide_layers(assignment, names),
        *layers_with_float_weights(assignment),
        *undefined_notices(assignment),
    )


def _lacks_fpu(request: CompileRequest) -> bool:
    """Whether the core is known to have none: of this machine and of code for any core nothing is known."""
    core = request.core or (request.board.core if request.board else None)
    return core is not None and not (core.is_native or core.is_portable) and "fpu" not in request.target.features


def _with_copies(
    program: Program,
    request: CompileRequest,
    assignment: Assignment,
    schedule: Schedule,
    placed: Placed,
    demands: Callable[[Node], Demands],
) -> Program:
    """The program once more, with constants that are copied ahead: which ones follows from what the calls read."""
    placing = partial(placed_anew, placed, assignment.view, request.options, request.board)
    schedule, placed, notice = with_copies(program, schedule, placed, request.board, placing)
    check_memory(schedule, placed, assignment, demands)
    return make_program(request, assignment, schedule, placed, (*program.notices, notice), program.model_macs)


def assigned(view: GraphView, request: CompileRequest) -> tuple[Assignment, tuple[str, ...]]:
    """A kernel for every node of the simplified graph, and what is said of those that gave way to smaller ones. Plans of layers
    row by row, or of an inference in steps, choose by themselves what they need. Cores with an FPU are no small ones: a few
    bytes are not worth layers that take ten times as long, and there is --ram-budget. A table that compares kernels takes them
    where no plan grows."""
    target, options, bytes_of = request.target, request.options, partial(_bytes_of, request)
    quicker: tuple[str, ...] = ()
    if options.select == "cost" and target.cost_table is not None and target.cost_table.quicker is not None:
        preferred = adapt_to_backend(view, request.libraries, replace(target, cost_table=None))
        assignment, target, quicker = with_quicker(view, request.libraries, target, preferred, bytes_of)
    else:
        assignment = adapt_to_backend(view, request.libraries, target)
    if target.objective != "size" or "fpu" in target.features or options.by_rows:
        return assignment, quicker
    assignment, given_way = with_room(view, request.libraries, target, assignment, bytes_of)
    return assignment, (*quicker, *given_way)


def _bytes_of(request: CompileRequest, trial: Assignment) -> tuple[int, int]:
    return bytes_of_whole(trial, cache(partial(demands_of, trial)), request.options, request.board)


def _with_budget(view: GraphView, request: CompileRequest, assignment: Assignment) -> tuple[Assignment, tuple[str, ...]]:
    budget = request.options.ram_budget
    return with_room(view, request.libraries, request.target, assignment, partial(_bytes_of, request), (budget, budget))


def _planned(request: CompileRequest, assignment: Assignment, options: Options) -> Planning:
    return Planning(assignment, cache(partial(demands_of, assignment)), options, bands_of(request))


def curve_of(request: CompileRequest) -> tuple[Found, ...]:
    """The model's plans with fewer and fewer bytes for more and more instructions, whatever its options ask for."""
    view, _ = import_model(request)
    try:
        assignment = adapt_to_backend(view, request.libraries, request.target)
        demands = cache(partial(demands_of, assignment))
        return memory_curve(assignment, demands, request.options, request.board, bands_of(request))
    except AidgeError as error:
        raise error.within(request.file_name)


def import_model(request: CompileRequest) -> tuple[GraphView, tuple[str, ...]]:
    """The simplified graph of the model without the channels that need not be computed, and one-line notices for the user."""
    view, notices = _simplified(request)
    return _reduced(view, request.options), notices


def _simplified(request: CompileRequest) -> tuple[GraphView, tuple[str, ...]]:
    view, notices = import_file(
        request.model,
        request.file_name,
        request.operators,
        request.bind,
        request.external,
        request.signature,
        request.target.contract,
        request.state,
    )
    notices = (*request.notices, *notices)
    view, renamed = separate_outputs(view)
    notices += tuple(f"graph output '{old}' is an input, too: its copy is the output '{new}'" for old, new in renamed.items())
    show(2, "imported", view)
    fused = fuse_meta(view, request.libraries, request.target, first_only=True)
    simple = simplify(check_rewrite(view, fused, "fusing what a library computes together"), request.target.contract)
    require_same_quantization(simple)
    return simple, notices


def _in_groups(view: GraphView, assignment: Assignment, request: CompileRequest) -> Assignment:
    """The assignment of the graph in which layers are cut by channels where rows do not make them as short as a step may be."""
    if not request.options.max_step:
        return assignment
    limit, most = Limit(request.options.max_step, request.libraries, "fpu" in request.target.features), dict[str, int]()
    for _ in range(MOST_CUTS):
        wanted = groups_wanted(assignment, bands_of(request)(assignment), limit)
        new = wanted_of_layers(view, wanted, most)
        if not new:
            break
        most |= new
        cut = check_rewrite(view, split_outputs(view, most), "cutting layers by channels")
        assignment = adapt_to_backend(cut, request.libraries, request.target)
    return assignment


def _reduced(view: GraphView, options: Options) -> GraphView:
    if options.constant_channels == "off" or options.replaces_weights:
        return view
    view = checked(remove_constant_channels, view)
    show(2, "after remove_constant_channels", view)
    return view


def price_of_update(whole: GraphView) -> tuple[str, ...]:
    """What it costs that all channels are computed, whether the weights of today make them constant or not."""
    reduced = checked(remove_constant_channels, whole)
    before, after = _macs(reduced), _macs(whole)
    if before == after:
        return ()
    return (
        f"update='weights' computes channels that are constant with these weights: {after:,} multiply-accumulates instead of "
        f"{before:,}",
    )


def _macs(view: GraphView) -> int:
    """The multiply-accumulates of an inference."""
    return sum(node.operator.multiply_accumulates(view.input_tensors(node), view.output_tensors(node)) for node in view.nodes)


def model_sha256(model: bytes, external: Mapping[str, bytes]) -> str:
    """The digest of the model's file and its external data, by which a linked program says what it was made from."""
    return hashlib.sha256(model + b"".join(external[key] for key in sorted(external))).hexdigest()


def bands_of(request: CompileRequest) -> Callable[[Assignment], BandKernels]:
    """What computes layers row by row, for an assignment."""
    return lambda assignment: BandKernels(assignment, request.libraries, request.target)


def demands_of(assignment: Assignment, node: Node) -> Demands:
    """What the kernel of a node that runs asks of the planner."""
    return assignment.choices[node.name].kernel.demands(assignment.node_view(node))


def kernel_call(kernel: Kernel, seen: NodeView, plane_of: Callable[[Tensor], MemInfo | None]) -> Call:
    """The kernel's call at its node, whose view says where each input lies; it is told where its outputs lie when all of them lie
    in the arena."""
    inside = [plane_of(tensor) for tensor in seen.outputs]
    return kernel.call(seen, [plane for plane in inside if plane is not None] if None not in inside else None)


def _plane(placed: Placed, tensor: Tensor) -> MemInfo | None:
    """The bytes of the arena that hold the tensor, counted in its part of the arena; None when they lie outside of it."""
    found = placed.places.get(tensor.name)
    if found is None or found.kind != "arena":
        return None
    info = found.plane or mem_info_of(tensor, found.offset_bytes, found.stride_bytes)
    part = next((part for part in reversed(placed.split) if part.start_bytes <= max(0, found.offset_bytes)), None)
    return info.moved(-part.start_bytes, part.component) if part else info


def _language(libraries: Sequence[Library], layers: Sequence[Layer]) -> str:
    """The language of the generated code: C++ where a library says so. A library without a folder says it by what its kernels
    bring; one in a folder that brings C++ has a fault: build systems know the name of the code file before they compile."""
    language = "c++" if any(library.language == "c++" for library in libraries) else "c"
    folders = {library.name for library in libraries if library.files}
    for layer in layers:
        name = layer.kernel.library
        found = next((path for path in sorted({*layer.call.sources, *layer.call.files}) if path.endswith(CPP_ENDINGS)), None)
        if language == "c++" or found is None:
            continue
        if name in folders:
            raise AidgeError(
                f"kernel {layer.kernel.name} brings the C++ file {found.rpartition('/')[2]}, but library {name} is one in C",
                where=layer.node.where(),
                code="LIBRARY",
                hint='language = "c++" in library.toml',
            )
        language = "c++"
    return language


def _files_of(library: Library, layers: list[Layer]) -> dict[str, bytes]:
    """What the library's kernels may include: its folder, what its calls bring along, and its static files that are neither."""
    own = {**library.files}
    for layer in layers:
        own |= layer.call.files if layer.kernel.library == library.name else {}
    known = set(own.values())
    return {**{path: data for path, data in library.static_files.items() if data not in known}, **own}


def make_program(
    request: CompileRequest,
    assignment: Assignment,
    schedule: Schedule,
    placed: Placed,
    notices: tuple[str, ...],
    model_macs: int | None = None,
) -> Program:
    """The calls of all layers, and everything else that `emit` prints."""
    symbols = layer_symbols(request.name, [(node.name, node.type) for node in schedule.steps])
    named = {node.name: symbol for node, symbol in zip(schedule.steps, symbols)}
    kernels = bands_of(request)(assignment)
    cascade_of = {name: cascade for cascade in schedule.cascades for name in cascade.nodes}
    copied_to = {copy.node: CopiedTo(copy, placed.arena.offset_of(copy.name)) for copy in schedule.copies}
    layers, shown = [], is_shown(4)
    plane_of = cache(partial(_plane, placed))
    for node, symbol in zip(schedule.steps, symbols):
        choice = assignment.choices[node.name]
        seen = assignment.node_view(node)
        cascade = cascade_of.get(node.name)
        given = () if cascade is not None else tuple([None if tensor is None else plane_of(tensor) for tensor in seen.inputs])
        seen = replace(seen, symbol=symbol, symbols=named, in_mem_info=given)
        kernel, bands = choice.kernel, None
        if cascade is None:
            call = kernel_call(choice.kernel, seen, plane_of)
        else:
            found = calls_of(kernels, node, cascade, seen)
            kernel, call = found.kernel, found.calls[found.largest]
            bands = BandCalls(found.calls, found.number_of, found.rows_read)
        if shown:
            show(4, node.name, call)
        scratch = schedule.scratch_of.get(node.name)
        layers.append(
            Layer(
                symbol,
                node,
                kernel,
                call,
                seen.inputs,
                seen.outputs,
                seen.multiply_accumulates,
                None if scratch is None else placed.arena.offset_of(scratch),
                choice.rejected,
                choice.rule,
                bands,
                copied_to.get(node.name),
                not kernel.keeps_words(seen),
            )
        )
    language = _language(request.libraries, layers)
    return Program(
        name=request.name,
        model_sha256=model_sha256(request.model, request.external),
        view=assignment.view,
        layers=tuple(layers),
        places=placed.places,
        arena=placed.arena,
        peak=placed.peak,
        io_bytes=placed.io_bytes,
        arena_alignment=placed.alignment,
        options=request.options,
        target=request.target_name,
        library_files={library.name: _files_of(library, layers) for library in request.libraries},
        notices=notices,
        model_macs=sum(layer.macs for layer in layers) if model_macs is None else model_macs,
        region=placed.region,
        memories=request.board.arena_regions if request.board else (),
        regions=request.board.regions if request.board else (),
        flash=tuple(region for region in request.board.regions if region.kind == "flash") if request.board else (),
        made_with=request.words,
        cpu=request.cpu,
        unaligned=request.core.unaligned if request.core else None,
        features=request.features,
        conditions=request.conditions,
        pointer_bytes=request.core.pointer_bytes if request.core else 4,
        language=language,
        order=schedule.order,
        split=placed.split,
        split_proved=placed.split_proved,
        format_copies_bytes=assignment.bytes_copied,
        formats_proved=assignment.formats_proved,
        buffer_of=schedule.buffer_of,
        states=placed.states,
        cascades=schedule.cascades,
        whole_peak_bytes=placed.whole_peak_bytes,
        fast=request.fast,
    )
