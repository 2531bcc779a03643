# SPDX-License-Identifier: MIT
"""From a plan to the program: the call of each layer's kernel, and everything else that `emit` prints."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from aidge_build.base.debug import is_shown, show
from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import layer_symbols
from aidge_build.boards.cores import RISCV
from aidge_build.build.adapted import bands_of
from aidge_build.build.monitored import seen_ranges
from aidge_build.build.ordering.texts import ordered_layers
from aidge_build.build.request import CompileRequest
from aidge_build.contract.call import Call
from aidge_build.contract.library import CPP_ENDINGS, Kernel, Library
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.contract.spec import NodeView
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.cascade.calls import calls_of
from aidge_build.plan.monitoring import monitoring_of
from aidge_build.plan.names import with_names
from aidge_build.plan.place import Placed
from aidge_build.plan.program import BandCalls, CodeTarget, CopiedTo, Layer, Program
from aidge_build.plan.schedule.schedule import Schedule
from aidge_build.prepare.adaptation.assignment import Assignment


def make_program(
    request: CompileRequest,
    assignment: Assignment,
    schedule: Schedule,
    placed: Placed,
    notices: tuple[str, ...],
    model_macs: int | None = None,
) -> Program:
    """The calls of all layers, and everything else that `emit` prints."""
    layers = _layers(request, assignment, schedule, placed)
    if request.timing is not None and request.timing.overlaps:
        layers = ordered_layers(layers, request.timing)
    program = Program(
        name=request.name,
        model_sha256=model_sha256(request.model, request.external),
        view=assignment.view,
        layers=tuple(layers),
        schedule=schedule,
        memory=placed,
        target=_target(request),
        options=request.options,
        library_files={library.name: _files_of(library, layers) for library in request.libraries},
        language=_language(request.libraries, layers),
        notices=notices,
        model_macs=sum(layer.macs for layer in layers) if model_macs is None else model_macs,
        made_with=request.words,
        format_copies_bytes=assignment.bytes_copied,
        formats_proved=assignment.formats_proved,
        fast=request.fast,
        monitoring=monitoring_of(
            assignment.view, request.options, seen_ranges(request, assignment.view), "fpu" in request.target.features
        ),
    )
    return with_names(program)


def _target(request: CompileRequest) -> CodeTarget:
    board, core = request.board, request.core
    found = CodeTarget(request.target_name, request.cpu, request.features, conditions=request.conditions)
    if core:
        is_riscv = core.calls == RISCV
        found = replace(found, unaligned=core.unaligned, pointer_bytes=core.pointer_bytes, is_riscv=is_riscv)
    return replace(found, regions=board.regions, memories=board.arena_regions) if board else found


def _layers(request: CompileRequest, assignment: Assignment, schedule: Schedule, placed: Placed) -> list[Layer]:
    symbols = layer_symbols(request.name, [(node.name, node.type) for node in schedule.steps])
    named = {node.name: symbol for node, symbol in zip(schedule.steps, symbols)}
    cascade_of = {name: cascade for cascade in schedule.cascades for name in cascade.nodes}
    copied_to = {copy.node: CopiedTo(copy, placed.arena.offset_of(copy.name)) for copy in schedule.copies}
    kernels, plane_of = bands_of(request)(assignment), cache(partial(_plane, placed))
    layers, shown = [], is_shown(4)
    for node, symbol in zip(schedule.steps, symbols):
        choice, seen, cascade = assignment.choices[node.name], assignment.node_view(node), cascade_of.get(node.name)
        given = () if cascade is not None else tuple([None if tensor is None else plane_of(tensor) for tensor in seen.inputs])
        seen = replace(seen, symbol=symbol, symbols=named, in_mem_info=given)
        if cascade is None:
            kernel, call, bands = choice.kernel, kernel_call(choice.kernel, seen, plane_of), None
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
    return layers


def kernel_call(kernel: Kernel, seen: NodeView, plane_of: Callable[[Tensor], MemInfo | None]) -> Call:
    """Returns the kernel's call at its node. The node's view says where each input is; the kernel gets the places of its outputs
    if all of them are in the arena."""
    inside = [plane_of(tensor) for tensor in seen.outputs]
    return kernel.call(seen, [plane for plane in inside if plane is not None] if None not in inside else None)


def _plane(placed: Placed, tensor: Tensor) -> MemInfo | None:
    """Returns the bytes that hold the tensor, counted in its part of the arena; None for a tensor outside of the arena."""
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
    """Returns the files that the library's kernels may include: files of its folder, of its calls, and other static files."""
    own = {**library.files}
    for layer in layers:
        own |= layer.call.files if layer.kernel.library == library.name else {}
    known = set(own.values())
    return {**{path: data for path, data in library.static_files.items() if data not in known}, **own}


def model_sha256(model: bytes, external: Mapping[str, bytes]) -> str:
    """The digest of the model's file and its external data, with which a linked program names its model."""
    return hashlib.sha256(model + b"".join(external[key] for key in sorted(external))).hexdigest()
