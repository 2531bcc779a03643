# SPDX-License-Identifier: MIT
"""Falls back to smaller kernels. If the least memory is asked for, no build needs more RAM than with the last library's kernels;
with a RAM budget, only as many layers fall back as the budget requires."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aidge_build.base.naming import counted
from aidge_build.contract.library import Library
from aidge_build.contract.spec import NodeView
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.fuse_meta import may_come_apart
from aidge_build.prepare.adaptation.match import Target, match, title
from aidge_build.prepare.adaptation.meta_operator import MetaOperator

MOST_TRIALS = 64  # plans in which chosen kernels are taken back
MOST_ROUNDS = 4  # of falling back: if nodes are no longer computed together, other nodes appear
Bytes = tuple[int, int]  # the peak, and the arena as it is linked


def with_smaller_kernels(
    view: GraphView,
    libraries: Sequence[Library],
    target: Target,
    assignment: Assignment,
    bytes_of: Callable[[Assignment], Bytes],
    budget: Bytes | None = None,
) -> tuple[Assignment, tuple[str, ...]]:
    """Returns the assignment with a plan that needs no more bytes, neither peak nor arena, than the `budget`, and one line that
    names the replaced kernels. Without a budget the limit is a plan with the kernels of the last library that accepts each node;
    this plan is also the result if a budget is too small.

    If the given assignment needs more, all nodes begin with these last kernels. The chosen kernels then come back, for one half
    of the nodes after the other, as long as the plan stays within the limit; the nodes that are left try the kernels between.
    """
    trials = _Trials(view, libraries, target, bytes_of)
    if not trials.begin(assignment):
        return assignment, ()
    given, least = bytes_of(assignment), bytes_of(trials.found)
    trials.limit = budget or least
    if _fits(given, trials.limit):
        return assignment, ()
    if _fits(least, trials.limit):
        trials.restore([name for name in trials.order if name in trials.passed])
        trials.improve()
    return trials.found, (_notice(trials, given, "--ram-budget" if budget else "--optimize size"),)


@dataclass
class _Trials:
    """Assignments in which nodes pass over some kernels that accept them: `passed` of the `order` of each, from the first on."""

    view: GraphView
    libraries: Sequence[Library]
    target: Target
    bytes_of: Callable[[Assignment], Bytes]
    limit: Bytes = field(init=False)
    left: int = MOST_TRIALS
    order: dict[str, tuple[str, ...]] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    found: Assignment = field(init=False)

    def begin(self, assignment: Assignment) -> bool:
        """Passes over all kernels but the last library's. Returns whether there were any.

        Nodes that the last library does not compute together come apart. The last one of them continues their order."""
        self.found = assignment
        for _ in range(MOST_ROUNDS):
            known = len(self.passed)
            for node in self.found.view.nodes:
                if node.name not in self.order and self.found.choices[node.name].kernel is not None:
                    self._learn(self.found.view, node)
            if len(self.passed) == known:
                break
            self.found = self._adapted(self.passed)
        return bool(self.passed)

    def restore(self, names: Sequence[str]) -> None:
        """Takes the chosen kernels of these nodes back, as many as the bytes allow."""
        if not names or self._keeps({name: count for name, count in self.passed.items() if name not in names}):
            return
        middle = len(names) // 2
        for half in (names[:middle], names[middle:]) if middle else ():
            self.restore(half)

    def improve(self) -> None:
        """Tries the next kernels at each node that lost its chosen kernel, and takes the first that the bytes allow."""
        for name in sorted(self.passed):
            for count in range(1, self.passed[name]):
                if self._keeps({**self.passed, name: count}):
                    break

    def _learn(self, view: GraphView, node: Node) -> None:
        titles = self._titles(NodeView.of(view, node))
        together = isinstance(node.operator, MetaOperator) and not titles[-1]
        if together and may_come_apart(node, self.libraries, self.target):
            graph = node.operator.graph
            titles += self._titles(NodeView.of(graph, graph.nodes[-1]))
        titles = [names for names in titles if names]
        self.order[node.name] = tuple(name for names in titles for name in names)
        if len(titles) > 1:
            self.passed[node.name] = sum(map(len, titles[:-1]))

    def _titles(self, seen: NodeView) -> list[tuple[str, ...]]:
        """The kernels of each library that accept a node."""
        alone = replace(self.target, cost_table=None)
        found = [match(seen, (library,), alone).accepted for library in self.libraries]
        return [tuple(dict.fromkeys(map(title, kernels))) for kernels in found]

    def _adapted(self, passed: Mapping[str, int]) -> Assignment:
        passed_over = frozenset((name, kernel) for name, count in passed.items() for kernel in self.order[name][:count])
        return adapt_to_backend(self.view, self.libraries, replace(self.target, passed_over=passed_over))

    def _keeps(self, passed: dict[str, int]) -> bool:
        if not self.left:
            return False
        self.left -= 1
        trial = self._adapted(passed)
        fits = _fits(self.bytes_of(trial), self.limit)
        if fits:
            self.passed, self.found = passed, trial
        return fits


def _fits(needed: Bytes, limit: Bytes) -> bool:
    return needed[0] <= limit[0] and needed[1] <= limit[1]


def _notice(trials: _Trials, given: Bytes, option: str) -> str:
    found = trials.bytes_of(trials.found)
    passed = [name for name in trials.passed if name in trials.found.choices]  # others are computed together again
    kernels = sorted({trials.order[name][0] for name in passed})
    return (
        f"{option}: at {counted(len(passed), 'layer')} {', '.join(kernels)} fell back to slower kernels; peak "
        f"{found[0]:,} B instead of {given[0]:,} B, arena {found[1]:,} B instead of {given[1]:,} B"
    )
