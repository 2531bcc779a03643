# SPDX-License-Identifier: MIT
"""A .tflite file to a GraphView: the operators of its graph in logical order, on quantized tensors, refusals all at once."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy

from aidge_build.base.errors import HINTS, AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, State
from aidge_build.operators.base import Operator
from aidge_build.operators.view import Identity, Transpose
from aidge_build.sources.dims import Bound
from aidge_build.sources.draft import Draft, Result
from aidge_build.sources.folding import strange_numbers
from aidge_build.sources.formats.tflite.adding import Adding
from aidge_build.sources.formats.tflite.dilation import Spread, spread_convolutions
from aidge_build.sources.formats.tflite.file import (
    TfliteModel,
    TfliteOperator,
    TfliteSignature,
    TfliteSubgraph,
    TfliteTensor,
    read_tflite,
)
from aidge_build.sources.formats.tflite.lists import LIST, LISTS, is_list
from aidge_build.sources.formats.tflite.open_dims import LARGER, assumed_batches, with_sizes
from aidge_build.sources.formats.tflite.order import Order, Orders, Wants, file_order, stored_as_in_file
from aidge_build.sources.formats.tflite.registry import pieces
from aidge_build.sources.formats.tflite.values import Value, in_file, refused_type, value_of
from aidge_build.sources.formats.tflite.variables import Remembered, without_variables

MOST_REASONS = 20  # that one refusal lists
_OF_ONNX = ("DIMS", "GRAPH", "MODEL", "OPERATOR")  # codes with usual hints about ONNX
_HINT = "docs/tflite.md says what is supported, and what an operator that is missing costs"


def import_tflite(
    data: bytes, name: str, signature: str = "", rounding: str = "onnx", bind: Mapping[str, Bound] | None = None
) -> tuple[GraphView, tuple[str, ...]]:
    """Returns the graph of a model file, and notices: decisions that the user should read, one line each.

    `name` names the file in messages, and the graph; `signature` names the signature to import, "" the only or first one;
    `rounding` is the numerical contract: operators that it does not define are refused; `bind` gives sizes to dims that the file
    leaves open (`open_dims.with_sizes`).
    """
    try:
        model = read_tflite(data)
        chosen, notices = _chosen(model, signature)
        view = _imported(model, chosen, name, rounding, bind or {})
        return view, (*notices, *strange_numbers(view))
    except AidgeError as error:
        if error.hint == HINTS.get(error.code) and error.code in _OF_ONNX:
            error.hint = _HINT
        raise error.within(name)


def _imported(
    model: TfliteModel, chosen: TfliteSignature | None, name: str, rounding: str, bind: Mapping[str, Bound]
) -> GraphView:
    """The graph; a refusal that a larger size of an open first axis would not meet says how to give it one."""
    graph = model.subgraphs[chosen.subgraph if chosen else 0]
    called = chosen.inputs if chosen else {}
    names = {index: called.get(index) or graph.tensors[index].name for index in graph.inputs}

    def with_bound(sizes: Mapping[str, Bound]) -> GraphView:
        plain, remembered = without_variables(model, with_sizes(graph, names, sizes))
        return _Import(model, plain, chosen, name, rounding, remembered).graph()

    try:
        return with_bound(bind)
    except AidgeError as error:
        assumed = assumed_batches(graph, names, bind)
        if assumed and _is_read(lambda: with_bound({**bind, **dict.fromkeys(assumed, LARGER)})):
            asked = " ".join(f"--bind {dim}=NUMBER" for dim in assumed)
            error.hint = f"the open first axis became 1; another size helps: {asked}"
        raise


def _is_read(importing: Callable[[], GraphView]) -> bool:
    try:
        importing()
    except AidgeError:
        return False
    return True


def _chosen(model: TfliteModel, key: str) -> tuple[TfliteSignature | None, tuple[str, ...]]:
    """The signature of this name, or the first; None for a file without signatures: its first graph."""
    known = [signature.key for signature in model.signatures]
    if key:
        found = next((signature for signature in model.signatures if signature.key == key), None)
        if found is None:
            near = difflib.get_close_matches(key, known, 1)
            raise AidgeError(
                f"the model has no signature '{key}'",
                where="--signature",
                tried=known,
                code="USAGE",
                hint=f"did you mean {near[0]}?" if near else "a model without signatures is compiled without this option",
            )
        return found, ()
    if not known:
        return None, ()
    others = ", ".join(f"'{one}'" for one in known[1:])
    return model.signatures[0], (
        (f"of the signatures '{known[0]}' is compiled; --signature names another: {others}",) if others else ()
    )


class _Import:
    """One import in progress: what is known about the tensors of the file, and the graph so far."""

    def __init__(
        self,
        model: TfliteModel,
        graph: TfliteSubgraph,
        signature: TfliteSignature | None,
        name: str,
        rounding: str,
        remembered: Sequence[Remembered] = (),
    ):
        self._model, self._graph, self._signature, self._name, self._rounding = model, graph, signature, name, rounding
        self._remembered = remembered
        self._next: dict[int, tuple[str, Order]] = {}  # of variables that their operators renew: tensor and order of axes
        self._draft = Draft()
        self._values: dict[int, Value] = {}
        self._tensors: dict[int, Value] = {}
        self._produced: set[int] = set()
        self._operators = graph.operators
        self._spreads: Mapping[int, Spread] = {}

    def graph(self) -> GraphView:
        self._refuse_unsupported()
        self._refuse_two_names()
        self._operators, self._spreads = spread_convolutions(self._operators, self._graph.outputs, self._in_file)
        touched = {*self._graph.inputs, *self._graph.outputs, *(index for one in self._operators for index in _touched(one))}
        self._read_tensors(touched)
        variables = [index for index in sorted(touched) if self._graph.tensors[index].is_variable]
        for index in self._graph.inputs:
            self._values[index] = replace(self._tensors[index], data=None)
        self._values |= {index: self._tensors[index] for index in variables}
        given = (*self._graph.inputs, *variables)
        inputs = [self._draft.add_tensor(self._port(self._values[index])) for index in given]
        adding = Adding(self._model, self._draft, self._rounding, self._next)
        adding.add(self._operators, self._tensors, self._values, self._spreads)
        outputs = [self._output(index) for index in self._graph.outputs]
        states = [self._assigned(one) for one in self._remembered]
        states += [self._renewed(self._values[index]) for index in variables]
        outputs += [state.written for state in states]
        return self._draft.view(self._name, inputs, outputs, states)

    def _read_tensors(self, touched: set[int]) -> None:
        """Reads the file's declarations of the touched tensors; constants and tensors that operators keep have values."""
        names, orders = self._names(), self._orders()
        for index in sorted({index for one in self._operators for index in one.intermediates} - touched):
            self._values[index] = value_of(self._graph.tensors[index], names[index], orders[index])
        for index in sorted(index for index in touched if self._graph.tensors[index].type != LIST):
            value = value_of(self._graph.tensors[index], names[index], orders[index])
            self._tensors[index] = value
            if value.is_constant and index not in self._graph.inputs and index not in self._produced:
                self._values[index] = value

    def _assigned(self, one: Remembered) -> State:
        """A variable that operators read and assign; it begins with what the file says, or with zeros."""
        old, new = self._values[one.read], self._values.get(one.written)
        if new is None:
            raise AidgeError(f"nothing produces what is assigned to variable '{one.name}'", code="GRAPH")
        if new.name not in self._draft.tensors:
            self._draft.add_tensor(self._port(new).with_(data=new.data.transpose(new.order)))
        first = None
        if one.initial is not None:
            given = value_of(one.initial, one.name, old.order)
            if (given.dims, given.dtype) != (old.dims, old.dtype):
                raise AidgeError(f"variable '{one.name}' is {old}, its first value is {given}", code="GRAPH")
            first = given.data.transpose(old.order)
        return self._state(old, new.name, new.order, first)

    def _renewed(self, old: Value) -> State:
        """A tensor that its operator overwrites with its next value (`TfliteNode.remember`); it begins with zeros."""
        if old.index not in self._next:
            raise AidgeError(
                f"tensor '{old.name}' is a variable, but the operator that has it keeps no state here", code="OPERATOR"
            )
        return self._state(old, *self._next[old.index], None)

    def _state(self, old: Value, new: str, order: Order, first: numpy.ndarray | None) -> State:
        """The old value, which is an input of the graph, and an output of its own for the next one."""
        read = self._draft.tensors[old.name]
        view: Operator = Identity() if order == old.order else Transpose(tuple(order.index(axis) for axis in old.order))
        name = self._draft.free_name(f"{old.name}_next")
        self._draft.add_node(name, view, [new], [Result(name, read.dtype, read.quantization)], old.name)
        self._draft.tensors[name] = self._draft.tensors[name].with_(format=read.format)
        if first is None:
            first = numpy.full(read.dims, 0 if read.quantization is None else read.quantization.zero_point, read.dtype.numpy)
        return State(old.name, name, first)

    def _refuse_unsupported(self) -> None:
        """Every operator and element type that is not supported, in one refusal."""
        known = pieces()
        reasons: dict[str, list[str]] = {}
        self._produced = {index for operator in self._graph.operators for index in operator.outputs}
        for operator in self._graph.operators:
            if operator.type not in known and operator.type not in LISTS:
                reasons.setdefault(f"operator {operator.type}", []).append(operator.where())
            for index in (*_touched(operator), *operator.intermediates):
                reason = self._refused_tensor(self._graph.tensors[index])
                if reason and not is_list(self._graph.tensors[index], operator):
                    reasons.setdefault(reason, []).append(operator.where())
        if not reasons:
            return
        shown = [
            f"{reason} at {places[0]}" + (f" and {len(places) - 1} more" if len(places) > 1 else "")
            for reason, places in sorted(reasons.items())
        ]
        more = f"; and {len(shown) - MOST_REASONS} more" if len(shown) > MOST_REASONS else ""
        raise AidgeError(
            f"not supported: {'; '.join(shown[:MOST_REASONS])}{more}",
            code="OPERATOR",
        )

    def _refused_tensor(self, tensor: TfliteTensor) -> str:
        computed = tensor.raw is None or tensor.index in self._produced or tensor.index in self._graph.inputs
        if tensor.raw is not None and (tensor.index in self._produced or tensor.index in self._graph.inputs):
            return f"tensor '{tensor.name}' is computed, and has the elements of a constant"
        return refused_type(tensor, computed)

    def _refuse_two_names(self) -> None:
        for side, indices in (("input", self._graph.inputs), ("output", self._graph.outputs)):
            if len(set(indices)) < len(indices):
                raise AidgeError(f"the graph names a tensor twice as its {side}", code="GRAPH")
        for index in (*self._graph.inputs, *self._graph.outputs):
            reason = self._refused_tensor(self._graph.tensors[index])
            if reason:
                raise AidgeError(reason, code="TYPE")
        taken = set(self._graph.inputs)
        for operator in self._graph.operators:
            for index in operator.outputs:
                if index in taken:
                    raise AidgeError(
                        f"tensor '{self._graph.tensors[index].name}' is produced twice", where=operator.where(), code="GRAPH"
                    )
                taken.add(index)

    def _names(self) -> dict[int, str]:
        """Returns a name for each tensor; inputs and outputs have the names of the signature."""
        called = {**self._signature.inputs, **self._signature.outputs} if self._signature else {}
        ports = dict.fromkeys((*self._graph.inputs, *self._graph.outputs))
        found = {index: self._draft.free_name(called.get(index) or self._graph.tensors[index].name) for index in ports}
        for tensor in self._graph.tensors:
            if tensor.index not in found:
                found[tensor.index] = self._draft.free_name(tensor.name) if self._is_computed(tensor.index) else tensor.name
        return found

    def _orders(self) -> list[Order]:
        """Returns the order of axes of each tensor; constants take their reader's order."""
        orders = Orders([len(tensor.dims) for tensor in self._graph.tensors])
        for operator in self._operators:
            computed = [index for index in _touched(operator) if self._is_computed(index)]
            if operator.type not in LISTS:
                orders.add(pieces()[operator.type].wants, computed)
        for one in self._remembered:
            orders.add(Wants.SAME, [one.read, one.written])
        return orders.solved()

    def _in_file(self, index: int) -> Value:
        return in_file(self._graph.tensors[index], self._is_computed(index))

    def _is_computed(self, index: int) -> bool:
        return self._graph.tensors[index].raw is None or index in self._produced or index in self._graph.inputs

    def _port(self, value: Value) -> Tensor:
        """Returns the tensor of a graph input: its elements are in the file's order."""
        form = None if value.order == file_order(value.rank) else stored_as_in_file(value.order)
        dims = tuple(value.dims[axis] for axis in value.order)
        return Tensor(value.name, dims, value.dtype, None, value.quantization, form)

    def _output(self, index: int) -> str:
        if index not in self._values:
            raise AidgeError(f"nothing produces the graph output '{self._graph.tensors[index].name}'", code="GRAPH")
        value = self._values[index]
        if value.name not in self._draft.tensors:
            self._draft.add_tensor(self._port(value).with_(data=value.data.transpose(value.order)))
        if value.order != file_order(value.rank):
            self._draft.tensors[value.name] = self._draft.tensors[value.name].with_(format=stored_as_in_file(value.order))
        return value.name


def _touched(operator: TfliteOperator) -> tuple[int, ...]:
    return tuple(index for index in (*operator.inputs, *operator.outputs) if index >= 0)
