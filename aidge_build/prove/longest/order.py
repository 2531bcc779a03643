# SPDX-License-Identifier: MIT
"""The order in which the blocks of a function run, loop by loop, so that forked paths are followed to the block where they merge.

A block has a rank within its loop, and the loop has a rank within the loop around it. A position is a tuple of these ranks and
the iterations of a path in each loop; the path with the least tuple continues first. No proof depends on the order: every path is
followed to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

Successors = Callable[[int], Sequence[int]]
_Label = tuple[tuple[int, ...], tuple[int, ...]]


class Order:
    """The order of the blocks that are reachable from `entry`."""

    def __init__(self, entry: int, successors: Successors):
        self._labels: dict[int, _Label] = {}
        self.loops: dict[int, Sequence[int]] = {}  # the nodes of each loop, by its first node
        graph = _reached(entry, successors)
        self._arrange(graph, [entry], (), (), 0)

    def _arrange(
        self,
        graph: Mapping[int, Sequence[int]],
        entries: Sequence[int],
        ranks: tuple[int, ...],
        loops: tuple[int, ...],
        first: int,
    ) -> None:
        """Labels the nodes of a graph with ranks from `first` on; recurses only for nested loops."""
        for rank, part in enumerate(_components(graph, entries), first):
            head, *others = part
            if not others and head not in graph[head]:
                self._labels[head] = ((*ranks, rank), loops)
                continue
            self.loops[head] = part
            self._labels[head] = ((*ranks, rank, 0), (*loops, head))
            inside = set(part)
            rest = {node: [to for to in graph[node] if to in inside and to != head] for node in others}
            begins = [to for to in graph[head] if to in rest]
            self._arrange(rest, begins, (*ranks, rank), (*loops, head), 1)

    def begin(self, node: int) -> tuple[int, ...]:
        """Returns the position of a path at `node` before any iteration of a loop."""
        ranks, loops = self._label(node)
        return _position(ranks, (0,) * len(loops))

    def moved(self, position: tuple[int, ...], node: int, to: int) -> tuple[int, ...]:
        """Returns the position after a step from `node` to another node."""
        _, before = self._label(node)
        ranks, loops = self._label(to)
        kept = 0
        while kept < min(len(before), len(loops)) and before[kept] == loops[kept]:
            kept += 1
        counts = [*position[1::2][:kept], *(0 for _ in loops[kept:])]
        if kept and loops[kept - 1] == to:
            counts[kept - 1] += 1
        return _position(ranks, counts)

    def rounds(self, position: tuple[int, ...], node: int) -> int:
        """Returns the iterations, at this position, of the loop that begins with `node`; 0 if no loop begins there."""
        ranks, loops = self._label(node)
        return position[2 * len(loops) - 1] if loops and loops[-1] == node else 0

    def _label(self, node: int) -> _Label:
        return self._labels.get(node, ((len(self._labels), node), ()))


def _position(ranks: Sequence[int], counts: Sequence[int]) -> tuple[int, ...]:
    """Returns (rank, iterations, rank, iterations, ..., rank)."""
    found = [number for pair in zip(ranks, counts) for number in pair]
    return (*found, *ranks[len(counts) :])


def _reached(entry: int, successors: Successors) -> dict[int, Sequence[int]]:
    graph: dict[int, Sequence[int]] = {}
    pending = [entry]
    while pending:
        node = pending.pop()
        if node not in graph:
            graph[node] = successors(node)
            pending += graph[node]
    return graph


def _components(graph: Mapping[int, Sequence[int]], entries: Iterable[int]) -> list[list[int]]:
    """Returns the strongly connected components in the order in which they run, each with its entry node first (Tarjan). All
    nodes are reachable from the entries."""
    numbers: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    waiting: set[int] = set()
    found: list[list[int]] = []
    for entry in entries:
        if entry in numbers:
            continue
        walk = [(entry, iter(graph[entry]))]
        numbers[entry] = lowest[entry] = len(numbers)
        stack.append(entry)
        waiting.add(entry)
        while walk:
            node, rest = walk[-1]
            following = next((to for to in rest if to not in numbers or to in waiting), None)
            if following is None:
                walk.pop()
                if walk:
                    lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[node])
                if lowest[node] == numbers[node]:
                    place = stack.index(node)
                    found.append(stack[place:])
                    waiting -= set(stack[place:])
                    del stack[place:]
            elif following in numbers:
                lowest[node] = min(lowest[node], numbers[following])
            else:
                numbers[following] = lowest[following] = len(numbers)
                stack.append(following)
                waiting.add(following)
                walk.append((following, iter(graph[following])))
    return found[::-1]
