# SPDX-License-Identifier: MIT
"""Kernels chosen by prediction: one behind the preferred one is taken where it takes fewer instructions beyond both errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aidge_build.adaptation.adapt import adapt_to_backend
from aidge_build.adaptation.assignment import Assignment
from aidge_build.adaptation.match import Target, match, title
from aidge_build.contract.library import Library
from aidge_build.contract.spec import NodeView
from aidge_build.errors import AidgeError
from aidge_build.graph.view import GraphView, Node
from aidge_build.prediction.described import Described
from aidge_build.prediction.table import CallCost, Estimate, costs_for, estimate

MOST_PASSED = 6  # kernels that a layer passes over
SURE = 2  # stated errors: the least of several predictions is more often too low than one that was not picked


def quickest(
    view: GraphView, libraries: Sequence[Library], target: Target, assignment: Assignment
) -> tuple[Assignment, tuple[str, ...]]:
    """The assignment in which layers have the kernel that is predicted to be quickest, and a line that says where that is not the
    preferred one. The given one where the whole would not gain by it.

    A kernel is only left for one that takes less even if both are off by twice their stated errors, and both have numbers of
    their own variant and lie inside of what was measured: what is predicted badly stays as libraries order it. AidgeError (COST)
    where no library has predictions for such a core.
    """
    trials = _Trials(view, libraries, target)
    if not any(trials.costs.values()):
        features = " ".join(sorted(target.features)) or "no features"
        raise AidgeError(
            f"no library says what kernels cost on a core with {features} under --optimize {target.objective}",
            where="--select cost",
            hint="measure a table for it: aidge-build bench DIR --boards B --costs F.toml, then --cost-table F.toml",
            code="COST",
        )
    trials.learn(assignment)
    passed = trials.best_passed(assignment)
    if not passed:
        return assignment, ()
    found = trials.adapted(passed)
    (before, unknown), (after, left) = trials.whole(assignment), trials.whole(found)
    if unknown != left or after >= before:
        return assignment, ()
    names = ", ".join(f"{name}: {trials.order[name][count]}" for name, count in sorted(passed.items()))
    return found, (f"--select cost: {before - after:,.0f} of {before:,.0f} instructions less are predicted with {names}",)


@dataclass
class _Trials:
    """Assignments in which nodes pass over the first kernels of their `order`."""

    view: GraphView
    libraries: Sequence[Library]
    target: Target
    order: dict[str, tuple[str, ...]] = field(default_factory=dict)
    costs: Mapping[str, Mapping[str, Sequence[CallCost]]] = field(init=False)

    def __post_init__(self) -> None:
        self.costs = {one.name: costs_for(one, self.target.features, self.target.objective) for one in self.libraries}

    def learn(self, assignment: Assignment) -> None:
        """The kernels that accept each node, in the order of libraries."""
        for node in assignment.view.nodes:
            if assignment.choices[node.name].kernel is not None:
                seen = NodeView.of(assignment.view, node)
                accepted = [kernel for library in self.libraries for kernel in match(seen, (library,), self.target).accepted]
                self.order[node.name] = tuple(dict.fromkeys(map(title, accepted)))

    def best_passed(self, assignment: Assignment) -> dict[str, int]:
        """How many kernels each node passes over; nodes that keep theirs are left out."""
        best = {name: (0, found) for name, found in self.estimates(assignment).items()}
        for count in range(1, MOST_PASSED + 1):
            passed = {name: count for name, kernels in self.order.items() if len(kernels) > count and name in best}
            if not passed:
                break
            trial = self.adapted(passed)
            for name, found in self.estimates(trial).items():
                is_it = name in passed and self._title(trial, name) == self.order[name][count]
                if is_it and _surely_less(found, best[name][1]):
                    best[name] = (count, found)
        return {name: count for name, (count, _) in best.items() if count}

    def adapted(self, passed: Mapping[str, int]) -> Assignment:
        """The graph with these kernels passed over."""
        gave_way = self.target.gave_way | {
            (name, kernel) for name, count in passed.items() for kernel in self.order[name][:count]
        }
        return adapt_to_backend(self.view, self.libraries, replace(self.target, gave_way=frozenset(gave_way)))

    def estimates(self, assignment: Assignment) -> dict[str, Estimate]:
        """Of each node whose kernel is known."""
        found = {node.name: self._estimate(assignment, node) for node in assignment.view.nodes}
        return {name: one for name, one in found.items() if one is not None}

    def whole(self, assignment: Assignment) -> tuple[float, frozenset[str]]:
        """Instructions of all nodes that are known, and the names of those that are not."""
        names = {node.name for node in assignment.view.nodes if assignment.choices[node.name].kernel is not None}
        found = self.estimates(assignment)
        return sum(one.instructions for one in found.values()), frozenset(names - set(found))

    def _estimate(self, assignment: Assignment, node: Node) -> Estimate | None:
        kernel, seen = assignment.choices[node.name].kernel, assignment.node_view(node)
        if kernel is None:
            return None
        try:
            call = kernel.call(replace(seen, symbol="layer"), None)
        except AidgeError:  # a layer that this kernel cannot compute exactly: the build would say so, and another one is taken
            return None
        return estimate(self.costs.get(kernel.library, {}), Described.of(seen, kernel, call))

    @staticmethod
    def _title(assignment: Assignment, name: str) -> str:
        choice = assignment.choices.get(name)
        return title(choice.kernel) if choice is not None and choice.kernel is not None else ""


def _surely_less(one: Estimate, other: Estimate) -> bool:
    return (
        one.is_exact
        and other.is_exact
        and one.instructions * (1 + SURE * one.error) < other.instructions * (1 - SURE * other.error)
    )
