# SPDX-License-Identifier: MIT
"""The cost of a form of a forest: bytes of flash, and instructions for one row, as Thumb code takes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from .diagram import Diagram
from .slots import Slots
from .walk import Layout

Choice = TypeVar("Choice")

# Measured with arm-none-eabi-gcc 12.2 -O2 on forests of docs/classic.md, on a Cortex-M4.
_WALK = (11, 14)  # instructions: a node, a tree
_WALK_BYTES = 150
_IF = (3.3, 4)  # a node, the end of a tree
_IF_BYTES = {1: (6.5, 4.5), 2: (8, 4.5), 4: (11, 4.5), 8: (22, 4.5)}  # a node, a leaf; by the bytes of a slot
_RANK = (27, 4)  # a slot, a halving
_RANK_BYTES = 150
_KEY = 8
_KEY_BYTES = 50


@dataclass(frozen=True)
class Cost:
    """Estimates, for comparing forms of the same forest."""

    flash: float
    instructions: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flash + other.flash, self.instructions + other.instructions)


def cost_of_slots(slots: Slots) -> Cost:
    """The cost of filling the slots."""
    if not slots.count:
        return Cost(0, 0)
    limits = [len(part) for part in slots.limits if part]
    if not limits:
        return Cost(slots.count + _KEY_BYTES, slots.count * _KEY)
    halvings = sum(math.log2(count + 1) for count in limits)
    return Cost(4 * sum(limits) + 3 * len(limits) + _RANK_BYTES, len(limits) * _RANK[0] + halvings * _RANK[1])


def cost_of_walk(diagram: Diagram, layout: Layout) -> Cost:
    """The cost of trees as data, without leaves."""
    questions = sum(map(diagram.expected_questions, diagram.roots))
    return Cost(layout.bytes + _WALK_BYTES, questions * _WALK[0] + len(diagram.roots) * _WALK[1])


def cost_of_branches(diagram: Diagram, slots: Slots) -> Cost:
    """The cost of trees as code, without leaves."""
    nodes = [diagram.tree(root) for root in diagram.roots]
    count = sum(map(len, nodes))
    of_node, of_leaf = _IF_BYTES[slots.type.size_bytes]
    questions = sum(map(diagram.expected_questions, diagram.roots))
    flash = count * of_node + (count + len(nodes)) * of_leaf
    return Cost(flash, questions * _IF[0] + len(nodes) * _IF[1])


def cheapest(choices: Iterable[Choice], cost_of: Callable[[Choice], Cost], objective: str) -> Choice:
    """The smallest, the quickest, or the one with the smallest product of both, by the build's --optimize."""
    measures: dict[str, Callable[[Cost], tuple[float, ...]]] = {
        "size": lambda cost: (cost.flash, cost.instructions),
        "speed": lambda cost: (cost.instructions, cost.flash),
    }
    measure = measures.get(objective, lambda cost: (cost.flash * cost.instructions,))
    return min(choices, key=lambda choice: measure(cost_of(choice)))
