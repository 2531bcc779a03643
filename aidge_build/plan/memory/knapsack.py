# SPDX-License-Identifier: MIT
"""Which items are worth most in rooms of limited bytes: the multiple knapsack problem, by branch and bound.

An item goes as a whole into one of its rooms, or into none. The bound is Dantzig's (1957), on all rooms of a part of the problem
as one: items in the order of value for each byte, the last one in part. Rooms that no item can choose between are parts of their
own. If choices have the same value, the first one in the order of the search stays.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

MOST_NODES = 200_000


class Item(NamedTuple):
    """`value` of an item (0 or more), its bytes, and the numbers of the rooms that may hold it, the preferred one first."""

    value: int
    size_bytes: int
    rooms: tuple[int, ...]


class Chosen(NamedTuple):
    """The room of each item, None for items that stay outside; the sum of values; whether no other choice has a larger one."""

    rooms: tuple[int | None, ...]
    value: int
    is_optimal: bool


def most_valuable(items: Sequence[Item], rooms: Sequence[int], most_nodes: int = MOST_NODES) -> Chosen:
    """Returns the choice of items for rooms of these sizes in bytes; `most_nodes` bounds the search in each part of the
    problem."""
    chosen: list[int | None] = [None] * len(items)
    is_optimal = True
    for part in _parts(items, len(rooms)):
        numbers = [number for number, item in enumerate(items) if not part.isdisjoint(item.rooms)]
        is_optimal &= _search(items, numbers, rooms, part, chosen, most_nodes)
    return Chosen(
        tuple(chosen), sum(item.value for item, room in zip(items, chosen, strict=True) if room is not None), is_optimal
    )


def by_density(items: Sequence[Item], rooms: Sequence[int]) -> int:
    """Returns the value of the greedy choice, for comparison: the item with the most value for each byte first, into its first
    room with space."""
    left, value = list(rooms), 0
    for number in _in_order(items, range(len(items))):
        item = items[number]
        room = next((one for one in item.rooms if item.size_bytes <= left[one]), None)
        if room is not None:
            left[room] -= item.size_bytes
            value += item.value
    return value


def _parts(items: Sequence[Item], count: int) -> list[frozenset[int]]:
    """Returns the parts of the problem: rooms are in one part if an item may choose between them."""
    parts = [frozenset({number}) for number in range(count)]
    for wanted in sorted({item.rooms for item in items}):
        joined = frozenset().union(*(part for part in parts if part & set(wanted)))
        parts = [part for part in parts if not part & set(wanted)] + ([joined] if joined else [])
    return parts


def _in_order(items: Sequence[Item], numbers: Sequence[int]) -> list[int]:
    return sorted(numbers, key=lambda number: (-items[number].value / max(1, items[number].size_bytes), number))


class _Node(NamedTuple):
    """The first `depth` items are decided; `taken` are (item, room, what was taken before)."""

    depth: int
    value: int
    left: tuple[int, ...]  # bytes of each room; 0 for rooms of other parts
    taken: tuple | None


def _search(
    items: Sequence[Item],
    numbers: Sequence[int],
    rooms: Sequence[int],
    part: frozenset[int],
    chosen: list[int | None],
    most_nodes: int,
) -> bool:
    """Writes the rooms of these items to `chosen`; whether the search was complete."""
    order = _in_order(items, numbers)
    sizes = list(accumulate((items[number].size_bytes for number in order), initial=0))
    values = list(accumulate((items[number].value for number in order), initial=0))
    start = _Node(0, 0, tuple(size if number in part else 0 for number, size in enumerate(rooms)), None)
    best, nodes, waiting = start, 0, [start]

    def bound(node: _Node) -> int:
        """Returns an upper bound of the value of every choice for the other items."""
        room = sizes[node.depth] + sum(node.left)
        end = bisect_right(sizes, room) - 1
        rest = (room - sizes[end]) * items[order[end]].value // items[order[end]].size_bytes if end < len(order) else 0
        return node.value + values[end] - values[node.depth] + rest

    while waiting and nodes < most_nodes:
        node, nodes = waiting.pop(), nodes + 1
        if node.value > best.value:
            best = node
        if node.depth == len(order) or bound(node) <= best.value:
            continue
        number = order[node.depth]
        item = items[number]
        waiting.append(node._replace(depth=node.depth + 1))
        for room in reversed(item.rooms):
            if item.size_bytes <= node.left[room]:
                left = (*node.left[:room], node.left[room] - item.size_bytes, *node.left[room + 1 :])
                waiting.append(_Node(node.depth + 1, node.value + item.value, left, (number, room, node.taken)))
    taken = best.taken
    while taken is not None:
        number, room, taken = taken
        chosen[number] = room
    return not waiting
