# SPDX-License-Identifier: MIT
"""Variables of a .tflite file: reading and assigning become an input and an output of the graph, which are a state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError, located
from aidge_build.sources.formats.tflite.file import Field, Table, TfliteModel, TfliteOperator, TfliteSubgraph, TfliteTensor

HANDLE, READ, ASSIGN, ONCE = "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"
_OPTIONS = {HANDLE: 111, READ: 112, ASSIGN: 113, ONCE: 103}  # the kinds of their options in the schema
_CONTAINER, _SHARED_NAME = 0, 1  # numbers of fields
_ONCE_SUBGRAPH = Field(0, "int32")
_HINT = "docs/tflite.md says how variables are read; or make them inputs and outputs of the model, and name these by --state"


@dataclass(frozen=True)
class Remembered:
    """A variable: the tensor that has its old value, the one that has the next, and the constant that the file begins with."""

    name: str
    read: int
    written: int
    initial: TfliteTensor | None


def without_variables(model: TfliteModel, graph: TfliteSubgraph) -> tuple[TfliteSubgraph, tuple[Remembered, ...]]:
    """Returns the graph without operators on variables, and its states.

    Operators run in the order of the file: a read before the first assignment gives the old value, an input of the graph; a
    read after it gives the assigned tensor. A variable that nobody assigns is a constant.
    """
    if not any(operator.type in _OPTIONS for operator in graph.operators):
        return graph, ()
    walk = _Walk(model, graph)
    operators = [kept for operator in graph.operators if (kept := walk.kept(operator)) is not None]
    tensors = list(graph.tensors)
    remembered = []
    for name, read in walk.old.items():
        initial = walk.initial.get(name)
        if name in walk.now:
            remembered.append(Remembered(name, read, walk.now[name], initial))
        elif initial is None:
            raise AidgeError(f"variable '{name}' is read, but nothing gives it a value", code="GRAPH", hint=_HINT)
        else:
            tensors[read] = replace(tensors[read], raw=initial.raw)
    outputs = tuple(walk.alias.get(index, index) for index in graph.outputs)
    inputs = (*graph.inputs, *(one.read for one in remembered))
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators), inputs=inputs, outputs=outputs), tuple(remembered)


class _Walk:
    """The operators in the order in which they run. By variable, `old` has the tensor with the old value, `now` the tensor that
    was assigned last; `alias` maps other names of these tensors to them."""

    def __init__(self, model: TfliteModel, graph: TfliteSubgraph):
        self._model, self._graph = model, graph
        self._handles: dict[int, str] = {}
        self.old: dict[str, int] = {}
        self.now: dict[str, int] = {}
        self.alias: dict[int, int] = {}
        self.initial: dict[str, TfliteTensor] = {}

    def kept(self, operator: TfliteOperator) -> TfliteOperator | None:
        """The operator with tensors instead of variables; None for one that only handles variables."""
        with located(operator.where()):
            if operator.type == HANDLE:
                self._handles |= _handle(operator)
            elif operator.type == ONCE:
                self.initial |= _initial(self._model, operator)
            elif operator.type == READ:
                self._read(self._variable(operator, 1, 1), operator.outputs[0])
            elif operator.type == ASSIGN:
                name = self._variable(operator, 2, 0)
                self.now[name] = self.alias.get(operator.inputs[1], operator.inputs[1])
                self._require_same(name)
            else:
                inputs = tuple(self.alias.get(index, index) for index in operator.inputs)
                handled = [index for index in inputs if index in self._handles]
                if handled:
                    raise AidgeError(f"it reads the variable '{self._handles[handled[0]]}' itself", code="OPERATOR", hint=_HINT)
                return replace(operator, inputs=inputs)
        return None

    def _variable(self, operator: TfliteOperator, inputs: int, outputs: int) -> str:
        if len(operator.inputs) != inputs or len(operator.outputs) != outputs:
            raise AidgeError(f"it has {len(operator.inputs)} inputs and {len(operator.outputs)} outputs", code="MODEL")
        if operator.inputs[0] not in self._handles:
            raise AidgeError("its variable has no VAR_HANDLE before it", code="GRAPH", hint=_HINT)
        return self._handles[operator.inputs[0]]

    def _read(self, name: str, tensor: int) -> None:
        if name in self.now:
            self.alias[tensor] = self.now[name]
        elif name in self.old:
            self.alias[tensor] = self.old[name]
        else:
            self.old[name] = tensor

    def _require_same(self, name: str) -> None:
        """The old and the next value must be of one kind."""
        if name in self.old:
            one, other = (self._graph.tensors[index] for index in (self.old[name], self.now[name]))
            if (one.dims, one.type, one.quantization) != (other.dims, other.type, other.quantization):
                raise AidgeError(
                    f"variable '{name}' is read as {one.type}{list(one.dims)}, what is assigned is "
                    f"{other.type}{list(other.dims)} or has another scale",
                    code="GRAPH",
                    hint=_HINT,
                )


def _handle(operator: TfliteOperator) -> Mapping[int, str]:
    """Returns the variable's name by the number of its handle tensor."""
    table = _options(operator)
    if table is None or len(operator.outputs) != 1:
        raise AidgeError("it names no variable", code="MODEL")
    container, name = table.text(_CONTAINER), table.text(_SHARED_NAME)
    return {operator.outputs[0]: f"{container}/{name}" if container else name}


def _options(operator: TfliteOperator) -> Table | None:
    if operator.options_table is not None and operator.options_kind != _OPTIONS[operator.type]:
        raise AidgeError(
            f"its options are of kind {operator.options_kind} of the schema, wants {_OPTIONS[operator.type]}", code="MODEL"
        )
    return operator.options_table


def _initial(model: TfliteModel, operator: TfliteOperator) -> Mapping[str, TfliteTensor]:
    """Returns the constants that the graph that runs once assigns."""
    table = _options(operator)
    number = 0 if table is None else table.value(_ONCE_SUBGRAPH)
    if not 0 <= number < len(model.subgraphs):
        raise AidgeError(f"it names subgraph {number}, there are {len(model.subgraphs)}", code="MODEL_FILE")
    graph = model.subgraphs[number]
    handles: dict[int, str] = {}
    found: dict[str, TfliteTensor] = {}
    for one in graph.operators:
        if one.type == HANDLE:
            handles |= _handle(one)
            continue
        known = one.type == ASSIGN and len(one.inputs) == 2 and one.inputs[0] in handles and one.inputs[1] >= 0
        value = graph.tensors[one.inputs[1]] if known else None
        if value is None or value.raw is None:
            raise AidgeError(
                f"the graph that it calls holds {one.where()}: only constants can be a variable's first value",
                code="OPERATOR",
                hint=_HINT,
            )
        found[handles[one.inputs[0]]] = value
    return found
