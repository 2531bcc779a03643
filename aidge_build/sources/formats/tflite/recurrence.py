# SPDX-License-Identifier: MIT
"""A WHILE that goes through the rows of a tensor, one row a step, and whose body is a cell of a recurrent layer: RNN, GRU, LSTM.

The body's first step is added to a draft of its own, and its nodes are recognised there (`cell.py`). The number of the
step must do nothing but count, choose the row that is read, and choose the row of a list that is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node
from aidge_build.operators.rearrange import Gather
from aidge_build.operators.view import Identity, Reshape
from aidge_build.sources.draft import Draft
from aidge_build.sources.formats.tflite.adding import Adding
from aidge_build.sources.formats.tflite.cell import Cell, Formula, formulas, recognised
from aidge_build.sources.formats.tflite.file import TfliteSubgraph
from aidge_build.sources.formats.tflite.lists import SET, Rows, candidates
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import file_order
from aidge_build.sources.formats.tflite.values import Value


@dataclass(frozen=True)
class _Layer:
    """A loop as a layer: the place of the tensor whose rows are read, the places of the states, and by place the number of the
    state of which a list gets the row of each step, or of which a tensor is the last value."""

    cell: Cell
    data: int
    states: tuple[int, ...]
    lists: Mapping[int, int]
    last: Mapping[int, int]


def recurrent_layer(source: TfliteNode, condition: TfliteSubgraph, body: TfliteSubgraph) -> bool:
    """Whether the loop is a recurrent layer; if so it has been added."""
    values, steps = _given(source), steps_of(source, condition, body)
    counters = _counters(values)
    try:
        layer = _first_step(source.adding, body, values, counters) if steps else None
    except AidgeError:  # what is refused here is refused with its reason where the steps are added
        return False
    if layer is None or any(_length(values[place]) != steps for place in (layer.data, *layer.lists)):
        return False
    _add(source, values, layer, counters, steps)
    return True


def _given(source: TfliteNode) -> list[Value | Rows]:
    """What the loop begins with."""
    rows, inputs = source.adding.rows, source.operator.inputs
    return [rows[index] if index in rows else source.input(place) for place, index in enumerate(inputs)]


def _length(value: Value | Rows) -> int:
    return len(value.places) if isinstance(value, Rows) else value.dims[0]


def _counters(values: Sequence[Value | Rows]) -> list[int]:
    """The places of numbers of which the first is known."""

    def counts(value: Value | Rows) -> bool:
        return isinstance(value, Value) and value.is_constant and value.dtype is DType.int32 and not value.dims

    return [place for place, value in enumerate(values) if counts(value)]


def steps_of(source: TfliteNode, condition: TfliteSubgraph, body: TfliteSubgraph) -> int:
    """How often the body runs where counters that begin at 0 and grow by 1 decide that alone, and do nothing but to choose rows
    in it; else 0."""
    values = _given(source)
    counters = _counters(values)
    for place in counters:
        maker = next((one for one in body.operators if body.outputs[place] in one.outputs), None)
        grows = maker is not None and maker.type == "ADD" and {body.inputs[place]} < {*maker.inputs}
        others = [_number(body, index) for index in maker.inputs if index != body.inputs[place]] if grows else []
        if others != [1] or source.integers(place) != (0,) or _leaks(body, body.inputs[place]):
            return 0
    limits = []
    for operator in condition.operators:
        if operator.type == "LESS" and operator.inputs[0] in condition.inputs:
            place, limit = condition.inputs.index(operator.inputs[0]), _number(condition, operator.inputs[1])
            if place not in counters or limit is None:
                return 0
            limits.append(limit)
        elif operator.type != "LOGICAL_AND":
            return 0
    return min(limits, default=0) if len(condition.operators) == 2 * len(limits) - 1 else 0


def _number(graph: TfliteSubgraph, index: int) -> int | None:
    """The one int32 of a constant."""
    tensor = graph.tensors[index]
    is_number = tensor.type == "INT32" and tensor.raw is not None and len(tensor.raw) == 4
    return int(numpy.frombuffer(tensor.raw, "<i4")[0]) if is_number else None


def _leaks(body: TfliteSubgraph, counter: int) -> bool:
    """Whether the number of the step does more than to count and to choose rows."""
    known = {counter}
    for operator in body.operators:
        places = [place for place, index in enumerate(operator.inputs) if index in known]
        counts = operator.type == "ADD" and len(places) == 1 or operator.type in ("RESHAPE", "CONCATENATION")
        if places and counts:
            known.update(operator.outputs)
        elif places and not (operator.type in ("GATHER", SET) and places == [1] or operator.type == "SLICE" and 0 not in places):
            return True
    return False


def _first_step(adding: Adding, body: TfliteSubgraph, values: Sequence[Value | Rows], counters: Sequence[int]) -> _Layer | None:
    """The body's first step on tensors of which nothing is known but the type."""
    draft, lists = Draft(), candidates(body)
    arguments: list[Value | Rows] = []
    for place, value in enumerate(values):
        if isinstance(value, Rows):
            arguments.append(value)
            continue
        stays = body.inputs[place] == body.outputs[place]
        if place not in counters and not (stays and value.is_constant):
            if value.dtype is not DType.float32 or not value.dims:
                return None
            value = replace(value, name=draft.free_name(f"value_{place}"), order=file_order(value.rank), data=None)
            draft.add_tensor(Tensor(value.name, value.dims, value.dtype))
        arguments.append(Rows.of(value) if place in lists else value)
    results = Adding(adding.model, draft, adding.rounding).run(body, arguments, "step")
    rows = [node for node in draft.nodes if isinstance(node.operator, Gather)]
    data = [place for place in range(len(values)) if rows and _name(arguments[place]) == rows[0].inputs[0]]
    first = values[data[0]] if data else None
    if not isinstance(first, Value) or first.rank != 3 or not all(_is_first(node, draft, rows[0].inputs[0]) for node in rows):
        return None
    changed = [p for p in range(len(values)) if p not in (*counters, *lists) and body.inputs[p] != body.outputs[p]]
    read = {name for node in draft.nodes for name in node.inputs}
    states = [place for place in changed if _name(arguments[place]) in read]
    for order in permutations(states) if 1 <= len(states) <= 2 else ():
        leaves = {**{node.outputs[0]: "x" for node in rows}, **{_name(arguments[p]): leaf for p, leaf in zip(order, "hc")}}
        known = formulas(draft.nodes, draft.tensors, leaves)
        made = [known.get(_name(results[place])) for place in order]
        cell = recognised(made, first.dims[-1]) if None not in made else None
        if cell is not None:
            written = {place: _written(results[place], arguments[place], known, made) for place in lists}
            last = {place: _number_of(known.get(_name(results[place])), made) for place in changed}
            last |= {place: written.pop(place) for place in lists if _is_fixed(body, place)}
            fits = all(number == 0 for number in written.values()) and -1 not in last.values() and data[0] not in changed
            return _Layer(cell, data[0], order, written, last) if fits else None
    return None


