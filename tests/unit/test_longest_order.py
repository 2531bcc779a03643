# SPDX-License-Identifier: MIT
"""The order of blocks in graphs that are drawn, compared with its definition: loops, and how often a path came round."""

from __future__ import annotations

import random

import pytest

from aidge_build.prove.longest.order import Order, _components

Graph = dict[int, tuple[int, ...]]


def drawn(seed: int) -> Graph:
    """A graph of up to nine nodes that are all reachable from node 0."""
    draw = random.Random(seed)
    count = draw.randint(1, 9)
    edges: dict[int, set[int]] = {node: set() for node in range(count)}
    for node in range(1, count):
        edges[draw.randrange(node)].add(node)
    for _ in range(draw.randint(0, 2 * count)):
        edges[draw.randrange(count)].add(draw.randrange(count))
    return {node: tuple(draw.sample(sorted(found), len(found))) for node, found in edges.items()}


def reached(graph: Graph, node: int) -> set[int]:
    """The nodes that paths of at least one step from a node reach."""
    found: set[int] = set()
    pending = [node]
    while pending:
        for to in graph[pending.pop()]:
            if to not in found:
                found.add(to)
                pending.append(to)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_components_are_nodes_that_reach_each_other_in_the_order_of_the_edges(seed: int) -> None:
    graph = drawn(seed)
    reach = {node: reached(graph, node) for node in graph}
    found = _components(graph, [0])
    for part in found:
        assert all(
            {other for other in graph if other in reach[node] and node in reach[other]} | {node} == {*part} for node in part
        )
        comes_from = {node for node in graph if part[0] in graph[node]} - {*part}
        assert comes_from or part[0] == 0
    place = {node: index for index, part in enumerate(found) for node in part}
    assert sorted(place) == sorted(graph) and all(place[node] <= place[to] for node in graph for to in graph[node])


@pytest.mark.parametrize("seed", range(60))
def test_a_position_grows_with_each_step_and_counts_how_often_a_path_came_back_to_a_loop(seed: int) -> None:
    graph, draw = drawn(seed), random.Random(seed)
    order = Order(0, graph.__getitem__)
    node, position = 0, order.begin(0)
    counts = dict.fromkeys(order.loops, 0)
    for _ in range(30):
        if not graph[node]:
            break
        to = draw.choice(graph[node])
        after = order.moved(position, node, to)
        counts = {head: counts[head] * (to in loop) + (head == to and node in loop) for head, loop in order.loops.items()}
        inside = [head for head, loop in order.loops.items() if to in loop]
        assert after > position and after[1::2] == tuple(counts[head] for head in inside)
        assert order.rounds(after, to) == counts.get(to, 0)
        assert order.begin(to)[::2] == after[::2] and not any(order.begin(to)[1::2])
        node, position = to, after
