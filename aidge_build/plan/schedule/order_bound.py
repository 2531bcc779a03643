# SPDX-License-Identifier: MIT
"""A lower bound of the live bytes before an operation over all orders: a minimum cut between what has run and what has not.

Every legal prefix that contains what the operation needs, but not the operation, cuts the graph. It pays for a tensor when its
producer has run (or it is a graph input) and a reader has not (or it is a graph output). The least payment is a minimum cut.
"""

from __future__ import annotations

from collections import deque

from aidge_build.plan.schedule.question import OrderQuestion

ENDLESS = 1 << 60


def cut_bound(question: OrderQuestion, operation: int) -> int:
    """Returns a lower bound, over all orders, of the live bytes when `operation` begins, its outputs and scratch not counted."""
    count = len(question.operations)
    source, sink = count + len(question.sizes), count + len(question.sizes) + 1
    network = _Network(sink + 1)
    outputs = set(question.outputs)
    for tensor, size in enumerate(question.sizes):
        network.connect(question.producers.get(tensor, source), count + tensor, size)
        if tensor in outputs:
            network.connect(count + tensor, sink, ENDLESS)
    for index, entry in enumerate(question.operations):
        for tensor in sorted(set(entry.inputs)):
            network.connect(count + tensor, index, ENDLESS)
            if tensor in question.producers:
                network.connect(index, question.producers[tensor], ENDLESS)
                if index == operation:
                    network.connect(source, question.producers[tensor], ENDLESS)
    network.connect(operation, sink, ENDLESS)
    return network.flow(source, sink)


class _Edge:
    """The capacity that is left to `target`; the edge `back` has the flow so far."""

    __slots__ = ("back", "capacity", "target")
    back: _Edge

    def __init__(self, target: int, capacity: int):
        self.target, self.capacity = target, capacity


class _Network:
    """Maximum flow by shortest augmenting paths (Edmonds and Karp 1972)."""

    def __init__(self, nodes: int):
        self.edges: list[list[_Edge]] = [[] for _ in range(nodes)]

    def connect(self, start: int, target: int, capacity: int) -> None:
        edge, back = _Edge(target, capacity), _Edge(start, 0)
        edge.back, back.back = back, edge
        self.edges[start].append(edge)
        self.edges[target].append(back)

    def flow(self, source: int, sink: int) -> int:
        total = 0
        while path := self._path(source, sink):
            pushed = min(edge.capacity for edge in path)
            for edge in path:
                edge.capacity -= pushed
                edge.back.capacity += pushed
            total += pushed
        return total

    def _path(self, source: int, sink: int) -> list[_Edge]:
        """Returns the edges of a shortest path with capacity, from its end on; none if there is no path."""
        reached: dict[int, list[_Edge]] = {source: []}
        waiting = deque([source])
        while waiting and sink not in reached:
            node = waiting.popleft()
            for edge in self.edges[node]:
                if edge.capacity and edge.target not in reached:
                    reached[edge.target] = [edge]
                    waiting.append(edge.target)
        path = reached.get(sink, [])
        while path and (before := reached[path[-1].back.target]):
            path += before
        return path
