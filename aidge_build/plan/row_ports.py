# SPDX-License-Identifier: MIT
"""The input that comes row by row and the output that leaves row by row, and why a model does not allow them."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.cascade.question import Question
from aidge_build.plan.cascade.row_layer import has_rows
from aidge_build.plan.cascade.rowed_graph import Graph

INPUT, OUTPUT = "--input rows", "--output rows"
_INSTEAD = {INPUT: "--input whole hands it over", OUTPUT: "--output whole gets it"}


def input_by_rows(view: GraphView) -> str:
    """Returns the input that comes row by row; AidgeError ROWS if the model does not have exactly one input."""
    if len(view.given) != 1:
        raise _refused(f"the model has {len(view.given)} inputs, and rows come of one alone", INPUT)
    return view.given[0]


def output_by_rows(view: GraphView) -> str:
    """Returns the output that leaves row by row; AidgeError ROWS if the model does not have exactly one output."""
    if len(view.handed_out) != 1:
        raise _refused(f"the model has {len(view.handed_out)} outputs, and rows leave of one alone", OUTPUT)
    return view.handed_out[0]


def no_rows(question: Question) -> AidgeError:
    """Returns the error that says why no plan takes the input and gives the output row by row."""
    graph, steps = question.graph, question.alone.steps
    if graph.arriving:
        why = _input_fault(graph, steps, question.readers)
        if why or not graph.departing:
            where = f"input '{graph.kernels.assignment.view.given[0]}'"
            return _refused(why or f"no cascade that begins with {steps[0].where()} takes it", INPUT, where)
    why = _output_fault(graph, steps)
    where = f"output '{graph.kernels.assignment.view.handed_out[0]}'"
    return _refused(why or "no cascade gives it", OUTPUT, where)


def _input_fault(graph: Graph, steps: Sequence[Node], readers: dict[str, set[str]]) -> str:
    view = graph.kernels.assignment.view
    names = sorted(name for name in readers if graph.buffer_of.get(name) == graph.arriving)
    if not names:
        return "no layer reads it"
    if len(names) > 1:
        return f"layers read it in {len(names)} shapes: {', '.join(map(repr, names))}"
    tensor = view.tensor(names[0])
    if not has_rows(tensor):
        return _apart(tensor)
    reader = next(node for node in steps if names[0] in node.inputs)
    if reader is not steps[0]:
        return f"{steps[0].where()} runs before {reader.where()}, which reads it first"
    return next((_whole(node) for node in steps if names[0] in node.inputs and graph.kernels.layer(node) is None), "")


def _output_fault(graph: Graph, steps: Sequence[Node]) -> str:
    view = graph.kernels.assignment.view
    writers = [node for node in steps if any(graph.buffer_of.get(name) == graph.departing for name in node.outputs)]
    if len(writers) != 1:
        return f"{len(writers)} layers write it"
    (writer,) = writers
    tensor, layer = view.tensor(writer.outputs[0]), graph.kernels.layer(writer)
    if not has_rows(tensor):
        return _apart(tensor)
    if layer is None or layer.in_parts:
        return _whole(writer)
    for node in steps:
        named = [name for name in node.inputs if graph.buffer_of.get(name) == graph.departing]
        if named and named != [tensor.name]:
            return f"{node.where()} reads it in another shape"
        if named and graph.kernels.layer(node) is None:
            return _whole(node)
    return ""


def _apart(tensor: Tensor) -> str:
    return f"its rows are not contiguous: dims {list(tensor.dims)}, stored as {tensor.storage}"


def _whole(node: Node) -> str:
    return f"{node.where()} is computed from all of it, not by rows"


def _refused(what: str, option: str, where: str = "") -> AidgeError:
    return AidgeError(what, where=where or option, code="ROWS", hint=f"{_INSTEAD[option]} in one piece")
