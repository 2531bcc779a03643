# SPDX-License-Identifier: MIT
"""A meta-operator: several nodes of a graph that one kernel computes at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from aidge_build.contract.node_view import NodeView, some_rows
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.pattern import Found
from aidge_build.graph.view import GraphView, Node, graph_view
from aidge_build.operators.base import Band, Operator, TensorType


@dataclass(frozen=True, eq=False)
class MetaOperator(Operator):
    """`graph` holds the covered nodes; its inputs and outputs are the meta-operator's inputs and outputs, in this order.

    `anchors` are the names that the pattern gives to covered nodes: (anchor, node's name).
    """

    composed = True

    name: str = ""
    graph: GraphView = field(default=None, repr=False)
    anchors: tuple[tuple[str, str], ...] = ()

    def __eq__(self, other: object) -> bool:
        """Compares the covered nodes, and not the contents of tensors, which may be arrays."""
        return isinstance(other, MetaOperator) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple:
        return self.name, self.anchors, self.graph.nodes

    @property
    def type(self) -> str:
        return self.name

    @property
    def heaviest(self) -> NodeView:
        """The covered node with the most multiply-accumulates."""
        return max((NodeView.of(self.graph, node) for node in self.graph.nodes), key=lambda seen: seen.multiply_accumulates)

    def infer(self, inputs):
        return tuple(TensorType(tensor.dims, tensor.dtype) for tensor in map(self.graph.tensor, self.graph.outputs))

    def forward(self, *inputs):
        return self.forward_quantized(inputs, (), ())

    def forward_quantized(self, values, inputs, outputs):
        """Computes each covered node on its own tensors, as the numpy backend does."""
        found = {name: tensor.data for name, tensor in self.graph.tensors.items() if tensor.is_constant}
        found |= {name: value for name, value in zip(self.graph.inputs, values) if value is not None}
        for node in self.graph.nodes:
            results = evaluate(
                node.operator,
                [found[name] if name else None for name in node.inputs],
                self.graph.input_tensors(node),
                self.graph.output_tensors(node),
            )
            found.update(zip(node.outputs, results))
        return tuple(found[name] for name in self.graph.outputs)

    def band(self, inputs, outputs, first, last):
        """Returns the band of a chain of nodes; None if a node has no bands or reads more than the chain and constants."""
        rows, nodes, tensors = (first, last), list(self.graph.nodes), dict(self.graph.tensors)
        data = [self.graph.inputs[0], *(node.output for node in nodes)]
        for place in reversed(range(len(nodes))):
            node = nodes[place]
            if [name for name in node.inputs if name and not self.graph.tensor(name).is_constant] != [data[place]]:
                return None
            band = node.operator.band(self.graph.input_tensors(node), self.graph.output_tensors(node), *rows)
            if (
                band is None
                or node.inputs[0] != data[place]
                or [read for read in band.reads if read is not None] != [band.reads[0]]
            ):
                return None
            tensors[data[place + 1]] = some_rows(self.graph.tensor(data[place + 1]), rows)
            nodes[place], rows = node.with_(operator=band.operator), band.reads[0]
        tensors[data[0]] = some_rows(self.graph.tensor(data[0]), rows)
        graph = graph_view(self.name, nodes, tensors, self.graph.inputs, self.graph.outputs)
        return Band(replace(self, graph=graph), (rows, *(None,) * (len(inputs) - 1)))

    def multiply_accumulates(self, inputs, outputs):
        return sum(
            node.operator.multiply_accumulates(self.graph.input_tensors(node), self.graph.output_tensors(node))
            for node in self.graph.nodes
        )

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(node.type for node in self.graph.nodes)}]"


def meta_node(view: GraphView, type_name: str, found: Found) -> Node:
    """Returns the node that replaces a fit of a pattern. It reads data in the order of the covered nodes, then constants."""
    inside = {output for node in found.nodes for output in node.outputs}
    read = dict.fromkeys(name for node in found.nodes for name in node.inputs if name and name not in inside)
    inputs = sorted(read, key=lambda name: view.tensor(name).is_constant)
    graph = graph_view(type_name, found.nodes, view.tensors, inputs, found.last.outputs)
    anchors = tuple(sorted((anchor, node.name) for anchor, node in found.anchors.items()))
    return Node(found.last.name, MetaOperator(type_name, graph, anchors), tuple(inputs), found.last.outputs, found.origin)
