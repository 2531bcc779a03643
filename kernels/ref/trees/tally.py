# SPDX-License-Identifier: MIT
"""C that adds up what the leaves say, tree after tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy

from aidge_build.contract.call import Constant
from aidge_build.graph.dtype import DType
from aidge_build.operators.forest import Aggregate
from aidge_build.operators.tree_ensemble import TreeEnsembleClassifier

from .ballots import Ballot, ballot_of
from .finish import Votes
from .plan import Plan
from .walk import places_of


@dataclass(frozen=True, eq=False)
class Tally:
    """How the votes of a forest are added up; `bytes` of scratch. Counts have a cell for each target and one for no target."""

    ballot: Ballot
    is_single: bool  # whether one sum says it all
    votes: Votes
    bytes: int
    _locals: tuple[str, ...]
    start: tuple[str, ...]

    @property
    def is_counted(self) -> bool:
        """Whether trees are counted."""
        return self.ballot.counted_weight is not None

    def locals(self, offset: int) -> list[str]:
        """Declarations, given where in the scratch bytes those of the tally begin."""
        place = f"(void *)((uint8_t *)scratch + {offset})" if offset else "scratch"
        return [f"{one}{place};" if one.endswith("*)") else one for one in self._locals]

    def add(self, tree: str) -> list[str]:
        """The statements after a tree; `leaf` is the number of its leaf in its part of the table."""
        if self.is_counted:
            return ["votes[leaf]++;"]
        if self.ballot.target_of_tree is not None:
            where = "sum" if self.is_single else f"{self.votes.sum_of(self._target(tree))}"
            return self._with(where, "at[leaf]")
        lines = self._with(self.votes.sum_of("pair[0] >> 1"), "weights[pair[1]]")
        kind = DType(self.ballot.pair_type.name).c_type
        return [
            "{",
            f"    const {kind} *pair = at + 2u * leaf;",
            *(f"    {line}" for line in lines),
            "    while ((pair[0] & 1u) == 0u) {",
            "        pair += 2;",
            *(f"        {line}" for line in lines),
            "    }",
            "}",
        ]

    def advance(self, leaves: str) -> str:
        """On to the part of the table that belongs to the next tree; "" where all trees share one."""
        if self.is_counted:
            return ""
        return f"at += {leaves};" if self.ballot.target_of_tree is not None else f"at += 2u * {leaves};"

    def leaf_places(self, plan: Plan) -> list[Mapping[int, int]]:
        """For each tree of a plan as code the place of a leaf in its part of the table."""
        trees = [plan.diagram.leaves(root) for root in plan.diagram.roots]
        if self.is_counted:
            return [{leaf: leaf for leaf in leaves} for leaves in trees]
        return [places_of(leaves, self.ballot.width) for leaves in trees]

    def entries(self, leaves: Iterable[int]) -> int:
        """How many entries these leaves have."""
        return sum(map(self.ballot.width, leaves))

    def constants(self, plan: Plan) -> list[Constant]:
        """The constants in flash that the statements read."""
        if self.is_counted:
            return [Constant("counted", self.ballot.sums)]
        leaves = plan.layout.table if plan.layout else [leaf for places in self.leaf_places(plan) for leaf in places]
        if self.ballot.target_of_tree is None:
            return [Constant("weights", self.ballot.different_weights), Constant("pairs", self.ballot.pairs(leaves))]
        found = [Constant("weights", self.ballot.values(leaves))]
        if plan.layout and not self.is_single:
            kind = numpy.uint8 if self.ballot.targets <= 256 else numpy.uint16
            found.append(Constant("targets", numpy.array(self.ballot.target_of_tree, kind)))
        return found

    def pointer(self, constants: Sequence[Constant]) -> list[str]:
        """The declaration of where the table of the trees begins."""
        if self.is_counted:
            return []
        table = next(one for one in reversed(constants) if one.name in ("weights", "pairs"))
        return [f"const {DType(table.values.dtype.name).c_type} *at = {table.name};"]

    def _target(self, tree: str) -> str:
        if tree.isdigit():
            return str(self.ballot.target_of_tree[int(tree)])
        return "targets[tree]"

    def _with(self, where: str, weight: str) -> list[str]:
        if self.ballot.aggregate in (Aggregate.SUM, Aggregate.AVERAGE):
            return [f"{where} += {weight};"]
        sign = "<" if self.ballot.aggregate is Aggregate.MIN else ">"
        return [f"{where} = {weight} {sign} {where} ? {weight} : {where};"]


@lru_cache(maxsize=64)
def tally_of(operator) -> Tally:
    """How the votes of an ensemble are added up."""
    ballot = ballot_of(operator)
    is_classifier = isinstance(operator, TreeEnsembleClassifier)
    is_double = ballot.forest.weights.dtype == numpy.float64
    real, targets = "double" if is_double else "float", ballot.targets
    if ballot.counted_weight is not None:
        return _counted(ballot, real)
    ever = {target for said in ballot.said for target, _ in said}
    is_single = ballot.target_of_tree is not None and targets <= 1 + is_classifier and len(ever) == 1
    first = {Aggregate.MIN: "INFINITY", Aggregate.MAX: "-INFINITY"}.get(ballot.aggregate, "0.0" + ("" if is_double else "f"))
    if is_single:
        return Tally(ballot, True, Votes(real, False, "sum", "sum"), 0, (f"{real} sum = {first};",), ())
    name = "sums" if is_double else "scores"
    votes = Votes(real, not is_double, f"{name}[{{}}]", f"{name}[{{}}]")
    names = ("double *const sums = (double *)",) if is_double else ()
    start = (f"for (i = 0; i < {targets}; i++) {{", f"    {name}[i] = {first};", "}")
    return Tally(ballot, False, votes, 8 * targets if is_double else 0, names, start)


def _counted(ballot: Ballot, real: str) -> Tally:
    cell = numpy.dtype(numpy.uint8 if len(ballot.forest.roots) < 256 else numpy.uint16)
    cells = ballot.targets + 1
    grows = bool((numpy.diff(ballot.sums) > 0).all())
    votes = Votes(real, False, "counted[votes[{}]]", "votes[{}]" if grows else "counted[votes[{}]]")
    names = (f"{cell.name}_t *const votes = ({cell.name}_t *)",)
    start = (f"(void)memset(votes, 0, {cells}u * sizeof *votes);",)
    return Tally(ballot, False, votes, 8 * -(-cells * cell.itemsize // 8), names, start)
