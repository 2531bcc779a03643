# SPDX-License-Identifier: MIT
"""A rewrite in progress: recipes take a GraphView, change a copy of its lists here, and hand out the next GraphView."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node, State, graph_view


class Rewrite:
    """The mutable draft of a graph. Positions of nodes are kept; `finish` sorts the nodes and drops unneeded nodes and
    tensors."""

    def __init__(self, view: GraphView):
        self.view = view
        self._renamed: dict[str, str] = {}
        self.outputs: tuple[str, ...] = view.outputs
        self.states: tuple[State, ...] = view.states
        self.changed = False

    # Made on first use: most recipes find nothing to do.

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name."""
        return dict(self.view.tensors)

    @cached_property
    def _nodes(self) -> dict[int, list[Node]]:
        """The nodes that replace each node, by its position."""
        return {index: [node] for index, node in enumerate(self.view.nodes)}

    @cached_property
    def _position(self) -> dict[int, int]:
        return {id(node): index for index, node in enumerate(self.view.nodes)}

    def add_tensor(self, tensor: Tensor) -> str:
        """Adds a tensor under a free name (with a suffix if needed); returns the name."""
        name, count = tensor.name, 1
        while name in self.tensors:
            count += 1
            name = f"{tensor.name}_{count}"
        self.tensors[name] = tensor if name == tensor.name else tensor.with_(name=name)
        return name

    def update_tensor(self, name: str, **changes) -> None:
        """Changes fields of an existing tensor."""
        self.put_tensor(self.tensors[name].with_(**changes))

    def put_tensor(self, tensor: Tensor) -> None:
        """Replaces the tensor of the same name."""
        self.tensors[tensor.name] = tensor
        self.changed = True

    def replace_node(self, old: Node, *new: Node) -> None:
        """Replaces a node of the original view by these nodes (or none)."""
        self._nodes[self._position[id(old)]] = list(new)
        self.changed = True

    def remove_node(self, old: Node) -> None:
        """Removes the node from the result."""
        self.replace_node(old)

    def append_node(self, node: Node) -> None:
        """Adds a node after all others."""
        self._nodes[len(self._nodes)] = [node]
        self.changed = True

    def redirect(self, old: str, new: str) -> None:
        """Makes every reader of tensor `old` read `new`. The caller keeps the names of graph outputs."""
        self._renamed[old] = new
        self.changed = True

    def _final(self, name: str) -> str:
        while name in self._renamed:
            name = self._renamed[name]
        return name

    def finish(self) -> GraphView:
        """Returns the next view; the old view itself if nothing was changed."""
        if not self.changed:
            return self.view
        if "_nodes" not in self.__dict__ and not self._renamed:  # only tensors were changed
            tensors = MappingProxyType({name: self.tensors[name] for name in self.view.tensors})
            return replace(self.view, tensors=tensors, outputs=self.outputs, states=self.states)
        nodes = [
            node.with_(inputs=tuple(map(self._final, node.inputs)))
            if any(name in self._renamed for name in node.inputs)
            else node
            for node in self._with_own_names()
        ]
        return graph_view(self.view.name, nodes, self.tensors, self.view.inputs, self.outputs, self.states)

    def _with_own_names(self) -> list[Node]:
        """Returns the nodes in order. Kernels are chosen by node name: a new node gets a suffix if another node has its name."""
        old = {index: node.name for index, node in enumerate(self.view.nodes)}
        taken = {old[index] for index in old if any(node.name == old[index] for node in self._nodes[index])}
        nodes, kept = [], set()
        for index in sorted(self._nodes):
            for node in self._nodes[index]:
                name, count = node.name, 1
                if name == old.get(index) and name not in kept:
                    kept.add(name)
                else:
                    while name in taken:
                        count += 1
                        name = f"{node.name}_{count}"
                    taken.add(name)
                nodes.append(node if name == node.name else node.with_(name=name))
        return nodes
