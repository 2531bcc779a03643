# SPDX-License-Identifier: MIT
"""A WHILE that goes through the rows of a tensor, one row a step, with a cell of a recurrent layer as its body: RNN, GRU, LSTM.

The body's first step is added to a draft of its own, and its nodes are recognised there (`cell.py`). The number of the
step must do nothing but count, choose the row that is read, and choose the row of a list that is written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
from aidge_build.sources.formats.tflite.file import TfliteOperator, TfliteSubgraph
from aidge_build.sources.formats.tflite.lists import SET, Rows, candidates
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import file_order
from aidge_build.sources.formats.tflite.values import Value


@dataclass(frozen=True)
class _Layer:
    """A loop as a layer. `data` is the place of the tensor that the loop reads row by row, `states` are the places of the states.
    By place, `lists` has the number of the state that a list gets in each step, `last` the number of the state that a tensor is
    after the last step."""

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
    """Returns the values with which the loop begins."""
    rows, inputs = source.adding.rows, source.operator.inputs
    return [rows[index] if index in rows else source.input(place) for place, index in enumerate(inputs)]


def _length(value: Value | Rows) -> int:
    return len(value.places) if isinstance(value, Rows) else value.dims[0]


def _counters(values: Sequence[Value | Rows]) -> list[int]:
    """Returns the places of int32 numbers with a known first value."""

    def counts(value: Value | Rows) -> bool:
        return isinstance(value, Value) and value.is_constant and value.dtype is DType.int32 and not value.dims

    return [place for place, value in enumerate(values) if counts(value)]


def steps_of(source: TfliteNode, condition: TfliteSubgraph, body: TfliteSubgraph) -> int:
    """Returns how often the body runs, if only counters that begin at 0 and grow by 1 decide it, and if the counters only choose
    rows in the body; else 0."""
    counters = _counters(_given(source))
    if not all(_counts(source, body, place) for place in counters):
        return 0
    limits = [_limit(condition, one, counters) for one in condition.operators if one.type != "LOGICAL_AND"]
    decides = bool(limits) and None not in limits and len(condition.operators) == 2 * len(limits) - 1
    return min(limits) if decides else 0


def _counts(source: TfliteNode, body: TfliteSubgraph, place: int) -> bool:
    """Whether the counter at this place begins at 0, grows by 1, and does nothing else but to choose rows."""
    counter = body.inputs[place]
    maker = next((one for one in body.operators if body.outputs[place] in one.outputs), None)
    grows = maker is not None and maker.type == "ADD" and {counter} < {*maker.inputs}
    others = [_number(body, index) for index in maker.inputs if index != counter] if grows else []
    return others == [1] and source.integers(place) == (0,) and not _leaks(body, counter)


def _limit(condition: TfliteSubgraph, operator: TfliteOperator, counters: Sequence[int]) -> int | None:
    """The constant with which an operator of the condition compares a counter; None where it does anything else."""
    if operator.type != "LESS" or operator.inputs[0] not in condition.inputs:
        return None
    is_counter = condition.inputs.index(operator.inputs[0]) in counters
    return _number(condition, operator.inputs[1]) if is_counter else None


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


@dataclass(frozen=True)
class _Step:
    """The body's first step: the values that it gets and the values that it makes, by place. `lists` are the places of lists that
    get a row in each step, `changed` are the places of other tensors that the step changes."""

    body: TfliteSubgraph
    lists: Collection[int]
    changed: Sequence[int]
    given: Sequence[Value | Rows]
    made: Sequence[Value | Rows]
    draft: Draft

    @property
    def rows(self) -> list[Node]:
        """The nodes that take rows, in order."""
        return [node for node in self.draft.nodes if isinstance(node.operator, Gather)]

    @property
    def data(self) -> int | None:
        """The place of the tensor from which all these nodes take the first row; None if there is none."""
        read = self.rows[0].inputs[0] if self.rows else None
        places = [place for place, one in enumerate(self.given) if _name(one) == read]
        return places[0] if places and all(_is_first(node, self.draft, read) for node in self.rows) else None

    @property
    def states(self) -> list[int]:
        """The places of tensors that nodes read and the step changes."""
        read = {name for node in self.draft.nodes for name in node.inputs}
        return [place for place in self.changed if _name(self.given[place]) in read]


def _first_step(adding: Adding, body: TfliteSubgraph, values: Sequence[Value | Rows], counters: Sequence[int]) -> _Layer | None:
    """Returns the layer of the body's first step on unknown values of the known types; None if it is no layer."""
    draft, lists, given = Draft(), candidates(body), list[Value | Rows]()
    for place, value in enumerate(values):
        if isinstance(value, Value):
            is_known = place in counters or value.is_constant and body.inputs[place] == body.outputs[place]
            if not is_known and (value.dtype is not DType.float32 or not value.dims):
                return None
            value = value if is_known else _unknown(draft, value, place)
            value = Rows.of(value) if place in lists else value
        given.append(value)
    places = [place for place in range(len(values)) if place not in counters and place not in lists]
    changed = [place for place in places if body.inputs[place] != body.outputs[place]]
    made = Adding(adding.model, draft, adding.rounding).run(body, given, "step")
    return _layer_of(_Step(body, lists, changed, given, made, draft))


def _unknown(draft: Draft, value: Value, place: int) -> Value:
    """A tensor of the draft with the value's type."""
    value = replace(value, name=draft.free_name(f"value_{place}"), order=file_order(value.rank), data=None)
    draft.add_tensor(Tensor(value.name, value.dims, value.dtype))
    return value


def _layer_of(step: _Step) -> _Layer | None:
    """Returns the layer with this first step; None if the step is no cell."""
    first = None if step.data is None or step.data in step.changed else step.given[step.data]
    if not isinstance(first, Value) or first.rank != 3:
        return None
    states = step.states
    for order in permutations(states) if 1 <= len(states) <= 2 else ():
        leaves = {node.outputs[0]: "x" for node in step.rows} | {_name(step.given[p]): leaf for p, leaf in zip(order, "hc")}
        known = formulas(step.draft.nodes, step.draft.tensors, leaves)
        made = [known.get(_name(step.made[place])) for place in order]
        cell = recognised(made, first.dims[-1])
        if cell is not None:
            return _with_results(step, cell, order, known, made)
    return None


def _with_results(
    step: _Step, cell: Cell, states: tuple[int, ...], known: Mapping[str, Formula], made: Sequence[Formula]
) -> _Layer | None:
    """Returns the layer with the states that its lists and tensors get; None if one gets anything else."""
    written = {place: _written(step.made[place], step.given[place], known, made) for place in step.lists}
    last = {place: _number_of(known.get(_name(step.made[place])), made) for place in step.changed}
    last |= {place: written.pop(place) for place in step.lists if _is_fixed(step.body, place)}
    fits = all(number == 0 for number in written.values()) and -1 not in last.values()
    return _Layer(cell, step.data, states, written, last) if fits else None


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
    """Adds the layer and its values after the last step."""
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
