# SPDX-License-Identifier: MIT
"""C that makes scores and labels of what the trees of a forest said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Constant
from aidge_build.graph.dtype import DType
from aidge_build.operators.class_scores import Transform
from aidge_build.operators.forest import Aggregate
from aidge_build.operators.tree_ensemble import TreeEnsembleClassifier, TreeEnsembleRegressor

_TRANSFORMS = {
    Transform.SOFTMAX: "softmax",
    Transform.LOGISTIC: "logistic",
    Transform.SOFTMAX_ZERO: "softmax_zero",
    Transform.PROBIT: "probit",
}


@dataclass(frozen=True)
class Votes:
    """How the statements behind the trees find the sums: `sum_of(target)` is an expression; `order_of(target)` another one that
    is larger where the sum is larger. `real` is the C type of a sum."""

    real: str
    in_scores: bool  # whether the sums lie in `scores` already
    sum_name: str
    order_name: str

    def sum_of(self, target: str) -> str:
        """The sum of a target."""
        return self.sum_name.format(target)

    def order_of(self, target: str) -> str:
        """A number in the order of the sums."""
        return self.order_name.format(target)


def transform_lines(transform: Transform, count: int) -> list[str]:
    """The scores, transformed in place."""
    return [f"aidge_ref_scores_{_TRANSFORMS[transform]}(scores, {count});"] if transform in _TRANSFORMS else []


def finish(operator, votes: Votes) -> tuple[list[str], list[Constant]]:
    """(statements, constants)."""
    if isinstance(operator, TreeEnsembleRegressor):
        return _regressor(operator, votes)
    return _two_classes(operator, votes) if len(operator.labels) == 2 else _classes(operator, votes)


def _base(operator, votes: Votes) -> list[Constant]:
    kind = numpy.float64 if votes.real == "double" else numpy.float32
    return [Constant("base", numpy.array(operator.base, kind))] if operator.base else []


def _stored(votes: Votes, expression: str) -> str:
    return f"(float)({expression})" if votes.real == "double" else expression


def _regressor(operator: TreeEnsembleRegressor, votes: Votes) -> tuple[list[str], list[Constant]]:
    trees, count = len(operator.forest.roots), operator.targets
    target = "0" if count == 1 else "i"
    value = votes.sum_of(target)
    if operator.aggregate is Aggregate.AVERAGE:
        value = f"{value} / {trees}.0{'' if votes.real == 'double' else 'f'}"
    value += f" + base[{target}]" if operator.base else ""
    lines = [f"scores[{target}] = {value if operator.result is DType.float64 else _stored(votes, value)};"]
    if count > 1:
        unchanged = value == f"scores[{target}]"
        lines = [] if unchanged else [f"for (i = 0; i < {count}; i++) {{", *(f"    {line}" for line in lines), "}"]
    constants = _base(operator, votes)
    if operator.base and count > 1:
        constants = [Constant("base", numpy.where(operator.forest.certain(count)[1], constants[0].values, 0))]
    return lines + transform_lines(operator.effective_transform, count), constants


def _classes(operator: TreeEnsembleClassifier, votes: Votes) -> tuple[list[str], list[Constant]]:
    count = len(operator.labels)
    _, ever = operator.forest.certain(count)
    candidates = list(range(count)) if operator.base else numpy.flatnonzero(ever).tolist()
    constants, lines, order = _base(operator, votes), [], votes.order_of
    if operator.base:
        loop = [f"for (i = 0; i < {count}; i++) {{", f"    {votes.sum_of('i')} += base[i];", "}"]
        if votes.sum_of("i") not in ("scores[i]", "sums[i]"):
            loop[1] = f"    scores[i] = {votes.sum_of('i')} + base[i];"
            order = "scores[{}]".format
        lines += loop
    name, table = "{}", []
    if candidates != list(range(count)):
        table = [Constant("candidates", numpy.array(candidates, numpy.uint16))]
        name = "candidates[{}]"
    better = f"{order(name.format('i'))} > {order(name.format('best'))}"
    lines += [
        "best = 0;",
        f"for (i = 1; i < {len(candidates)}; i++) {{",
        f"    best = {better} ? i : best;",
        "}",
        *_label(operator.labels, name.format("best"), constants),
    ]
    if order == votes.order_of and votes.sum_of("i") != "scores[i]":
        lines += [f"for (i = 0; i < {count}; i++) {{", f"    scores[i] = {_stored(votes, votes.sum_of('i'))};", "}"]
    return lines + transform_lines(operator.transform, count), constants + table


def _label(labels: Sequence[int], best: str, constants: list[Constant]) -> list[str]:
    first = labels[0]
    if all(label == first + place for place, label in enumerate(labels)):
        return [f"*labels = (int64_t){best}" + (f" + {first}LL" if first > 0 else f" - {-first}LL" if first else "") + ";"]
    constants.append(Constant("label_values", numpy.array(labels, numpy.int64)))
    return [f"*labels = label_values[{best}];"]


def _two_classes(operator: TreeEnsembleClassifier, votes: Votes) -> tuple[list[str], list[Constant]]:
    real, suffix = votes.real, "" if votes.real == "double" else "f"
    first, second = _sums_of_two(operator, votes)
    is_all, voted_second = all(operator.voted), operator.voted[1]
    limit = f"0.5{suffix}" if operator.is_positive and not is_all else f"0.0{suffix}"
    yes, no = (1, 0) if is_all else (operator.labels[1], operator.labels[0])
    label = f"*labels = {'second' if voted_second else 'first'} > {limit} ? {_integer(yes)} : {_integer(no)};"
    sums, stored = [f"const {real} second = {second};", f"const {real} first = {first};"], _stored(votes, "first")
    if not operator.is_pair:
        scores = [f"scores[0] = {stored};", f"scores[1] = {_stored(votes, 'second')};"]
        return _block([*sums, label, *scores, *transform_lines(operator.transform, 2)]), _base(operator, votes)
    if operator.transform is Transform.LOGISTIC:
        scores = [f"scores[{place}] = aidge_ref_score_logistic({sign}{stored});" for place, sign in ((0, "-"), (1, ""))]
    else:
        other = f"1.0{suffix} - first" if operator.is_positive else "-first"
        scores = [f"scores[0] = {_stored(votes, other)};", f"scores[1] = {stored};"]
    return _block([sums[1], label, *scores]), _base(operator, votes)


def _sums_of_two(operator: TreeEnsembleClassifier, votes: Votes) -> tuple[str, str]:
    """The expressions of the sums of two classes, with what they begin with."""
    zero = "0.0" if votes.real == "double" else "0.0f"
    voted_first, voted_second = operator.voted
    first, second = (votes.sum_of(target) if voted else zero for target, voted in zip("01", operator.voted))
    if len(operator.base) == 2 and voted_second:
        return "-second" if voted_first else first, f"base[1] + {first}"
    if len(operator.base) == 2 or (len(operator.base) == 1 and voted_first):
        return f"{first} + base[0]", second
    return first, second


def _block(lines: list[str]) -> list[str]:
    return ["{", *(f"    {line}" for line in lines), "}"]


def _integer(value: int) -> str:
    return f"{value}LL" if value > -(1 << 63) else "(-9223372036854775807LL - 1)"
