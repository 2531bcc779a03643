# SPDX-License-Identifier: MIT
"""Chooses kernels by a table of comparisons: a faster kernel replaces the preferred one if the plan then needs no more bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from aidge_build.contract.library import Library
from aidge_build.contract.spec import Demands
from aidge_build.graph.view import GraphView
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.match import Target, title

MOST_TRIALS = 32  # plans in which some layers keep their kernels
Bytes = tuple[int, int]  # the peak, and the arena as it is linked


def with_faster(
    view: GraphView,
    libraries: Sequence[Library],
    target: Target,
    preferred: Assignment,
    bytes_of: Callable[[Assignment], Bytes],
) -> tuple[Assignment, Target, tuple[str, ...]]:
    """Returns the assignment in which layers have the kernels that the target's table knows to be faster than the `preferred`
    ones, the target that gives this assignment, and one line that names the layers.

    The peak, the arena and the bytes copied between formats do not exceed the preferred assignment's, and layers that could be
    computed by rows still can. If all faster kernels together need more, some layers keep the preferred kernel: the search tries
    one half of the layers after the other.
    """
    trials = _Trials(view, libraries, target, preferred, bytes_of)
    wanted = trials.moved(trials.quickest)
    trials.known = tuple(wanted)
    trials.take(trials.known)
    moved, target = trials.moved(trials.found), replace(target, kept=frozenset(trials.known) - trials.taken)
    names = ", ".join(f"{name}: {kernel}" for name, kernel in moved.items())
    left = f"; {len(wanted) - len(moved)} more would need more memory" if len(moved) < len(wanted) else ""
    return trials.found, target, (f"--select cost: measured faster: {names}{left}",) if names else ()


@dataclass
class _Trials:
    """Tries assignments in which the `taken` ones of the `known` layers get faster kernels, and the others keep theirs."""

    view: GraphView
    libraries: Sequence[Library]
    target: Target
    preferred: Assignment
    bytes_of: Callable[[Assignment], Bytes]
    known: tuple[str, ...] = ()
    taken: frozenset[str] = frozenset()
    left: int = MOST_TRIALS
    found: Assignment = field(init=False)

    def __post_init__(self) -> None:
        self.found = self.preferred

    @cached_property
    def quickest(self) -> Assignment:
        """The assignment with every faster kernel, without a limit on memory."""
        return self.adapted(frozenset())

    @cached_property
    def limit(self) -> Bytes:
        """The bytes that the plan may need."""
        return self.bytes_of(self.preferred)

    def adapted(self, kept: frozenset[str]) -> Assignment:
        """Returns the assignment in which these layers keep the kernels that libraries prefer."""
        return adapt_to_backend(self.view, self.libraries, replace(self.target, kept=kept))

    def moved(self, trial: Assignment) -> dict[str, str]:
        """Returns the layers with another kernel than the preferred one, and its title."""
        return {
            node.name: title(chosen)
            for node in trial.view.nodes
            for chosen in [trial.choices[node.name].kernel]
            for before in [self.preferred.choices.get(node.name)]
            if chosen is not None and before is not None and before.kernel is not None and title(chosen) != title(before.kernel)
        }

    def take(self, names: Sequence[str]) -> None:
        """Gives these layers the faster kernels, as many of them as the bytes allow."""
        if not names or not self.left:
            return
        self.left -= 1
        taken = self.taken | set(names)
        kept = frozenset(self.known) - taken
        trial = self.adapted(kept) if kept else self.quickest
        if self._needs_no_more(trial):
            self.found, self.taken = trial, taken
            return
        middle = len(names) // 2
        for half in (names[:middle], names[middle:]) if middle else ():
            self.take(half)

    def _needs_no_more(self, trial: Assignment) -> bool:
        if trial.bytes_copied > self.preferred.bytes_copied or any(self._loses_rows(trial, name) for name in self.moved(trial)):
            return False
        return all(after <= before for after, before in zip(self.bytes_of(trial), self.limit))

    def _loses_rows(self, trial: Assignment, name: str) -> bool:
        """Whether the layer could be computed by rows before, and no longer can."""
        before, after = (_demands(assignment, name).bands for assignment in (self.preferred, trial))
        return before and not after


def _demands(assignment: Assignment, name: str) -> Demands:
    node = next(node for node in assignment.view.nodes if node.name == name)
    return assignment.choices[name].kernel.demands(assignment.node_view(node))
