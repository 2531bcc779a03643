# SPDX-License-Identifier: MIT
"""The graph of a model: nodes in topological order and tensors by name. Frozen; `Rewrite` makes the next one."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Node:
    """One operator at one place: `operator` is a frozen value that holds the typed attributes.

    `inputs` and `outputs` are tensor names ("" for an optional input that is not given); `origin` names the nodes of
    the model's file that this node computes.
    """

    name: str
    operator: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    origin: tuple[str, ...] = ()

    @cached_property
    def type(self) -> str:
        """The operator's type, under which kernels register; cached, as recipes read it from every node many times."""
        return self.operator.type

    @property
    def input(self) -> str:
        """The name of the first input: the data of most operators."""
        return self.inputs[0]

    @property
    def output(self) -> str:
        """The name of the first output, which every node has and most have alone."""
        return self.outputs[0]

    def other_input(self, name: str) -> str:
        """Returns the second of two inputs if this is the first, else the first."""
        first, second = self.inputs
        return second if first == name else first

    def with_(self, **changes) -> Node:
        """Returns a copy with these fields changed."""
        return replace(self, **changes)

    def where(self) -> str:
        """Returns the node's name in messages."""
        return f"node '{self.name}' ({self.type})"


@dataclass(frozen=True, eq=False)
class State:
    """A state of a model: the graph output `written` is the next value of the graph input `read`. Both belong to the model, not
    to its caller. `initial` is the value before the first inference, in logical order."""

    read: str
    written: str
    initial: numpy.ndarray


@dataclass(frozen=True, eq=False)
class GraphView:
    """A whole model. `tensors` holds every tensor that a node, input or output names.

    `inputs` and `outputs` include the tensors of `states`: for computations, a state is an input and an output.
    """

    name: str
    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    states: tuple[State, ...] = ()

    @cached_property
    def given(self) -> tuple[str, ...]:
        """The inputs that the caller gives: all but the states."""
        kept = {state.read for state in self.states}
        return tuple(name for name in self.inputs if name not in kept)

    @cached_property
    def handed_out(self) -> tuple[str, ...]:
        """The outputs that the caller gets: all but the states."""
        kept = {state.written for state in self.states}
        return tuple(name for name in self.outputs if name not in kept)

    @cached_property
    def _producers(self) -> dict[str, Node]:
        return {output: node for node in self.nodes for output in node.outputs}

    @cached_property
    def _consumers(self) -> dict[str, list[Node]]:
        consumers: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                consumers.setdefault(name, []).append(node)
        return consumers

    @cached_property
    def _positions(self) -> dict[Node, int]:
        return {node: position for position, node in enumerate(self.nodes)}

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of its operators, and the names of their classes: a Conv2D is a Conv, too."""
        return frozenset([node.type for node in self.nodes]).union([type(node.operator).__name__ for node in self.nodes])

    @cached_property
    def has_quantization(self) -> bool:
        """Whether a tensor has a quantization."""
        return any(tensor.quantization is not None for tensor in self.tensors.values())

    def position(self, node: Node) -> int:
        """Returns the position of the node in the order."""
        return self._positions[node]

    def tensor(self, name: str) -> Tensor:
        """Returns the tensor of this name; KeyError if there is none."""
        return self.tensors[name]

    @cached_property
    def _output_names(self) -> frozenset[str]:
        return frozenset(self.outputs)

    def is_output(self, tensor: str) -> bool:
        """Whether the graph hands the tensor out."""
        return tensor in self._output_names

    def producer(self, tensor: str) -> Node | None:
        """Returns the node that computes the tensor, None for a graph input or a constant."""
        return self._producers.get(tensor)

    def consumers(self, tensor: str) -> tuple[Node, ...]:
        """Returns the nodes that read the tensor, in order, each once."""
        return tuple(self._consumers.get(tensor, ()))

    def input_tensors(self, node: Node) -> tuple[Tensor | None, ...]:
        """Returns the node's inputs; None for an optional input that is not given."""
        tensors = self.tensors
        return tuple([tensors[name] if name else None for name in node.inputs])

    def output_tensors(self, node: Node) -> tuple[Tensor, ...]:
        """Returns the tensors that a node of this graph writes."""
        tensors = self.tensors
        return tuple([tensors[name] for name in node.outputs])

    def only_consumer(self, tensor: str) -> Node | None:
        """Returns the only node that reads the tensor; None if several nodes read it or it is an output of the graph."""
        readers = self.consumers(tensor)
        return readers[0] if len(readers) == 1 and not self.is_output(tensor) else None

    def __str__(self) -> str:
        lines = [f"graph {self.name}: {', '.join(f'{n} {self.tensors[n]}' for n in self.inputs)}"]
        for node in self.nodes:
            results = ", ".join(f"{name} {self.tensors[name]}" for name in node.outputs)
            lines.append(f"  {results} = {node.operator}({', '.join(node.inputs)})")
        return "\n".join([*lines, f"  -> {', '.join(self.outputs)}"])


