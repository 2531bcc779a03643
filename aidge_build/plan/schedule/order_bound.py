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


class _Network:
    """Maximum flow by shortest augmenting paths in levels (Dinic 1970)."""

    def __init__(self, nodes: int):
        self.edges: list[list[list[int]]] = [[] for _ in range(nodes)]  # [target, capacity, position of the way back]

    def connect(self, start: int, target: int, capacity: int) -> None:
        self.edges[start].append([target, capacity, len(self.edges[target])])
        self.edges[target].append([start, 0, len(self.edges[start]) - 1])

    def flow(self, source: int, sink: int) -> int:
        total = 0
        while True:
            levels = self._levels(source)
            if levels[sink] < 0:
                return total
            position = [0] * len(self.edges)
            while True:
                pushed = self._push(source, sink, levels, position)
                if not pushed:
                    break
                total += pushed

    def _levels(self, source: int) -> list[int]:
        levels = [-1] * len(self.edges)
        levels[source] = 0
        waiting = deque([source])
        while waiting:
            node = waiting.popleft()
            for target, capacity, _ in self.edges[node]:
                if capacity > 0 and levels[target] < 0:
                    levels[target] = levels[node] + 1
                    waiting.append(target)
        return levels

    def _push(self, source: int, sink: int, levels: list[int], position: list[int]) -> int:
        """Sends as much as one path takes and returns it; 0 if no path is left. `position` remembers exhausted edges."""
        path: list[list[int]] = []
        node = source
        while node != sink:
            edge = self._next_edge(node, levels, position)
            if edge is not None:
                path.append(edge)
                node = edge[0]
            elif path:
                levels[node] = -1
                node = self._start_of(path.pop())
            else:
                return 0
        pushed = min(edge[1] for edge in path)
        for edge in path:
            edge[1] -= pushed
            self.edges[edge[0]][edge[2]][1] += pushed
        return pushed

    def _next_edge(self, node: int, levels: list[int], position: list[int]) -> list[int] | None:
        edges = self.edges[node]
        while position[node] < len(edges):
            edge = edges[position[node]]
            if edge[1] > 0 and levels[edge[0]] == levels[node] + 1:
                return edge
            position[node] += 1
        return None

    def _start_of(self, edge: list[int]) -> int:
        return self.edges[edge[0]][edge[2]][0]
