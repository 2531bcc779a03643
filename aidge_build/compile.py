# SPDX-License-Identifier: MIT
"""The spine: what happens to a model. Pure: it reads no file, and knows no time, path, user or build system."""

from __future__ import annotations

import hashlib

from aidge_build.backend.adapt import adapt_to_backend
from aidge_build.backend.assignment import Assignment
from aidge_build.debug import show
from aidge_build.emit import emit
from aidge_build.errors import AidgeError
from aidge_build.graph.view import GraphView
from aidge_build.importers.onnx_importer import import_onnx
from aidge_build.memory.checker import check
from aidge_build.naming import layer_symbols
from aidge_build.placement import Placed, place
from aidge_build.program import Layer, Program
from aidge_build.recipes import simplify
from aidge_build.request import CompileRequest
from aidge_build.schedule.schedule import Schedule, make_schedule
from aidge_build.sources import Sources


def compile(request: CompileRequest) -> Sources:
    """The generated files of a model; AidgeError names the model's file and the node."""
    return emit(build_program(request))


def build_program(request: CompileRequest) -> Program:
    """Import, simplify, adapt, schedule, plan and check; the result is ready to be printed."""
    view, notices = import_model(request)
    try:
        assignment = adapt_to_backend(view, request.libraries, request.target)
        show(2, "assignment", f"{assignment.view}\n{assignment}")
        schedule = make_schedule(assignment, lambda node: _node_class(assignment, node).demands(assignment.node_view(node)))
        show(3, "schedule", schedule)
        placed = place(schedule, assignment.view, request.options, request.board)
        check(placed.arena, placed.arena_buffers)
        check(placed.peak, schedule.buffers)
        return _program(request, assignment, schedule, placed, notices)
    except AidgeError as error:
        raise error.within(request.file_name)


def import_model(request: CompileRequest) -> tuple[GraphView, tuple[str, ...]]:
    """The simplified graph of the model, and one-line notices for the user."""
    view, notices = import_onnx(request.model, request.file_name, request.operators, request.bind, request.external)
    show(2, "imported", view)
    return simplify(view), notices


def _node_class(assignment: Assignment, node):
    return assignment.choices[node.name].kernel.node_class


def _program(request: CompileRequest, assignment: Assignment, schedule: Schedule, placed: Placed, notices: tuple[str, ...]) -> Program:
    symbols = layer_symbols(request.name, [(node.name, node.type) for node in schedule.steps])
    layers = []
    for node, symbol in zip(schedule.steps, symbols):
        choice, seen = assignment.choices[node.name], assignment.node_view(node)
        try:
            call = choice.kernel.node_class(seen).call()
        except AidgeError as error:
            raise error.within(node.where())
        show(4, node.name, call)
        scratch = schedule.scratch_of.get(node.name)
        layers.append(Layer(symbol, node, choice.kernel, call, seen.inputs, seen.outputs, seen.multiply_accumulates,
                            None if scratch is None else placed.arena.offset_of(scratch), choice.rejected, choice.rule))
    return Program(
        name=request.name,
        model_sha256=hashlib.sha256(request.model + b"".join(request.external[key] for key in sorted(request.external))).hexdigest(),
        view=assignment.view,
        layers=tuple(layers),
        places=placed.places,
        arena=placed.arena,
        peak=placed.peak,
        io_bytes=placed.io_bytes,
        arena_alignment=placed.alignment,
        options=request.options,
        target=request.target_name,
        library_files={library.name: library.files for library in request.libraries},
        notices=notices,
        region=placed.region,
    )