def graph_view(
    name: str,
    nodes: Iterable[Node],
    tensors: Mapping[str, Tensor],
    inputs: Iterable[str],
    outputs: Iterable[str],
    states: Iterable[State] = (),
) -> GraphView:
    """Returns a GraphView with the nodes sorted (stable), without nodes and tensors that no output needs.

    Graph inputs stay even when nothing reads them: they belong to the model's signature.
    """
    inputs, outputs = tuple(inputs), tuple(outputs)
    ordered = _needed(topological(tuple(nodes)), outputs)
    names = {*inputs, *outputs, *(name for node in ordered for name in (*node.inputs, *node.outputs) if name)}
    return GraphView(name, ordered, MappingProxyType({n: tensors[n] for n in sorted(names)}), inputs, outputs, tuple(states))


def _needed(nodes: tuple[Node, ...], outputs: tuple[str, ...]) -> tuple[Node, ...]:
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if any(output in wanted for output in node.outputs):
            kept.append(node)
            wanted.update(node.inputs)
    return tuple(reversed(kept))


def topological(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Returns the nodes so that producers come before consumers, otherwise in the given order. A cycle is refused."""
    producer = {output: index for index, node in enumerate(nodes) for output in node.outputs}
    if all([producer.get(name, -1) < index for index, node in enumerate(nodes) for name in node.inputs]):
        return nodes  # almost always: the search would return the same order
    return _sorted_by_producers(nodes, producer)


def _sorted_by_producers(nodes: tuple[Node, ...], producer: Mapping[str, int]) -> tuple[Node, ...]:
    waits: list[set[int]] = [{producer[name] for name in node.inputs if name in producer} for node in nodes]
    readers: dict[int, list[int]] = {}
    for index, sources in enumerate(waits):
        for source in sources:
            readers.setdefault(source, []).append(index)
    missing = [len(sources) for sources in waits]
    ready = [index for index, count in enumerate(missing) if count == 0]
    ordered = []
    while ready:
        index = heapq.heappop(ready)
        ordered.append(nodes[index])
        for reader in readers.get(index, ()):
            missing[reader] -= 1
            if missing[reader] == 0:
                heapq.heappush(ready, reader)
    if len(ordered) < len(nodes):
        raise AidgeError(
            f"the graph has a cycle: {' -> '.join(_cycle(nodes, waits, missing))}",
            code="GRAPH",
            hint="a model for firmware must be acyclic",
        )
    return tuple(ordered)


def _cycle(nodes: tuple[Node, ...], waits: list[set[int]], missing: list[int]) -> list[str]:
    """Returns the names around one cycle, in the direction of the data."""
    index, path, seen = next(i for i, count in enumerate(missing) if count), list[int](), dict[int, int]()
    while index not in seen:
        seen[index] = len(path)
        path.append(index)
        index = min(source for source in waits[index] if missing[source])
    around = [*path[seen[index] :], index]
    return [nodes[i].name or nodes[i].output for i in reversed(around)]
