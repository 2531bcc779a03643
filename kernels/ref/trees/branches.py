# SPDX-License-Identifier: MIT
"""Trees as code: an if for each node, and the number of a leaf at the end of each way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from .diagram import Diagram
from .slots import Slots

DEEPEST = 100  # C promises 127 levels of blocks
MOST_NODES = 12_000  # of all trees: more take a compiler minutes


def fits(diagram: Diagram) -> bool:
    """Whether the trees are few and flat enough for a compiler."""
    return len(diagram.reached) <= MOST_NODES and max(map(diagram.depth, diagram.roots)) <= DEEPEST


def tree_lines(diagram: Diagram, tree: int, slots: Slots, leaves: Mapping[int, int], literal: Callable[[int], str]) -> list[str]:
    """Statements that set `leaf`; a subtree that several nodes lead to stands once, with a label."""
    root = diagram.roots[tree]
    parents = Counter(
        child for at in diagram.tree(root) for child in (diagram.nodes[at].low, diagram.nodes[at].high) if child >= 0
    )
    written: set[int] = set()

    def lines_of(at: int) -> list[str]:
        if at < 0:
            return [f"leaf = {leaves[~at]};"]
        if at in written:
            return [f"goto tree_{tree}_node_{at};"]
        written.add(at)
        node = diagram.nodes[at]
        slot, limit = slots.place(node)
        label = [f"tree_{tree}_node_{at}:"] if parents[at] > 1 else []
        low, high = ([f"    {line}" for line in lines_of(child)] for child in (node.low, node.high))
        return [*label, f"if (slots[{slot}] <= {literal(limit)}) {{", *low, "} else {", *high, "}"]

    return lines_of(root)
