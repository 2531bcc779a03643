# SPDX-License-Identifier: MIT
"""One import of an ONNX model: its nodes, and the nodes of its sub-graphs, functions and expansions, become nodes of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count

from aidge_build.base.errors import AidgeError, located
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node, graph_view
from aidge_build.operators.base import Operator, TensorType
from aidge_build.operators.cast import Cast
from aidge_build.operators.view import Identity
from aidge_build.sources.dims import Bound, check_elements
from aidge_build.sources.folding import Folding, strange_numbers
from aidge_build.sources.formats.onnx.binding import Binding
from aidge_build.sources.formats.onnx.expansion import Draft, Value, expansions
from aidge_build.sources.formats.onnx.frame import Frame, Names
from aidge_build.sources.formats.onnx.narrow import (
    MICROSOFT,
    clamped,
    is_blocked,
    packed_product,
    saturates_narrowly,
    stays_narrow,
)
from aidge_build.sources.formats.onnx.node import NotConstant, OnnxNode
from aidge_build.sources.formats.onnx.old_opset import NEW, OLD, modern
from aidge_build.sources.formats.onnx.order import check_output, in_order, trimmed, unique_names
from aidge_build.sources.formats.onnx.state_nodes import StateNodes
from aidge_build.sources.formats.onnx.vocabulary import LISTED, Vocabulary
from aidge_build.sources.onnx_format import (
    Function,
    ModelNode,
    OnnxModel,
    SubGraph,
    body_of,
    check_node,
    has_schema,
)
from aidge_build.sources.wanted_states import WantedStates

MOST_WRITTEN = 20_000  # nodes that loops, functions and expansions may become
MOST_BOUND = 64  # elements of an input that may get a value from --bind


@dataclass(frozen=True, eq=False)
class Imported:
    """A graph, and the parts of the file that it was made from: for code that writes a file again.

    `sources` are the file's nodes by the names of the graph's; `tensors` is all that is known, also constants that became
    attributes. `states` maps outputs of the view to the inputs of the next inference.
    """

    view: GraphView
    notices: tuple[str, ...]
    model: OnnxModel
    sources: Mapping[str, ModelNode]
    tensors: Mapping[str, Tensor]
    states: Mapping[str, str] = field(default_factory=dict)


class Construction:
    """One import in progress: the tensors that are known so far, and the nodes that stay.

    Nodes of sub-graphs, functions and expansions are imported like the file's nodes, each when everything that it reads is known.
    """

    def __init__(
        self,
        model: OnnxModel,
        name: str,
        operators: Mapping[str, type[Operator]],
        bind: Mapping[str, Bound],
        states: WantedStates = WantedStates(),
    ):
        self._model = model
        self._name = name
        self._operators = operators
        self._vocabulary = Vocabulary(model, operators)
        self._binding = Binding(bind, [value for value in model.inputs if value.name not in model.initializers])
        self.tensors: dict[str, Tensor] = {}
        self.values: dict[str, Value] = {}
        self.shared: dict[tuple[object, ...], object] = {}
        self._nodes: list[Node] = []
        self._sources: dict[str, ModelNode] = {}
        self._folding = Folding()
        self._declared = {value.name: value.dims for value in model.outputs}
        self._read = {value.name for value in model.outputs}.union(*(node.reads for node in model.nodes))
        self._whole = Frame(model.opsets)
        self._names = Names(name for node in model.nodes for name in (*node.inputs, *node.outputs))
        self._node_names = Names(node.name for node in model.nodes)
        self._written = len(model.nodes)  # nodes so far
        self._narrow = dict(model.narrow)
        self._blocked: dict[str, ModelNode] = {}  # what dequantizes a tensor block by block
        self._states = states

    @property
    def assumed(self) -> tuple[str, ...]:
        """The open first axes of inputs that became 1."""
        return self._binding.assumed

    def imported(self) -> Imported:
        """Returns the graph, and the parts of the file that it was made from."""
        self._vocabulary.refuse_unknown(self._model.nodes, self._whole)
        self._refuse_two_producers()
        inputs = self._add_inputs()
        for name, values in self._model.initializers.items():
            self.tensors[name] = constant(name, values)
        names = unique_names(self._model.nodes)
        for name in names:
            self._node_names.take(name)
        added = StateNodes(self, self._states.pairs)
        added.count(self._states.counted, {name: self.tensors[name] for name in inputs}, self._caches_grow())
        with self._telling_what_to_bind():
            for node in in_order(self._model.nodes, names):
                with located(node.where), self._vocabulary.around(node):
                    self._import(node, self._whole, names[node.index], node.name or names[node.index])
        self._check_outputs()
        return self._with_states(added, inputs)

    def _with_states(self, added: StateNodes, inputs: list[str]) -> Imported:
        kept = added.kept_rows(self._writer)
        states = {kept.get(output, output): source for output, source in self._states.pairs.items()} | added.counters
        inputs = [name for name in inputs if name not in self._states.counted] + list(added.counters.values())
        outputs = [kept.get(value.name, value.name) for value in self._model.outputs] + list(added.counters)
        view = graph_view(self._name, self._nodes, self.tensors, inputs, outputs)
        notices = (*self._binding.notices(), *strange_numbers(view))
        return Imported(view, notices, self._model, self._sources, self.tensors, states)

    def _caches_grow(self) -> bool:
        """Whether the file declares other dims for the next value of a state than for the state."""
        dims = {value.name: value.dims for value in (*self._model.inputs, *self._model.outputs)}
        return any(dims.get(output) != dims.get(source) for output, source in self._states.pairs.items())

    def _writer(self, name: str) -> Node | None:
        """Returns the node that computes a tensor, behind nodes that only rename it."""
        producer = {output: node for node in self._nodes for output in node.outputs}
        node = producer.get(name)
        while node is not None and isinstance(node.operator, Identity | Cast):
            if self.tensors[node.input].dtype is not self.tensors[name].dtype:
                break
            node = producer.get(node.input)
        return node

    @contextmanager
    def _telling_what_to_bind(self) -> Iterator[None]:
        """Adds the hint to bind the value of a small input, if a tensor that must be constant is computed from it."""
        try:
            yield
        except NotConstant as error:
            small = [one.name for one in self.inputs_behind(error.tensor) if one.elements <= MOST_BOUND]
            if small:
                values = " ".join(f"--bind {name}=VALUE" for name in small)
                error.hint = f"if the input never changes, give it its value: {values}"
            raise

    def _refuse_two_producers(self) -> None:
        given = {value.name: f"graph input '{value.name}'" for value in self._model.inputs}
        given.update({name: f"initialiser '{name}'" for name in self._model.initializers})
        producer: dict[str, ModelNode] = {}
        for node in self._model.nodes:
            for name in filter(None, node.outputs):
                if name in producer or name in given:
                    first = given[name] if name in given else producer[name].where()
                    raise AidgeError(f"tensor '{name}' is produced twice: by {first} and by {node.where()}", code="GRAPH")
                producer[name] = node

    def _add_inputs(self) -> list[str]:
        """Returns the inputs of the signature, without inputs that have an initialiser (in IR version 3) or a bound value."""
        values = [value for value in self._model.inputs if value.name not in self._model.initializers]
        self._binding.refuse_open(values)
        for value in values:
            self.tensors[value.name] = self._binding.tensor(value).with_(names=value.names)
        return [value.name for value in values if not self.tensors[value.name].is_constant]

    def add(self, node: ModelNode, origin: str) -> None:
        """Imports a node that an expansion writes; its names are names of the whole graph."""
        self._read.update(filter(None, node.outputs))
        self._vocabulary.refuse_unknown([node], self._whole)
        with located(node.where), self._vocabulary.around(node):
            self._import(node, self._whole, self._node_names.free(node.name), origin)

    def name(self, wanted: str) -> str:
        """A name that no tensor has."""
        return self._names.free(wanted)

    def number(self) -> int:
        """The number of the next node that the file does not hold."""
        self._written += 1
        if self._written - len(self._model.nodes) > MOST_WRITTEN:
            raise AidgeError(
                f"more than {MOST_WRITTEN:,} nodes come from loops and functions",
                code="MODEL",
                hint="export it with shorter inputs",
            )
        return self._written - 1

    def run(
        self, frame: Frame, graph: SubGraph, arguments: Sequence[str], prefix: str, shared: dict[str, str], origin: str
    ) -> tuple[str, ...]:
        """Imports a sub-graph with these tensors as its inputs; returns the names of its outputs. `shared` are its constants."""
        if len(arguments) != len(graph.inputs):
            raise AidgeError(f"a sub-graph has {len(graph.inputs)} inputs, wants {len(arguments)}", code="GRAPH")
        inner = frame.within(frame.opsets, frame, attributes=frame.attributes, prefix=f"{prefix}/")
        assert inner.names is not None
        for name, values in graph.initializers.items():
            if name not in shared:
                shared[name] = self.name(f"{prefix}/{name}")
                self.tensors[shared[name]] = constant(shared[name], values)
        inner.names |= {**shared, **dict(zip(graph.inputs, arguments))}
        self._import_all(graph.nodes, graph.outputs, inner, shared, origin)
        return tuple(map(inner.outside, graph.outputs))

    def _call(self, function: Function, node: ModelNode, frame: Frame, origin: str) -> tuple[str, ...]:
        """Imports the nodes of a function in place of the node that calls it; returns the names of its outputs."""
        if len(node.inputs) > len(function.inputs) or len(node.outputs) > len(function.outputs):
            raise AidgeError(
                f"the function {function.full_type} has {len(function.inputs)} inputs and {len(function.outputs)} outputs"
            )
        prefix = node.name or f"{node.op_type}_{node.index}"
        attributes = {**function.defaults, **node.attributes}
        inner = frame.within({**frame.opsets, **function.opsets}, None, attributes=attributes, prefix=f"{prefix}/")
        assert inner.names is not None
        inner.names |= dict(zip(function.inputs, (*node.inputs, *("",) * (len(function.inputs) - len(node.inputs)))))
        self._import_all(function.nodes, function.outputs, inner, {}, origin)
        return tuple(inner.outside(output) if wanted else "" for output, wanted in zip(function.outputs, node.outputs))

    def _import_all(
        self, nodes: tuple[ModelNode, ...], outputs: Iterable[str], frame: Frame, shared: dict[str, str], origin: str
    ) -> None:
        self._vocabulary.refuse_unknown(nodes, frame)
        wanted = {name for node in nodes for name in node.reads}.union(outputs)

        def name_of(name: str) -> str:
            made = self.name(f"{frame.prefix}{name}")
            self._read |= {made} if name in wanted else set()
            return made

        for node in in_order(tuple(map(_numbered, nodes, count())), unique_names(nodes)):
            if node.op_type == "Constant" and node.outputs and node.outputs[0] in shared:
                continue
            with located(node.where), self._vocabulary.around(node):
                resolved = _numbered(frame.resolved(node, name_of), self.number())
                self._import(resolved, frame, self._node_names.free(resolved.name), origin)
            if node.op_type == "Constant" and not node.domain:
                shared.update(zip(node.outputs, resolved.outputs))

    def _import(self, node: ModelNode, frame: Frame, name: str, origin: str) -> None:
        for read in filter(None, node.inputs):
            if read not in self.tensors and read not in self.values:
                raise AidgeError(f"nothing produces its input '{read}'", code="GRAPH")
        node = self._narrowed(node, origin)
        node = frame.resolved(node, str) if frame.is_whole else node
        found = self._expanded(node, frame, origin)
        if found is None:
            self._add_node(node, frame, name, origin)
            return
        for output, result in zip(node.outputs, found):
            if output and result in self.values:
                self.values[output] = self.values[result]
            elif output and result:
                number = self.number()
                self.add(ModelNode(number, "Identity", "", f"{name}_{number}", (result,), (output,), {}, 13), origin)

    def _narrowed(self, node: ModelNode, origin: str) -> ModelNode:
        """Returns the node; a quantizer to 2 or 4 bits reads clamped values, a product leaves its weights packed."""
        if not self._narrow:
            return node
        if is_blocked(node, self._narrow):
            self._blocked[node.outputs[0]] = node
        is_product = node.full_type in ("MatMul", "Gemm") and len(node.inputs) > 1
        writer = self._blocked.get(node.inputs[1]) if is_product else None
        if writer is not None and f"{MICROSOFT}::MatMulNBits" in self._operators:
            draft = Draft(self, self._whole, OnnxNode(writer, 21, self.tensors), origin)
            return packed_product(node, writer, draft, self._narrow[writer.inputs[0]]) or node
        if not stays_narrow(node, self._narrow):
            return node
        limits = self._narrow[next(name for name in node.inputs if name in self._narrow)]
        self._narrow |= dict.fromkeys(node.outputs, limits)
        if not saturates_narrowly(node, self._narrow):
            return node
        draft = Draft(self, self._whole, OnnxNode(node, 13, self.tensors), origin)
        return replace(node, inputs=(clamped(draft, limits), *node.inputs[1:]))

    def _expanded(self, node: ModelNode, frame: Frame, origin: str) -> Sequence[str] | None:
        """Returns the names of the node's outputs if other nodes replace it; None if it is an operator."""
        function = self._model.functions.get((node.full_type, node.overload))
        if self._vocabulary.is_plugged_in(node) or (function is None and node.full_type in self._operators):
            return None
        if function is not None:
            return self._call(function, node, frame, origin)
        opset = self._vocabulary.opset_of(node, frame)
        if node.full_type not in expansions() or has_schema(node.full_type, opset):
            check_node(node, opset, self._types(node))
        if node.full_type in expansions():
            source = OnnxNode(node, opset, self.tensors, self._read, self._declared)
            return expansions()[node.full_type](Draft(self, frame, source, origin))
        body = body_of(node, opset, [self.tensors[read] if read else None for read in node.inputs])
        if body is None:
            raise AidgeError(f"unsupported form of the operator {node.full_type}", code="OPERATOR", hint=LISTED)
        return self._call(body, node, frame, origin)

    def inputs_behind(self, name: str) -> tuple[Tensor, ...]:
        """The graph inputs from which a tensor is computed, in order."""
        producer = {output: node for node in self._nodes for output in node.outputs}
        waiting, seen = [name], {name}
        while waiting:
            node = producer.get(waiting.pop())
            more = {read for read in node.inputs if read} - seen if node is not None else set()
            seen |= more
            waiting += sorted(more)
        given = (value.name for value in self._model.inputs if value.name in seen)
        return tuple(self.tensors[one] for one in given if not self.tensors[one].is_constant)

    def _types(self, node: ModelNode) -> list[DType | None]:
        return [self.tensors[read].dtype if read in self.tensors else None for read in node.inputs]

    def _add_node(self, node: ModelNode, frame: Frame, name: str, origin: str) -> None:
        for read in filter(None, node.inputs):
            if read in self.values:
                raise AidgeError(f"its input '{read}' is a sequence or an optional value, wants a tensor", code="OPERATOR")
        opset = self._vocabulary.opset_of(node, frame)
        check_node(node, opset, self._types(node))
        if opset <= OLD and not node.domain:
            node, made = modern(node, self.tensors)
            opset = NEW
            self.tensors |= {} if made is None else {made.name: made}
        node = self._with_features(node, name, origin)
        found = self._operators[node.full_type].from_onnx(OnnxNode(node, opset, self.tensors, self._read, self._declared))
        operator, reads = found if isinstance(found, tuple) else (found, trimmed(node.inputs))
        inputs = [self.tensors[read] if read else None for read in reads]
        results = operator.infer(inputs)
        outputs = self._outputs(node, len(results))
        if operator.folds and all(tensor is None or tensor.is_constant for tensor in inputs):
            self._fold(operator, inputs, outputs, results)
        else:
            self._keep(Node(name, operator, tuple(reads), outputs, (origin,)), results)
            self._sources[name] = node if frame.opsets is self._model.opsets else replace(node, opset=opset)

    def _with_features(self, node: ModelNode, name: str, origin: str) -> ModelNode:
        """Returns the node with its inputs cast to the type in which it computes."""
        wanted = self._operators[node.full_type].features
        if wanted is None:
            return node
        names = dict[str, str]()
        for read in dict.fromkeys(filter(None, node.inputs)):
            tensor, operator = self.tensors[read], Cast(wanted)
            if tensor.dtype is not wanted:
                names[read] = self.name(f"{read}_{wanted.name}")
                results = operator.infer([tensor])
                if tensor.is_constant:
                    self._fold(operator, [tensor], (names[read],), results)
                else:
                    self._keep(Node(f"{name}_{names[read]}", operator, (read,), (names[read],), (origin,)), results)
        return replace(node, inputs=tuple(names.get(read, read) for read in node.inputs))

    def _outputs(self, node: ModelNode, count: int) -> tuple[str, ...]:
        """The names of the outputs that the operator computes; an output that is not given gets a name of its own."""
        for index, output in enumerate(node.outputs[count:], count):
            if output and output in self._read:
                raise AidgeError(f"its output {index} ('{output}') is not supported", code="OPERATOR")
        given = (*node.outputs[:count], *("",) * (count - len(node.outputs)))
        return tuple(output or self.name(f"{node.op_type}_{node.index}_unused_{index}") for index, output in enumerate(given))

    def _fold(
        self, operator: Operator, inputs: list[Tensor | None], outputs: tuple[str, ...], results: Iterable[TensorType]
    ) -> None:
        types = [Tensor(output, result.dims, result.dtype) for output, result in zip(outputs, results)]
        for tensor in self._folding.values(operator, inputs, types):
            self.tensors[tensor.name] = tensor

    def _keep(self, node: Node, results: Iterable[TensorType]) -> None:
        for name in filter(None, node.inputs):
            if not self.tensors[name].is_constant:
                check_elements(f"its input '{name}'", self.tensors[name].dims, node.operator.empties)
        for output, result in zip(node.outputs, results):
            check_elements(f"its output '{output}'", result.dims, node.operator.empties)
            self.tensors[output] = Tensor(output, result.dims, result.dtype)
        self._nodes.append(node)

    def _check_outputs(self) -> None:
        if not self._model.outputs:
            raise AidgeError("the graph has no output", code="GRAPH")
        for value in self._model.outputs:
            if value.name in self.values:
                raise AidgeError(f"graph output '{value.name}' is a sequence or an optional value, only tensors are supported")
            if value.name not in self.tensors:
                raise AidgeError(f"nothing produces the graph output '{value.name}'", code="GRAPH")
            check_output(value, self.tensors[value.name])
            if value.names:
                self.tensors[value.name] = self.tensors[value.name].with_(names=value.names)


def _numbered(node: ModelNode, index: int) -> ModelNode:
    return node if node.index == index else replace(node, index=index)
