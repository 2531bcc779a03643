# SPDX-License-Identifier: MIT
"""The least height of a stack of live buffers, each at a multiple of its alignment: a lower bound of every arena.

Only sizes modulo the largest alignment matter for the padding. The search is best-first over (buffers in the stack, end of the
stack modulo that alignment), the least padding first; if it is cut off, the padding reached so far is still a bound.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence

LINKS = 60_000  # between states, that the search may follow


def stack_bytes(sizes: Sequence[int], alignments: Sequence[int]) -> int:
    """Returns the bytes below which no arena holds the buffers at once, if it starts at a multiple of the largest alignment."""
    total, cycle = sum(sizes), max(alignments, default=1)
    if cycle == 1:
        return total
    padding = _padding(sizes, alignments)
    if min(alignments) == cycle:
        return total + padding
    classes = Counter((-alignment, size % cycle) for size, alignment in zip(sizes, alignments))
    return total + max(padding, _least_padding(classes, cycle))


def _padding(sizes: Sequence[int], alignments: Sequence[int]) -> int:
    """Returns a lower bound of the padding: the holes after all buffers of an alignment or more, except the largest hole, less
    the bytes of the other buffers, which may fill holes.

    It is exact for equal alignments."""
    most = 0
    for alignment in sorted(set(alignments)):
        holes = [-size % alignment for size, own in zip(sizes, alignments) if own >= alignment]
        fill = sum(size for size, own in zip(sizes, alignments) if own < alignment)
        most = max(most, sum(holes) - max(holes) - fill)
    return most


def _least_padding(kinds: Counter[tuple[int, int]], cycle: int) -> int:
    keys = sorted(kinds)
    return least_padding(tuple(keys), tuple(kinds[key] for key in keys), 0, cycle, LINKS)


def least_padding(kinds: tuple[tuple[int, int], ...], counts: tuple[int, ...], end: int, cycle: int, links: int) -> int:
    """Returns the padding in a stack of `counts` buffers of each kind (minus alignment, size modulo `cycle`) that begins at
    `end`."""
    heap = [(0, sum(counts), counts, end % cycle)]
    seen: set[tuple[tuple[int, ...], int]] = set()
    while True:
        padding, left, counts, end = heapq.heappop(heap)
        if not left or links <= 0:
            return padding
        if (counts, end) in seen:
            continue
        seen.add((counts, end))
        links -= len(kinds)
        for index, (negative_alignment, size) in enumerate(kinds):
            if counts[index]:
                hole = end % negative_alignment  # Python's sign: minus the hole
                fewer = (*counts[:index], counts[index] - 1, *counts[index + 1 :])
                state = fewer, (end - hole + size) % cycle
                if state not in seen:
                    heapq.heappush(heap, (padding - hole, left - 1, *state))
