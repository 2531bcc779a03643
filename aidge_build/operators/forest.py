# SPDX-License-Identifier: MIT
"""An ensemble of decision trees as a value, and the numpy meaning of walking through it.

Sources: ONNX operators TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble of the domain ai.onnx.ml. Sums are taken in
the order of the trees, in the type of the thresholds, as onnxruntime takes them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy

from aidge_build.operators.base import require


class Mode(enum.IntEnum):
    """The condition on which a value takes the branch `true` of a node, by the numbers of TreeEnsemble (ai.onnx.ml 5)."""

    LEQ = 0
    LT = 1
    GTE = 2
    GT = 3
    EQ = 4
    NEQ = 5
    MEMBER = 6


class Aggregate(enum.IntEnum):
    """The aggregation of the votes of all trees for one target, by the numbers of TreeEnsemble."""

    AVERAGE = 0
    SUM = 1
    MIN = 2
    MAX = 3


MOST_CELLS = 1 << 27  # of tables of nodes times targets


_COMPARISONS = {
    Mode.LEQ: numpy.less_equal,
    Mode.LT: numpy.less,
    Mode.GTE: numpy.greater_equal,
    Mode.GT: numpy.greater,
    Mode.EQ: numpy.equal,
    Mode.NEQ: numpy.not_equal,
}


@dataclass(frozen=True, eq=False)
class Forest:
    """Nodes by number: where `mode` holds between the feature and the threshold, the way goes to `true`, else to `false`.

    A child of at least 0 is a node, any other is the leaf ~child. Leaf l votes with `weights[starts[l] : starts[l + 1]]` for
    `targets` at the same places. NaN takes the branch `true` if `missing` is true, else the branch that the comparison gives.
    `members` are the values of the nodes of mode MEMBER by their numbers. A tree may reach a node on several paths, but has no
    cycle.
    """

    modes: numpy.ndarray
    features: numpy.ndarray
    thresholds: numpy.ndarray
    missing: numpy.ndarray
    true: numpy.ndarray
    false: numpy.ndarray
    roots: numpy.ndarray
    starts: numpy.ndarray
    targets: numpy.ndarray
    weights: numpy.ndarray
    members: Mapping[int, numpy.ndarray]

    def check(self, target_count: int) -> None:
        """Refuses missing children and targets, features below 0, and cycles."""
        nodes, leaves = len(self.modes), len(self.starts) - 1
        require(len(self.roots) > 0, "the ensemble has no tree")
        for name, children in (("true branch", self.true), ("false branch", self.false), ("root", self.roots)):
            wrong = numpy.flatnonzero((children >= nodes) | (~children >= leaves))
            require(not len(wrong), f"the {name} of {'tree' if name == 'root' else 'node'} {_first(wrong)} is not there")
        wrong = numpy.flatnonzero(self.features < 0)
        require(not len(wrong), f"node {_first(wrong)} reads feature {_first(self.features[wrong])}")
        wrong = numpy.flatnonzero((self.targets < 0) | (self.targets >= target_count))
        require(not len(wrong), f"a leaf votes for target {_first(self.targets[wrong])} of {target_count}")
        require(len(self.order) == len(self._reached), "the branches of a tree lead in a circle")

    @cached_property
    def _reached(self) -> Mapping[int, int]:
        """The tree of each node that a tree reaches; AidgeError where two trees reach the same one."""
        trees: dict[int, int] = {}
        true, false = self.true.tolist(), self.false.tolist()
        for tree, root in enumerate(self.roots.tolist()):
            waiting = [root] if root >= 0 else []
            while waiting:
                node = waiting.pop()
                require(trees.get(node, tree) == tree, f"trees {trees.get(node)} and {tree} share node {node}")
                if node not in trees:
                    trees[node] = tree
                    waiting += [child for child in (true[node], false[node]) if child >= 0]
        return trees

    @cached_property
    def leaves_of_trees(self) -> tuple[tuple[int, ...], ...]:
        """The leaves that each tree reaches, sorted."""
        found: list[set[int]] = [{~root} if root < 0 else set() for root in self.roots.tolist()]
        true, false = self.true.tolist(), self.false.tolist()
        for node, tree in self._reached.items():
            found[tree].update(~child for child in (true[node], false[node]) if child < 0)
        return tuple(tuple(sorted(leaves)) for leaves in found)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes that trees reach, each before its children; fewer than these where a way leads in a circle."""
        true, false = self.true.tolist(), self.false.tolist()
        parents = dict.fromkeys(self._reached, 0)
        for node in self._reached:
            for child in (true[node], false[node]):
                if child >= 0:
                    parents[child] += 1
        waiting = sorted((node for node, count in parents.items() if count == 0), reverse=True)
        found = []
        while waiting:
            node = waiting.pop()
            found.append(node)
            for child in (false[node], true[node]):
                if child >= 0:
                    parents[child] -= 1
                    if parents[child] == 0:
                        waiting.append(child)
        return tuple(found)

    @property
    def feature_count(self) -> int:
        """The number of features that a row must have."""
        return int(self.features[list(self.order)].max()) + 1 if self.order else 0

    def leaves(self, rows: numpy.ndarray) -> numpy.ndarray:
        """The leaf of each tree for each row: [rows, trees]."""
        at = numpy.repeat(self.roots[None, :], len(rows), 0)
        values = rows.astype(self.thresholds.dtype, copy=False)
        while True:
            places = numpy.nonzero(at >= 0)
            if not len(places[0]):
                return ~at
            nodes = at[places]
            taken = self._taken(nodes, values[places[0], self.features[nodes]])
            at[places] = numpy.where(taken, self.true[nodes], self.false[nodes])

    def _taken(self, nodes: numpy.ndarray, values: numpy.ndarray) -> numpy.ndarray:
        taken = self.missing[nodes] & numpy.isnan(values)
        for mode in numpy.unique(self.modes[nodes]).tolist():
            these = numpy.flatnonzero(self.modes[nodes] == mode)
            if mode != Mode.MEMBER:
                taken[these] |= _COMPARISONS[Mode(mode)](values[these], self.thresholds[nodes[these]])
                continue
            for node in numpy.unique(nodes[these]).tolist():
                same = these[nodes[these] == node]
                taken[same] |= numpy.isin(values[same], self.members[node])
        return taken

    def votes(self, rows: numpy.ndarray, target_count: int, aggregate: Aggregate) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Returns (numbers, voted): for each row and target the aggregated votes, before AVERAGE divides, and whether it has a
        vote."""
        numbers = numpy.zeros((len(rows), target_count), self.thresholds.dtype)
        voted = numpy.zeros(numbers.shape, bool)
        for leaves in self.leaves(rows).T:
            first, end = self.starts[leaves], self.starts[leaves + 1]
            for step in range(int((end - first).max(initial=0))):
                these = numpy.flatnonzero(first + step < end)
                votes = first[these] + step
                place = these, self.targets[votes]
                numbers[place] = _with(aggregate, numbers[place], voted[place], self.weights[votes])
                voted[place] = True
        return numbers, voted

    def certain(self, target_count: int) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Returns (always, ever): for each target whether every row, and whether any row, can have a vote for it."""
        size = (len(self.modes) + len(self.starts)) * target_count
        require(size <= MOST_CELLS, f"{len(self.modes):,} nodes times {target_count:,} classes are more than {MOST_CELLS:,}")
        everywhere = numpy.ones((len(self.modes), target_count), bool)
        somewhere = numpy.zeros_like(everywhere)
        named = numpy.zeros((len(self.starts) - 1, target_count), bool)
        named[numpy.repeat(numpy.arange(len(named)), numpy.diff(self.starts)), self.targets] = True

        def of(table: numpy.ndarray, child: int) -> numpy.ndarray:
            return table[child] if child >= 0 else named[~child]

        for node in reversed(self.order):
            true, false = int(self.true[node]), int(self.false[node])
            everywhere[node] = of(everywhere, true) & of(everywhere, false)
            somewhere[node] = of(somewhere, true) | of(somewhere, false)
        roots = self.roots.tolist()
        always = numpy.any([of(everywhere, root) for root in roots], axis=0)
        return always, numpy.any([of(somewhere, root) for root in roots], axis=0)

    def __str__(self) -> str:
        return f"{len(self.roots)} trees, {len(self.modes)} nodes"


def _first(found: Sequence[int] | numpy.ndarray) -> int | None:
    return int(found[0]) if len(found) else None


def _with(aggregate: Aggregate, numbers: numpy.ndarray, voted: numpy.ndarray, weights: numpy.ndarray) -> numpy.ndarray:
    """Returns the numbers with one more vote; MIN and MAX take the first vote as it is."""
    if aggregate is Aggregate.MIN:
        return numpy.where(~voted | (weights < numbers), weights, numbers)
    if aggregate is Aggregate.MAX:
        return numpy.where(~voted | (weights > numbers), weights, numbers)
    return numbers + weights
