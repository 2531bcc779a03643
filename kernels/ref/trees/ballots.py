# SPDX-License-Identifier: MIT
"""The votes of the leaves of a forest, and the shortest way to add them up.

1. counts: every leaf says the same number for one target, or nothing: trees are counted, and a table has the sum of so many.
2. values: all leaves of a tree speak of one target: one number for each leaf.
3. pairs: a leaf has numbers for several targets, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy

from aidge_build.operators.forest import Aggregate, Forest
from aidge_build.operators.tree_ensemble import TreeEnsembleClassifier

Said = tuple[tuple[int, float], ...]  # (target, weight) pairs


@dataclass(frozen=True, eq=False)
class Ballot:
    """The leaves of a forest that differ: `kinds` has the number of each leaf, `said` what leaves of this number say.

    Zeros that would be added are left out: a sum is never -0.0, so they change nothing.
    """

    forest: Forest
    targets: int
    aggregate: Aggregate
    kinds: tuple[int, ...]
    said: tuple[Said, ...]

    @cached_property
    def _of_trees(self) -> list[list[Said]]:
        """For each tree the kinds of answers of its leaves."""
        kinds = ({self.kinds[leaf] for leaf in leaves} for leaves in self.forest.leaves_of_trees)
        return [[self.said[kind] for kind in sorted(one)] for one in kinds]

    @cached_property
    def counted_weight(self) -> float | None:
        """The one number that leaves say, each for at most one target; None where they say more."""
        said = [one for tree in self._of_trees for one in tree]
        weights = {weight for one in said for _, weight in one}
        adds = self.aggregate in (Aggregate.SUM, Aggregate.AVERAGE) and self.forest.weights.dtype == numpy.float32
        return weights.pop() if adds and len(weights) == 1 and max(map(len, said)) == 1 else None

    def cell(self, leaf: int) -> int:
        """The target that a leaf speaks for where votes are counted; `targets` for none."""
        return self.said[leaf][0][0] if self.said[leaf] else self.targets

    @cached_property
    def sums(self) -> numpy.ndarray:
        """The sums of 0, 1, 2... votes, added up one after the other."""
        dtype = self.forest.weights.dtype
        found = numpy.zeros(len(self.forest.roots) + 1, dtype)
        for count in range(len(found) - 1):
            found[count + 1] = found[count] + dtype.type(self.counted_weight)
        return found

    @cached_property
    def target_of_tree(self) -> tuple[int, ...] | None:
        """The target of which each tree speaks; None where one speaks of several, or one leaf says two numbers."""
        found = []
        for tree in self._of_trees:
            targets = {target for said in tree for target, _ in said}
            if len(targets) > 1 or max(map(len, tree)) > 1:
                return None
            found.append(targets.pop() if targets else 0)
        return tuple(found)

    def values(self, leaves: Sequence[int]) -> numpy.ndarray:
        """The number of each of these leaves."""
        return numpy.array([self.said[leaf][0][1] if self.said[leaf] else 0 for leaf in leaves], self.forest.weights.dtype)

    def width(self, leaf: int) -> int:
        """How many entries a leaf has in the table: one, or a pair for each target, at least one."""
        return 1 if self.target_of_tree is not None else max(1, len(self.said[leaf]))

    @property
    def entry_bytes(self) -> int:
        """The bytes of an entry of the table."""
        return self.forest.weights.itemsize if self.target_of_tree is not None else 2 * self.pair_type.itemsize

    @cached_property
    def different_weights(self) -> numpy.ndarray:
        """The numbers of pairs, each once; zero is among them where a leaf says nothing."""
        said = [weight for one in self.said for _, weight in one or ((0, 0.0),)]
        return numpy.unique(numpy.array(said, self.forest.weights.dtype))

    @cached_property
    def pair_type(self) -> numpy.dtype:
        """The unsigned type of both parts of a pair: 2 * target + 1 if it is the leaf's last, and a place among the weights."""
        largest = max(2 * self.targets - 1, len(self.different_weights) - 1)
        return numpy.dtype(numpy.uint8 if largest < 256 else numpy.uint16 if largest < 1 << 16 else numpy.uint32)

    def pairs(self, leaves: Sequence[int]) -> numpy.ndarray:
        """The pairs of these leaves."""
        found = []
        for leaf in leaves:
            said = self.said[leaf] or ((0, 0.0),)
            for place, (target, weight) in enumerate(said):
                number = int(numpy.searchsorted(self.different_weights, self.different_weights.dtype.type(weight)))
                found.append((2 * target + (place == len(said) - 1), number))
        return numpy.array(found, self.pair_type)

    @property
    def refusal(self) -> str:
        """Why no kernel adds this up; "" where one does."""
        if not numpy.isfinite(self.forest.weights).all():
            return "a weight is not finite"
        if self.aggregate in (Aggregate.MIN, Aggregate.MAX) and not self.forest.certain(self.targets)[0].all():
            return f"{self.aggregate.name} of a target for which some rows have no vote"
        return ""


@lru_cache(maxsize=64)
def ballot_of(operator) -> Ballot:
    """The answers of an ensemble's leaves."""
    is_classifier = isinstance(operator, TreeEnsembleClassifier)
    aggregate = Aggregate.SUM if is_classifier else operator.aggregate
    forest, adds = operator.forest, aggregate in (Aggregate.SUM, Aggregate.AVERAGE)
    numbers: dict[Said, int] = {}
    kinds = []
    starts, targets, weights = forest.starts.tolist(), forest.targets.tolist(), forest.weights.tolist()
    for first, end in zip(starts, starts[1:]):
        said = tuple((targets[vote], weights[vote]) for vote in range(first, end) if not adds or weights[vote] != 0)
        kinds.append(numbers.setdefault(said, len(numbers)))
    count = len(operator.labels) if is_classifier else operator.targets
    return Ballot(forest, count, aggregate, tuple(kinds), tuple(numbers))


def undecided(operator) -> str:
    """Why the best class, or where a base value counts, cannot be known without knowing who has votes; "" where it can."""
    is_classifier = isinstance(operator, TreeEnsembleClassifier)
    count = len(operator.labels) if is_classifier else operator.targets
    if count == 1 or (is_classifier and (count == 2 or operator.base)) or (not is_classifier and not operator.base):
        return ""
    always, ever = operator.forest.certain(count)
    if (always == ever).all() or (is_classifier and _has_positive_sum(operator.forest)):
        return ""
    return "it depends on the data which targets have votes, and weights may be negative"


def _has_positive_sum(forest: Forest) -> bool:
    """Whether no weight is negative, and every leaf has a positive one: then the largest sum is of a target with votes."""
    largest = numpy.zeros(len(forest.starts) - 1)
    numpy.maximum.at(largest, numpy.repeat(numpy.arange(len(largest)), numpy.diff(forest.starts)), forest.weights)
    return bool((forest.weights >= 0).all() and (largest > 0).all())
