# SPDX-License-Identifier: MIT
"""The operators of a graph of the file, one after the other, become nodes of the draft; graphs that they call do, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from aidge_build.base.errors import AidgeError, located
from aidge_build.sources.draft import Draft
from aidge_build.sources.formats.tflite.dilation import Spread, spread_convolutions
from aidge_build.sources.formats.tflite.file import TfliteModel, TfliteOperator, TfliteSubgraph
from aidge_build.sources.formats.tflite.lists import LIST, LISTS, Rows, follow, is_list
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Order, Orders, file_order
from aidge_build.sources.formats.tflite.registry import pieces
from aidge_build.sources.formats.tflite.values import Value, in_file, refused_type

DEEPEST = 8  # calls of graphs in each other
MOST_CALLED = 12_000  # operators of all graphs that are called, each time that they are


class Adding:
    """Adds operators to a draft. `rounding` is the numerical contract; `renewed` gets the next values of variables."""

    def __init__(
        self,
        model: TfliteModel,
        draft: Draft,
        rounding: str,
        renewed: dict[int, tuple[str, Order]] | None = None,
        caller: Adding | None = None,
    ):
        self.model, self.draft, self.rounding = model, draft, rounding
        self._renewed = {} if renewed is None else renewed
        self._whole: Adding = caller._whole if caller else self
        self._depth: int = caller._depth + 1 if caller else 0
        self.rows: dict[int, Rows] = {}  # lists that get one row in each step of a loop
        self._called = 0  # operators of graphs that were called, all of them together

    def add(
        self,
        operators: Iterable[TfliteOperator],
        tensors: Mapping[int, Value],
        values: dict[int, Value],
        spreads: Mapping[int, Spread],
    ) -> None:
        """Adds operators on `values`, and their results to `values`; `tensors` are the tensors that the file declares. An
        operator that only moves rows of lists needs no node."""
        rows = self.rows
        for operator in operators:
            with located(operator.where()):
                if follow(operator, tensors, values, rows, self.draft):
                    continue
                for index in sorted({*operator.inputs} & {*rows} & {*tensors}):
                    values[index] = rows[index].whole(self.draft, tensors[index])
                outputs = [index for index in operator.outputs if index in tensors]
                for index in outputs:
                    values[index] = replace(tensors[index], data=None)
                TfliteNode(
                    operator,
                    pieces()[operator.type],
                    values,
                    self.draft,
                    spreads.get(operator.index),
                    self.rounding,
                    self._renewed,
                    self,
                ).add()
                for index in outputs:
                    values[index] = self._checked(values[index])

    def run(self, graph: TfliteSubgraph, arguments: Sequence[Value | Rows], label: str) -> list[Value | Rows]:
        """Adds the operators of a graph with these arguments; returns its outputs. Names of tensors begin with `label`."""
        self._whole._called += len(graph.operators)
        self._refuse(graph, arguments)
        computed = {index for operator in graph.operators for index in operator.outputs}

        def stated(index: int) -> Value:
            return in_file(graph.tensors[index], graph.tensors[index].raw is None or index in computed)

        operators, spreads = spread_convolutions(graph.operators, graph.outputs, stated)
        tensors = self._tensors(graph, operators, stated, label)
        values = {index: value for index, value in tensors.items() if value.is_constant}
        inner = Adding(self.model, self.draft, self.rounding, {}, self)
        for index, argument in zip(graph.inputs, arguments, strict=True):
            if isinstance(argument, Rows):
                inner.rows[index] = argument
            else:
                values[index] = replace(argument, index=index)
        inner.add(operators, tensors, values, spreads)
        return [inner.rows.get(index) or values.get(index) or stated(index) for index in graph.outputs]

    def _tensors(
        self, graph: TfliteSubgraph, operators: Iterable[TfliteOperator], stated: Callable[[int], Value], label: str
    ) -> dict[int, Value]:
        """Returns the file's tensors that operators touch, under names of the draft."""
        orders = _orders(graph, operators, stated)
        touched = {index for one in operators for index in (*one.inputs, *one.outputs) if index >= 0}
        return {
            index: replace(stated(index), name=self.draft.free_name(f"{label}/{graph.tensors[index].name}"), order=orders[index])
            for index in sorted(touched)
            if graph.tensors[index].type != LIST
        }

    def graph(self, number: int) -> TfliteSubgraph:
        """The graph of this number."""
        if not 0 <= number < len(self.model.subgraphs):
            raise AidgeError(f"it names subgraph {number}, there are {len(self.model.subgraphs)}", code="MODEL_FILE")
        return self.model.subgraphs[number]

    def _refuse(self, graph: TfliteSubgraph, arguments: Sequence[Value | Rows]) -> None:
        if self._depth == DEEPEST:
            raise AidgeError(f"graphs call each other more than {DEEPEST} deep", code="MODEL")
        if self._whole._called > MOST_CALLED:
            raise too_long(f"more than {MOST_CALLED:,} operators of graphs within the graph would be written out")
        if len(arguments) != len(graph.inputs):
            raise AidgeError(f"{len(arguments)} arguments for a graph with {len(graph.inputs)} inputs", code="MODEL")
        known = pieces()
        for operator in graph.operators:
            with located(operator.where()):
                if operator.type not in known and operator.type not in LISTS:
                    raise AidgeError(f"operator {operator.type} is not supported", code="OPERATOR")
                for index in {*operator.inputs, *operator.outputs} - {-1}:
                    tensor = graph.tensors[index]
                    reason = refused_type(tensor, tensor.raw is None) or ("it has a variable" if tensor.is_variable else "")
                    if reason and not is_list(tensor, operator):
                        raise AidgeError(f"{reason}, which is not supported inside of a loop", code="OPERATOR")

    def _checked(self, value: Value) -> Value:
        """Raises AidgeError if the added tensor differs from the file's declaration; a constant result is known from now on."""
        tensor = self.draft.tensors[value.name]
        same_rank = tensor.rank == value.rank
        dims = [tensor.dims[value.order.index(axis)] for axis in range(tensor.rank)] if same_rank else list(tensor.dims)
        fits = same_rank and all(
            made == size or axis in value.open_dims for axis, (made, size) in enumerate(zip(dims, value.dims))
        )
        if not fits or tensor.dtype is not value.dtype:
            raise AidgeError(
                f"its output '{value.name}' is declared {value}, but is {tensor.dtype.name}{dims}",
                code="GRAPH",
                hint="the file contradicts itself; convert the model again",
            )
        data = (
            None if tensor.data is None else tensor.data.transpose([value.order.index(axis) for axis in file_order(value.rank)])
        )
        return replace(value, dims=tuple(dims), data=data)


def _orders(graph: TfliteSubgraph, operators: Iterable[TfliteOperator], stated: Callable[[int], Value]) -> list[Order]:
    """The order of axes of each tensor of a graph that is called."""
    orders = Orders([len(tensor.dims) for tensor in graph.tensors])
    for operator in operators:
        if operator.type not in LISTS:
            touched = [index for index in {*operator.inputs, *operator.outputs} - {-1} if graph.tensors[index].type != LIST]
            orders.add(pieces()[operator.type].wants, [index for index in touched if not stated(index).is_constant])
    return orders.solved()


def too_long(message: str) -> AidgeError:
    """A loop with too many steps."""
    return AidgeError(message, code="MODEL", hint="export the model for fewer steps, and call it more often")
