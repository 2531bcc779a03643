# SPDX-License-Identifier: MIT
"""ONNX to GraphView: names checked, nodes sorted, shapes known, constant parts evaluated."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from aidge_build.errors import AidgeError, located, plugged_in
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node, graph_view, topological
from aidge_build.importers import old_opset
from aidge_build.importers.dims import Binding, check_elements
from aidge_build.importers.folding import Folding, strange_numbers
from aidge_build.importers.onnx_node import OnnxNode
from aidge_build.importers.state import with_states
from aidge_build.onnx_format import ModelNode, OnnxModel, ValueInfo, check_node, read_model
from aidge_build.operators.base import Operator, TensorType
from aidge_build.operators.cast import Cast


def import_onnx(
    data: bytes,
    name: str,
    operators: Mapping[str, type[Operator]],
    bind: Mapping[str, int],
    external: Mapping[str, bytes],
    state: Mapping[str, str] | None = None,
) -> tuple[GraphView, tuple[str, ...]]:
    """The graph of a model file, and notices: decisions that the user should read, one line each.

    `name` names the file in messages, and the graph; `operators` maps ONNX names to classes; `bind` gives numbers to
    symbolic dims; `external` holds the external data (`onnx_format.read_external`); `state` names the outputs that are the next
    inference's inputs: an input that has an initialiser, too, begins with its value.
    """
    model = read_model(data, name, external)
    try:
        state = state or {}
        kept = {source: model.initializers[source] for source in state.values() if source in model.initializers}
        model = replace(model, initializers={key: data for key, data in model.initializers.items() if key not in kept})
        imported = _Import(model, name, operators, bind).imported()
        return with_states(imported.view, state, kept), imported.notices
    except AidgeError as error:
        raise error.within(name)


@dataclass(frozen=True, eq=False)
class Imported:
    """A graph, and what of the file it was made from: for who writes a file again.

    `sources` are the file's nodes by the names of the graph's; `tensors` is all that is known, also constants that became
    attributes.
    """

    view: GraphView
    notices: tuple[str, ...]
    model: OnnxModel
    sources: Mapping[str, ModelNode]
    tensors: Mapping[str, Tensor]


def import_with_sources(
    data: bytes, name: str, operators: Mapping[str, type[Operator]], bind: Mapping[str, int], external: Mapping[str, bytes]
) -> Imported:
    """As `import_onnx`, with the nodes of the file."""
    model = read_model(data, name, external)
    try:
        return _Import(model, name, operators, bind).imported()
    except AidgeError as error:
        raise error.within(name)


class _Import:
    """One import in progress: the tensors that are known so far, and the nodes that stay."""

    def __init__(self, model: OnnxModel, name: str, operators: Mapping[str, type[Operator]], bind: Mapping[str, int]):
        self._model = model
        self._name = name
        self._operators = operators
        self._binding = Binding(bind)
        self._tensors: dict[str, Tensor] = {}
        self._nodes: list[Node] = []
        self._folding = Folding()
        self._declared = {value.name: value.dims for value in model.outputs}
        self._read = {value.name for value in model.outputs}.union(*(node.inputs for node in model.nodes))

    def imported(self) -> Imported:
        self._refuse_unknown_operators()
        self._refuse_two_producers()
        inputs = self._add_inputs()
        for name, values in self._model.initializers.items():
            self._tensors[name] = constant(name, values)
        names = unique_names(self._model.nodes)
        for node in _sorted(self._model.nodes, names):
            with located(node.where()), self._around(node):
                self._add_node(node, names[node.index])
        self._check_outputs()
        view = graph_view(self._name, self._nodes, self._tensors, inputs, [value.name for value in self._model.outputs])
        notices = (*self._binding.notices(), *strange_numbers(view))
        return Imported(view, notices, self._model, {names[node.index]: node for node in self._model.nodes}, self._tensors)

    def _around(self, node: ModelNode) -> AbstractContextManager[None]:
        """What an operator of a library raises is its author's fault; what one of ours raises is ours."""
        own = self._operators[node.full_type].__module__.startswith(f"{Operator.__module__.partition('.')[0]}.")
        return nullcontext() if own else plugged_in(f"the operator {node.full_type}", code="OPERATOR")

    def _refuse_unknown_operators(self) -> None:
        unknown = [node for node in self._model.nodes if node.full_type not in self._operators]
        if not unknown:
            return
        where: dict[str, list[ModelNode]] = {}
        for node in unknown:
            where.setdefault(node.full_type, []).append(node)
        found = "; ".join(
            f"{kind} at {nodes[0].where()}" + (f" and {len(nodes) - 1} more" if len(nodes) > 1 else "")
            for kind, nodes in sorted(where.items())
        )
        near = sorted({match for kind in where for match in difflib.get_close_matches(kind, self._operators, n=2, cutoff=0.6)})
        hint = f"nearest supported: {', '.join(near)}" if near else "'aidge-build ops' lists the supported ones"
        kinds = f"unsupported operator{'s' if len(where) > 1 else ''} {', '.join(sorted(where))}"
        raise AidgeError(
            f"{kinds}: {found}",
            code="OPERATOR",
            hint=f"{hint}; a new operator is one file in a library of your own (--kernel-path DIR --lib NAME,...)",
        )

    def _refuse_two_producers(self) -> None:
        producer = {value.name: f"graph input '{value.name}'" for value in self._model.inputs}
        producer.update({name: f"initialiser '{name}'" for name in self._model.initializers})
        for node in self._model.nodes:
            for name in filter(None, node.outputs):
                if name in producer:
                    raise AidgeError(
                        f"tensor '{name}' is produced twice: by {producer[name]} and by {node.where()}", code="GRAPH"
                    )
                producer[name] = node.where()

    def _add_inputs(self) -> list[str]:
        """The inputs of the signature: those that no initialiser replaces (IR version 3 lists both)."""
        values = [value for value in self._model.inputs if value.name not in self._model.initializers]
        for value in values:
            self._tensors[value.name] = Tensor(value.name, self._binding.dims(value), value.dtype, names=value.names)
        return [value.name for value in values]

    def _add_node(self, node: ModelNode, name: str) -> None:
        for read in filter(None, node.inputs):
            if read not in self._tensors:
                raise AidgeError(f"nothing produces its input '{read}'", code="GRAPH")
        types = [self._tensors[read].dtype if read else None for read in node.inputs]
        opset = self._opset(node)
        check_node(node, opset, types)
        if opset <= old_opset.OLD and not node.domain:
            node, made = old_opset.modern(node, self._tensors)
            opset = old_opset.NEW
            self._tensors |= {} if made is None else {made.name: made}
        node = self._with_features(node, name)
        found = self._operators[node.full_type].from_onnx(OnnxNode(node, opset, self._tensors, self._read, self._declared))
        operator, reads = found if isinstance(found, tuple) else (found, _trimmed(node.inputs))
        inputs = [self._tensors[read] if read else None for read in reads]
        results = operator.infer(inputs)
        outputs = self._outputs(node, len(results))
        if operator.folds and all(tensor is None or tensor.is_constant for tensor in inputs):
            self._fold(operator, inputs, outputs, results)
        else:
            self._keep(Node(name, operator, tuple(reads), outputs, (node.name or name,)), results)

    def _with_features(self, node: ModelNode, name: str) -> ModelNode:
        """The node behind casts of what it reads to the type in which it computes."""
        wanted = self._operators[node.full_type].features
        if wanted is None:
            return node
        names = dict[str, str]()
        for read in dict.fromkeys(filter(None, node.inputs)):
            tensor, operator = self._tensors[read], Cast(wanted)
            if tensor.dtype is not wanted:
                names[read] = self._free_name(f"{read}_{wanted.name}")
                results = operator.infer([tensor])
                if tensor.is_constant:
                    self._fold(operator, [tensor], (names[read],), results)
                else:
                    self._keep(Node(f"{name}_{names[read]}", operator, (read,), (names[read],), (node.name or name,)), results)
        return replace(node, inputs=tuple(names.get(read, read) for read in node.inputs))

    def _opset(self, node: ModelNode) -> int:
        if node.opset is not None:
            return node.opset
        if node.domain not in self._model.opsets:
            raise AidgeError(f"the model imports no opset of the domain '{node.domain or 'ai.onnx'}'", code="VERSION")
        return self._model.opsets[node.domain]

    def _outputs(self, node: ModelNode, count: int) -> tuple[str, ...]:
        """The names of the outputs that the operator computes; an output that is not given gets a name of its own."""
        for index, output in enumerate(node.outputs[count:], count):
            if output and output in self._read:
                raise AidgeError(f"its output {index} ('{output}') is not supported", code="OPERATOR")
        given = (*node.outputs[:count], *("",) * (count - len(node.outputs)))
        return tuple(
            output or self._free_name(f"{node.op_type}_{node.index}_unused_{index}") for index, output in enumerate(given)
        )

    def _free_name(self, name: str) -> str:
        while name in self._tensors:
            name += "_"
        return name

    def _fold(
        self, operator: Operator, inputs: list[Tensor | None], outputs: tuple[str, ...], results: Iterable[TensorType]
    ) -> None:
        types = [Tensor(output, result.dims, result.dtype) for output, result in zip(outputs, results)]
        for tensor in self._folding.values(operator, inputs, types):
            self._tensors[tensor.name] = tensor

    def _keep(self, node: Node, results: Iterable[TensorType]) -> None:
        for name in filter(None, node.inputs):
            if not self._tensors[name].is_constant:
                check_elements(f"its input '{name}'", self._tensors[name].dims, node.operator.empties)
        for output, result in zip(node.outputs, results):
            check_elements(f"its output '{output}'", result.dims, node.operator.empties)
            self._tensors[output] = Tensor(output, result.dims, result.dtype)
        self._nodes.append(node)

    def _check_outputs(self) -> None:
        if not self._model.outputs:
            raise AidgeError("the graph has no output", code="GRAPH")
        for value in self._model.outputs:
            if value.name not in self._tensors:
                raise AidgeError(f"nothing produces the graph output '{value.name}'", code="GRAPH")
            _check_output(value, self._tensors[value.name])
            if value.names:
                self._tensors[value.name] = self._tensors[value.name].with_(names=value.names)


