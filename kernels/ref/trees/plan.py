# SPDX-License-Identifier: MIT
"""The forms that a forest can have in C, with their costs, and the one that is taken."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from aidge_build.graph.dtype import DType

from . import branches
from .ballots import Ballot, ballot_of
from .costs import Cost, cheapest, cost_of_branches, cost_of_slots, cost_of_walk
from .diagram import Diagram
from .keys import Keys
from .slots import Slots, direct, nodes_of, of_keys, of_ranks
from .walk import Layout, laid_out


@dataclass(frozen=True, eq=False)
class Plan:
    """Trees as data (`layout`) or as code (None), what their nodes compare, and what that costs."""

    keys: Keys
    diagram: Diagram
    slots: Slots
    layout: Layout | None
    cost: Cost

    @property
    def form(self) -> str:
        """How a listing calls it."""
        compared = {0: "features"}.get(self.slots.count, "ranks" if any(self.slots.limits) else "keys")
        return f"trees as {'data' if self.layout else 'code'}, {compared} of {self.slots.type.name}"


@lru_cache(maxsize=64)
def plans(operator, dtype: DType) -> tuple[Plan, ...]:
    """The forms of an ensemble whose features are of this type; none where a tree is too large for all of them."""
    keys, ballot = Keys(dtype, operator.forest.thresholds.dtype.name), ballot_of(operator)
    is_counted = ballot.counted_weight is not None
    kinds = [ballot.cell(kind) for kind in ballot.kinds] if is_counted else list(ballot.kinds)
    diagram = Diagram(operator.forest, keys, kinds)
    nodes = nodes_of(diagram)
    ways = [of_ranks(nodes)] if dtype.size_bytes > 1 else []
    ways.append(of_keys(keys, nodes) if keys.is_float else direct(keys, nodes))
    found = []
    for slots in ways:
        layout = laid_out(diagram, slots, ballot.width, ballot.entry_bytes, is_counted)
        if layout is not None:
            found.append(Plan(keys, diagram, slots, layout, cost_of_slots(slots) + cost_of_walk(diagram, layout)))
        if branches.fits(diagram):
            cost = cost_of_slots(slots) + cost_of_branches(diagram, slots)
            found.append(Plan(keys, diagram, slots, None, cost))
    return tuple(found)


def chosen(operator, dtype: DType, objective: str) -> Plan:
    """The cheapest form."""
    return cheapest(plans(operator, dtype), lambda plan: plan.cost, objective)


__all__ = ["Ballot", "Plan", "chosen", "plans"]