def _name(value: Value | Rows) -> str:
    return value.name if isinstance(value, Value) else ""


def _is_first(node: Node, draft: Draft, data: str) -> bool:
    """Whether the node takes the first row of the data."""
    index = draft.tensors[node.inputs[1]].data
    return node.inputs[0] == data and node.operator.axis == 0 and index is not None and index.size == 1 and not index.any()


def _written(list_behind: Value | Rows, before: Value | Rows, known: Mapping[str, Formula], made: Sequence[Formula]) -> int:
    """The number of the state that the step writes to the first row of a list; -1 where it writes anything else."""
    if not isinstance(list_behind, Rows) or not isinstance(before, Rows) or list_behind.places[1:] != before.places[1:]:
        return -1
    value, _ = list_behind.places[0]
    return _number_of(known.get(value.name), made) if value is not None and value.dims[0] == 1 else -1


def _is_fixed(body: TfliteSubgraph, place: int) -> bool:
    """Whether each step writes the same row of a TensorList."""
    makers = [one for one in body.operators if body.outputs[place] in one.outputs and one.type == SET]
    return bool(makers) and body.tensors[makers[0].inputs[1]].raw is not None


def _number_of(formula: Formula, made: Sequence[Formula]) -> int:
    return next((number for number, one in enumerate(made) if one == formula), -1)


def _add(source: TfliteNode, values: Sequence[Value | Rows], layer: _Layer, counters: Sequence[int], steps: int) -> None:
    """The layer, and what its values are behind the last step."""
    batch, cell = source.input(layer.data).dims[1], layer.cell
    inputs = [
        source.read(layer.data, file_order(3)),
        source.add_constant(f"{source.name}_weights", cell.weights),
        source.add_constant(f"{source.name}_recurrence", cell.recurrence),
        source.add_constant(f"{source.name}_bias", cell.bias),
    ]
    first = [source.input(place) for place in layer.states]
    if not all(value.is_constant and not value.data.any() for value in first):  # else it begins with zeros by itself
        dims = (1, batch, cell.operator.hidden)
        read = [source.read(place, file_order(value.rank)) for place, value in zip(layer.states, first)]
        inputs += ["", *(source.step(Reshape(dims), [name]) for name in read)]
    rows, *last = source.steps(cell.operator, inputs, [None] * (1 + len(layer.states)))
    for place, value in enumerate(values):
        if isinstance(value, Rows):
            only = (1 if place in layer.last else steps, batch, cell.operator.hidden)
            name = source.step(Reshape(only), [last[layer.last[place]] if place in layer.last else rows])
            made = Rows.of(Value(-1, name, only, (), DType.float32, None, file_order(3)))
            source.adding.rows[source.operator.outputs[place]] = Rows((*made.places, *value.places[len(made.places) :]))
            continue
        order = file_order(value.rank)
        if place in counters:
            source.write(Identity(), [source.add_constant(f"{source.name}_steps", numpy.array(steps, numpy.int32))], order, place)
        elif place in layer.lists:
            source.write(Reshape(value.dims), [rows], order, place)
        elif place in layer.last:
            source.write(Reshape(value.dims), [last[layer.last[place]]], order, place)
        else:
            source.write(Identity(), [source.read(place, order)], order, place)