def _check_output(value: ValueInfo, tensor: Tensor) -> None:
    if value.dtype is not tensor.dtype:
        raise AidgeError(f"graph output '{value.name}' is declared {value.dtype.name}, but is {tensor.dtype.name}", code="GRAPH")
    fits = value.dims is None or (
        len(value.dims) == tensor.rank
        and all(not isinstance(declared, int) or declared == size for declared, size in zip(value.dims, tensor.dims))
    )
    if not fits:
        shown = ", ".join(str(dim) if dim is not None else "?" for dim in value.dims)
        raise AidgeError(
            f"graph output '{value.name}' is declared [{shown}], but has the dims {list(tensor.dims)}",
            code="GRAPH",
            hint="a batch that the file fixes in its outputs must be fixed in its inputs, too",
        )


def unique_names(nodes: Iterable[ModelNode]) -> list[str]:
    """A name for each node, by its index: the file's own where there is one, else operator type and index."""
    nodes = list(nodes)
    taken = {node.name for node in nodes}
    seen: set[str] = set()
    names = []
    for node in nodes:
        name = node.name
        if not name or name in seen:
            name = base = f"{node.name or node.op_type}_{node.index}"
            count = 1
            while name in taken or name in seen:
                count += 1
                name = f"{base}_{count}"
        seen.add(name)
        names.append(name)
    return names


def _sorted(nodes: tuple[ModelNode, ...], names: list[str]) -> list[ModelNode]:
    light = tuple(
        Node(names[node.index], node, tuple(filter(None, node.inputs)), tuple(filter(None, node.outputs))) for node in nodes
    )
    return [node.operator for node in topological(light)]


def _trimmed(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names without those at the end that are not given."""
    last = max((index for index, name in enumerate(names) if name), default=-1)
    return names[: last + 1]
