# SPDX-License-Identifier: MIT
"""Graphs as code of the inherited style asks them: `graph.get_nodes()`, `graph.get_ordered_inputs()`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from aidge_build.compat.handles import InheritedNode
from aidge_build.graph.view import GraphView, Node


class InheritedGraph(GraphView):
    """A graph with the inherited calls. `scheduler.graph_view` may be read or called."""

    @classmethod
    def seen_as(cls, view: GraphView) -> InheritedGraph:
        """The graph with the inherited calls."""
        return view if isinstance(view, cls) else cls(**{name: getattr(view, name) for name in view.__dataclass_fields__})

    def __call__(self) -> InheritedGraph:
        return self

    def get_nodes(self) -> list[InheritedNode]:
        """All nodes, in order. Constants are tensors here: no node is a Producer."""
        return [InheritedNode(node, self) for node in self.nodes]

    get_ordered_nodes = get_nodes

    def get_ordered_inputs(self) -> list[tuple[InheritedNode, int]]:
        """A node and the number of its input for each place where an input of the graph is read."""
        return [
            (node, index)
            for name in self.inputs
            for node in self.get_nodes()
            for index, read in enumerate(node.inputs)
            if read == name
        ]

    def get_ordered_outputs(self) -> list[tuple[InheritedNode, int]]:
        """The node that computes each output of the graph, and the number of its output."""
        made = [(name, self.producer(name)) for name in self.outputs]
        return [(InheritedNode(node, self), node.outputs.index(name)) for name, node in made if node is not None]

    def get_input_nodes(self) -> list[InheritedNode]:
        """The nodes that read an input of the graph."""
        return list(dict.fromkeys(node for node, _ in self.get_ordered_inputs()))

    def get_output_nodes(self) -> list[InheritedNode]:
        """The nodes that compute an output of the graph."""
        return list(dict.fromkeys(node for node, _ in self.get_ordered_outputs()))


def nodes_in(graph: GraphView, nodes: Iterable[Node]) -> tuple[Node, ...]:
    """These nodes of the graph with the inherited calls."""
    return cast(tuple[Node, ...], tuple(InheritedNode(node, graph) for node in nodes))
