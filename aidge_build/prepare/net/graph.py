# SPDX-License-Identifier: MIT
"""A graph under construction: it grows node by node, and every shape is known as soon as its node is added.

If an input has dims that are not known yet (a name, or None), the shapes of the nodes after it are inferred when `bind` gives the
sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from aidge_build.base.errors import AidgeError, located
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node, graph_view
from aidge_build.operators import builtin_operators
from aidge_build.operators.base import Operator
from aidge_build.sources.dims import check_elements
from aidge_build.sources.formats.onnx.node import OnnxNode
from aidge_build.sources.onnx_format import ModelNode, OnnxModel, ValueInfo, check_node, ir_version_of, write_model

MAX_OUTPUTS = 10_000  # of one node
OPSET = 21  # of the default domain, unless the graph says otherwise


@dataclass(frozen=True)
class Value:
    """A tensor of a graph under construction."""

    graph: Graph
    name: str

    @property
    def tensor(self) -> Tensor:
        """Type, dims and quantization."""
        return self.graph.tensor(self.name)

    @property
    def is_open(self) -> bool:
        """Whether its dims are not known yet."""
        return self.graph.is_open(self.name)

    @property
    def dims(self) -> tuple[int, ...]:
        """The dims."""
        return self.tensor.dims

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.tensor.dtype

    def __repr__(self) -> str:
        return f"{self.name}: {'dims not known yet' if self.is_open else self.tensor}"


@dataclass(frozen=True)
class OpenInput:
    """An input with unknown dims: sizes, names of sizes, and None; `dims` is None if not even their number is known."""

    dims: tuple[int | str | None, ...] | None
    dtype: DType

    def bound(self, name: str, sizes: Mapping[str, int | Sequence[int]]) -> tuple[int | str | None, ...] | None:
        """Returns the dims with the given sizes, for the whole input or for names of dims."""
        given = sizes.get(name)
        if given is not None and not isinstance(given, int):
            dims = _checked_dims(name, given)
            fits = (
                self.dims is None
                or len(dims) == len(self.dims)
                and all(not isinstance(size, int) or size == other for size, other in zip(self.dims, dims))
            )
            if not fits:
                raise AidgeError(f"the input '{name}' has the dims {self}, not {list(dims)}", where="bind", code="GRAPH")
            return tuple(dims)
        if self.dims is None:
            return None
        bound: list[Any] = [sizes.get(size, size) if isinstance(size, str) else size for size in self.dims]
        wrong = [size for size in bound if isinstance(size, Sequence) and not isinstance(size, str)]
        if wrong:
            raise AidgeError(f"a dim is a number, not {wrong[0]!r}", where="bind", code="GRAPH")
        return tuple(bound)

    def __str__(self) -> str:
        return "of unknown rank" if self.dims is None else f"[{', '.join(str(size) if size else '?' for size in self.dims)}]"


class Graph:
    """A graph under construction. `operators` are operators of libraries, by ONNX name, in addition to the built-in ones."""

    def __init__(self, name: str = "net", opset: int = OPSET, operators: Mapping[str, type[Operator]] | None = None):
        self.name = name
        self.opset = opset
        self._operators = {**builtin_operators(), **(operators or {})}
        self._tensors: dict[str, Tensor] = {}
        self._sources: list[ModelNode] = []
        self._nodes: list[Node] = []
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        self._parameters: list[str] = []
        self._renamed: dict[str, str] = {}  # values that became outputs: what they are called now
        self._open: dict[str, OpenInput | None] = {}  # tensors without dims: inputs, and (None) what is computed from them

    def tensor(self, name: str) -> Tensor:
        """The tensor; AidgeError if its dims are not known yet."""
        name = self._renamed.get(name, name)
        if name in self._open:
            raise self._unbound(f"the dims of '{name}' are not known yet")
        return self._tensors[name]

    def is_open(self, name: str) -> bool:
        """Whether the tensor's dims are not known yet."""
        return self._renamed.get(name, name) in self._open

    def input(self, name: str, dims: Sequence[int | str | None] | None, dtype: DType = DType.float32) -> Value:
        """Adds an input of the model. An unknown size is a name or None; None instead of dims leaves all open."""
        wanted = None if dims is None else tuple(_checked_size(name, size) for size in _checked_dims(name, dims))
        known = tuple(size for size in wanted or () if isinstance(size, int))
        if wanted is not None and len(known) == len(wanted):
            value = self._add(Tensor(name, known, dtype))
        else:
            value = self._add_open(name, OpenInput(wanted, dtype))
        self._inputs.append(name)
        return value

    def bind(self, sizes: Mapping[str, int | Sequence[int]]) -> Graph:
        """Returns the graph with sizes for names of dims ({"N": 4}) or for whole inputs ({"x": (1, 3, 8, 8)}), and infers shapes.
        Dims without a size stay open. AidgeError if a name does not exist, or if a node does not fit.
        """
        sizes = {name: int(size) if isinstance(size, numpy.integer) else size for name, size in sizes.items()}
        self._require_open(sizes)
        made = Graph(self.name, self.opset, self._operators)
        made._tensors = {name: tensor for name, tensor in self._tensors.items() if tensor.is_constant}
        made._parameters = self._parameters.copy()
        for name in self._inputs:
            entry = self._open.get(name)
            if entry is None:
                made.input(name, self._tensors[name].dims, self._tensors[name].dtype)
            else:
                made.input(name, entry.bound(name, sizes), entry.dtype)
        for source in self._sources:
            with located(source.where()):
                made._append(source)
        made._outputs, made._renamed = self._outputs.copy(), self._renamed.copy()
        return made

    def _require_open(self, names: Iterable[str]) -> None:
        """Raises AidgeError if one of the names is no dim and no input without sizes."""
        entries = {name: entry for name, entry in self._open.items() if entry is not None}
        known = {size for entry in entries.values() for size in entry.dims or () if isinstance(size, str)} | entries.keys()
        unknown = sorted(set(names) - known)
        if unknown:
            raise AidgeError(
                f"no dim and no open input is called '{unknown[0]}'", where="bind", code="GRAPH", tried=sorted(known)
            )

    def parameter(self, name: str, values: numpy.ndarray) -> Value:
        """Adds a constant that training changes; float64 becomes float32, which the model computes in."""
        values = numpy.asarray(values)
        self._parameters.append(name)
        return self._add(constant(name, values.astype(numpy.float32) if values.dtype == numpy.float64 else values))

    def constant(self, values, name: str = "") -> Value:
        """Adds a constant that training does not change: an array, or numbers (integers become int64, others float32)."""
        if not isinstance(values, numpy.ndarray | numpy.generic):
            values = numpy.asarray(values)
            values = values.astype({"f": numpy.float32, "i": numpy.int64}.get(values.dtype.kind, values.dtype))
        return self._add(constant(name or self._free("constant"), numpy.asarray(values)))

    def output(self, value: Value, name: str = "") -> Value:
        """Makes the value an output of the model, under another name if one is given; the value may still be read."""
        value = self._require_own(value)
        if name and name != value.name and value.name in self._outputs:
            (value,) = self.node("Identity", [value], {}, name=name)
        elif name and name != value.name:
            self._rename(value.name, name)
            value = Value(self, name)
        self._outputs.append(value.name)
        return value

    def parameters(self) -> dict[str, numpy.ndarray]:
        """Returns a copy of the parameters' values, by name."""
        return {name: numpy.array(self._tensors[name].data) for name in self._parameters}

    def set_parameters(self, values: Mapping[str, numpy.ndarray]) -> None:
        """Gives parameters new values, for example from training; names that the graph does not have are ignored."""
        for name in self._parameters:
            if name in values:
                known, new = self._tensors[name], numpy.asarray(values[name])
                if new.shape != known.dims:
                    raise AidgeError(f"the parameter '{name}' has the dims {list(known.dims)}, not {list(new.shape)}")
                self._tensors[name] = constant(name, new.astype(known.dtype.numpy))

    def node(
        self, full_type: str, inputs: Sequence[Value | None], attributes: Mapping[str, Any], outputs: int = 1, name: str = ""
    ) -> tuple[Value, ...]:
        """Appends a node ("Conv", "my.domain::Twice"); AidgeError if its inputs or attributes do not fit."""
        if isinstance(outputs, bool) or not isinstance(outputs, int | numpy.integer) or not 1 <= outputs <= MAX_OUTPUTS:
            raise AidgeError(f"{full_type}: outputs is a number from 1 to {MAX_OUTPUTS:,}, not {outputs!r}", code="OPERATOR")
        domain, _, op_type = full_type.rpartition("::")
        reads = tuple("" if value is None else self._require_own(value).name for value in inputs)
        name = name or self._free(op_type)
        names = tuple(self._free(name if index == 0 else f"{name}_{index}") for index in range(outputs))
        source = ModelNode(
            len(self._sources),
            op_type,
            domain,
            name,
            _without_end(reads),
            names,
            {key: attributes[key] for key in sorted(attributes)},
        )
        with located(source.where()):
            return self._append(source)

    def _append(self, source: ModelNode) -> tuple[Value, ...]:
        if any(name in self._open for name in source.inputs):
            self._require_known(source)
            self._sources.append(source)
            return tuple(self._add_open(name, None) for name in source.outputs)
        self._require_known(source)
        opset = 1 if source.domain else self.opset
        check_node(source, opset, [self._tensors[read].dtype if read else None for read in source.inputs])
        made = self._operators[source.full_type].from_onnx(OnnxNode(source, opset, self._tensors))
        operator, reads = made if isinstance(made, tuple) else (made, source.inputs)
        reads = _without_end(tuple(reads))
        types = operator.infer([self._tensors[read] if read else None for read in reads])
        if len(types) < len(source.outputs):
            raise AidgeError(f"it has {len(types)} outputs, not {len(source.outputs)}", code="OPERATOR")
        wanted = len(source.outputs)
        names = (*source.outputs, *(self._free(f"{source.name}_unused_{index}") for index in range(wanted, len(types))))
        for output, found in zip(names, types):
            check_elements(f"its output '{output}'", found.dims)
        self._nodes.append(Node(source.name, operator, reads, names, (source.name,)))
        self._sources.append(source)
        return tuple(self._add(Tensor(output, found.dims, found.dtype)) for output, found in zip(names, types))[:wanted]

    def _require_known(self, source: ModelNode) -> None:
        if source.full_type not in self._operators:
            raise AidgeError(
                f"no operator is registered for {source.full_type}",
                code="OPERATOR",
                hint="'aidge-build list operators' lists them",
            )

    def copy(self, name: str = "") -> Graph:
        """Returns a copy of the graph, which can grow on its own; nodes and tensors are immutable and shared."""
        made = Graph(name or self.name, self.opset, self._operators)
        for part in ("_tensors", "_sources", "_nodes", "_inputs", "_outputs", "_parameters", "_renamed", "_open"):
            setattr(made, part, getattr(self, part).copy())
        return made

    def value(self, name: str) -> Value:
        """Returns a tensor of the graph, for example of a copy, by its name."""
        if name not in self._tensors and name not in self._open:
            raise AidgeError(f"the graph has no tensor '{name}'", code="GRAPH")
        return Value(self, name)

    def view(self) -> GraphView:
        """Returns the finished graph without nodes that no output needs. AidgeError if dims are not known yet."""
        self._require_bound()
        return graph_view(self.name, self._nodes, self._tensors, self._inputs, self._required_outputs())

    def onnx(self) -> bytes:
        """Returns the finished graph as an ONNX file. AidgeError if dims are not known yet."""
        self._require_bound()
        read = {name for node in self._sources for name in node.inputs}
        domains = {node.domain: 1 for node in self._sources if node.domain}
        values = {name: tensor.data for name, tensor in self._tensors.items() if tensor.data is not None and name in read}
        inputs, outputs = (tuple(map(self._declared, names)) for names in (self._inputs, self._required_outputs()))
        return write_model(
            OnnxModel(
                ir_version_of(self.opset), {**domains, "": self.opset}, self.name, tuple(self._sources), values, inputs, outputs
            )
        )

    def _declared(self, name: str) -> ValueInfo:
        tensor = self._tensors[name]
        return ValueInfo(name, tensor.dtype, tensor.dims)

    def _required_outputs(self) -> list[str]:
        if not self._outputs:
            raise AidgeError("the graph has no output", code="GRAPH", hint="graph.output(value)")
        return self._outputs

    def _require_own(self, value: Value) -> Value:
        if not isinstance(value, Value) or value.graph is not self:
            raise AidgeError(f"{value!r} is no value of this graph", code="GRAPH")
        return Value(self, self._renamed.get(value.name, value.name))

    def _require_bound(self) -> None:
        if self._open:
            raise self._unbound("the graph has dims that are not known yet")

    def _unbound(self, what: str) -> AidgeError:
        shown = ", ".join(f"'{name}' {entry}" for name, entry in self._open.items() if entry is not None)
        return AidgeError(f"{what}: input {shown}", code="GRAPH", hint='graph.bind({"N": 4}) gives a dim its size')

    def _add(self, tensor: Tensor) -> Value:
        self._require_free(tensor.name)
        self._tensors[tensor.name] = tensor
        return Value(self, tensor.name)

    def _add_open(self, name: str, entry: OpenInput | None) -> Value:
        self._require_free(name)
        self._open[name] = entry
        return Value(self, name)

    def _require_free(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise AidgeError("a tensor needs a name", code="GRAPH")
        if self._is_taken(name):
            raise AidgeError(f"the graph has a tensor '{name}' already", code="GRAPH")

    def _free(self, stem: str) -> str:
        """Returns a name that no tensor and no node has: the stem, or the stem and a number."""
        nodes = {node.name for node in self._sources}
        count, name = 1, stem
        while self._is_taken(name) or name in nodes:
            count += 1
            name = f"{stem}_{count}"
        return name

    def _is_taken(self, name: str) -> bool:
        return name in self._tensors or name in self._open or name in self._renamed

    def _rename(self, old: str, new: str) -> None:
        if old in self._inputs or old in self._tensors and self._tensors[old].is_constant:
            raise AidgeError(f"'{old}' is an input or a constant and keeps its name", code="GRAPH")
        if old in self._open:
            self._add_open(new, self._open[old])
            del self._open[old]
        else:
            self._add(self._tensors[old].with_(name=new))
            del self._tensors[old]
        self._renamed[old] = new

        def renamed(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(new if name == old else name for name in names)

        self._nodes = [node.with_(inputs=renamed(node.inputs), outputs=renamed(node.outputs)) for node in self._nodes]
        self._sources = [
            ModelNode(
                node.index, node.op_type, node.domain, node.name, renamed(node.inputs), renamed(node.outputs), node.attributes
            )
            for node in self._sources
        ]


def _checked_dims(name: str, dims: object) -> Sequence:
    if not isinstance(dims, Sequence) or isinstance(dims, str):
        raise AidgeError(f"the dims of the input '{name}' are a list of sizes, not {dims!r}", code="GRAPH")
    return dims


def _checked_size(name: str, size: object) -> int | str | None:
    """Returns a size, the name of a size, or None."""
    if size is None or isinstance(size, str) and size:
        return size
    if isinstance(size, bool) or not isinstance(size, int | numpy.integer) or size < 0:
        raise AidgeError(
            f"a dim of the input '{name}' is {size!r}",
            code="GRAPH",
            hint="a size, or a name (or None) for one that is not known yet",
        )
    return int(size)


def _without_end(names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names without the empty ones at the end."""
    last = max((index for index, name in enumerate(names) if name), default=-1)
    return names[: last + 1]
