# SPDX-License-Identifier: MIT
"""Ensembles of decision trees: the operators of the domain ai.onnx.ml, in all its versions."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.class_scores import Transform, logistic, transformed
from aidge_build.operators.forest import Aggregate, Forest
from aidge_build.operators.forest_reading import (
    NODE_ATTRIBUTES,
    TREE_ENSEMBLE_ATTRIBUTES,
    compared_type,
    read_nodes,
    read_numbers,
    read_tree_ensemble,
)
from aidge_build.operators.register import operator


def _rows(dims: tuple[int, ...]) -> tuple[int, int]:
    """Returns (rows, features) of the input; an input with one axis is one row."""
    require(len(dims) in (1, 2), f"the features have {len(dims)} axes, wants 1 or 2")
    return (1, dims[0]) if len(dims) == 1 else (dims[0], dims[1])


def _named(kind, name: str):
    require(name in kind.__members__, f"{name!r} is unknown", hint=f"known are {', '.join(kind.__members__)}")
    return kind[name]


def _numbered(kind, number: int):
    require(number in list(kind), f"{kind.__name__.lower()} {number} is unknown", hint=f"known are 0 to {len(kind) - 1}")
    return kind(number)


class Ensemble(Operator):
    """Base of all ensembles."""

    by_steps: ClassVar = True

    forest: Forest
    transform: Transform

    def checked_rows(self, dims: tuple[int, ...]) -> int:
        """Returns the number of rows of the features; AidgeError if the trees read more features."""
        rows, features = _rows(dims)
        require(self.forest.feature_count <= features, f"the trees read {self.forest.feature_count} features of {features}")
        return rows


@operator("ai.onnx.ml::TreeEnsembleRegressor", "ai.onnx.ml::TreeEnsemble")
class TreeEnsembleRegressor(Ensemble):
    """The aggregated votes of trees for each target, with a base value, transformed; float32 sums in the order of the trees.

    Source: ONNX operators TreeEnsembleRegressor and TreeEnsemble (ai.onnx.ml). For one target onnxruntime only takes PROBIT.
    """

    forest: Forest
    targets: int = 1
    aggregate: Aggregate = Aggregate.SUM
    transform: Transform = Transform.NONE
    base: tuple[float, ...] = ()
    result: DType = DType.float32

    @classmethod
    def from_onnx(cls, source):
        found = cls._tree_ensemble(source) if source.op_type == "TreeEnsemble" else cls._regressor(source)
        require(found.targets > 0, f"n_targets is {found.targets}")
        found.forest.check(found.targets)
        return found

    @classmethod
    def _regressor(cls, source):
        names = ("aggregate_function", "n_targets", "target_ids", "target_nodeids", "target_treeids", "target_weights")
        source.expect_attributes(*NODE_ATTRIBUTES, *names, "target_weights_as_tensor")
        base = read_numbers(source, "base_values", compared_type(source.input(0).dtype))
        targets = source.integer("n_targets", 1)
        require(len(base) in (0, targets), f"base_values has {len(base)} entries, wants {targets} or none")
        return cls(
            read_nodes(source, "target"),
            targets,
            _named(Aggregate, source.text("aggregate_function", "SUM")),
            _named(Transform, source.text("post_transform", "NONE")),
            tuple(base.tolist()),
        )

    @classmethod
    def _tree_ensemble(cls, source):
        source.expect_attributes(*TREE_ENSEMBLE_ATTRIBUTES)
        aggregate = _numbered(Aggregate, source.integer("aggregate_function", 1))
        transform = _numbered(Transform, source.integer("post_transform", 0))
        targets = source.integer("n_targets", 1)
        return cls(read_tree_ensemble(source), targets, aggregate, transform, result=source.input(0).dtype)

    @property
    def effective_transform(self) -> Transform:
        """The transform that is computed: for one target only PROBIT."""
        return self.transform if self.targets > 1 or self.transform is Transform.PROBIT else Transform.NONE

    def takes_base(self, voted: numpy.ndarray) -> numpy.ndarray:
        """Returns a mask of the numbers that get the base value: for several targets, as in onnxruntime, only targets with a
        vote."""
        return voted | (self.targets == 1)

    def infer(self, inputs):
        return (TensorType((self.checked_rows(inputs[0].dims), self.targets), self.result),)

    def forward(self, rows):
        numbers, voted = self.forest.votes(rows.reshape(_rows(rows.shape)), self.targets, self.aggregate)
        if self.aggregate is Aggregate.AVERAGE:
            numbers = numbers / numbers.dtype.type(len(self.forest.roots))
        if self.base:
            numbers = numbers + numpy.where(self.takes_base(voted), numpy.array(self.base, numbers.dtype), 0)
        return transformed(numbers, self.effective_transform)


@operator("ai.onnx.ml::TreeEnsembleClassifier")
class TreeEnsembleClassifier(Ensemble):
    """The label of the class with the highest score, and the scores: votes of trees in float32, in their order, transformed.

    Source: ONNX operator TreeEnsembleClassifier (ai.onnx.ml), as onnxruntime computes it. With two classes the score decides
    against 0, or against 0.5 where all weights are positive and name one class; if the weights name both classes, the label is
    1 or 0, whatever the labels are.
    """

    forest: Forest
    labels: tuple[int, ...] = (0, 1)
    transform: Transform = Transform.NONE
    base: tuple[float, ...] = ()

    @classmethod
    def from_onnx(cls, source):
        names = ("class_ids", "class_nodeids", "class_treeids", "class_weights", "class_weights_as_tensor")
        source.expect_attributes(*NODE_ATTRIBUTES, *names, "classlabels_int64s")
        labels = source.integers("classlabels_int64s", ())  # words are numbers when they come here
        require(len(labels) > 0, "it has no class labels")
        require(len(labels) > 1, "there is one class", hint="train with at least two classes")
        base = read_numbers(source, "base_values", compared_type(source.input(0).dtype))
        known = (0, 1, 2) if len(labels) == 2 else (0, len(labels))
        require(len(base) in known, f"base_values has {len(base)} entries, wants {' or '.join(map(str, known))}")
        transform = _named(Transform, source.text("post_transform", "NONE"))
        found = cls(read_nodes(source, "class"), labels, transform, tuple(base.tolist()))
        found.forest.check(len(labels))
        found.check_two_classes()
        return found

    def check_two_classes(self) -> None:
        """Refuses two classes if the set of classes with votes depends on the data, if no leaf votes, or for PROBIT with one
        column of weights."""
        if len(self.labels) > 2:
            return
        always, ever = self.forest.certain(2)
        require(bool(ever.any()), "no leaf votes for a class")
        hint = "let every leaf vote for both classes, or all for the same one"
        require(bool((always == ever).all()), "it depends on the data for which of two classes there are votes", hint=hint)
        pair = self.is_pair
        require(not pair or self.transform is not Transform.PROBIT, "PROBIT of one column of weights for two classes")

    @property
    def voted(self) -> tuple[bool, ...]:
        """Whether leaves vote for it, for each of two classes."""
        return tuple(self.forest.certain(2)[1].tolist())

    @property
    def is_pair(self) -> bool:
        """Whether one number is the score of both classes: the weights name the first, and there is no second base value."""
        return len(self.labels) == 2 and self.voted == (True, False) and len(self.base) < 2

    @property
    def is_positive(self) -> bool:
        """Whether no weight is negative."""
        return bool((self.forest.weights >= 0).all())

    def infer(self, inputs):
        rows = self.checked_rows(inputs[0].dims)
        return TensorType((rows,), DType.int64), TensorType((rows, len(self.labels)), DType.float32)

    def forward(self, rows):
        votes, voted = self.forest.votes(rows.reshape(_rows(rows.shape)), len(self.labels), Aggregate.SUM)
        base = numpy.array(self.base, votes.dtype)
        if len(self.labels) == 2:
            return self._of_two(votes, base)
        scores = votes + base if len(base) else votes
        candidates = numpy.where(voted | bool(len(base)), scores, -numpy.inf)
        best = candidates.argmax(-1)
        labels = numpy.array(self.labels, numpy.int64)[best]
        return labels, transformed(scores, self.transform)

    def _of_two(self, votes: numpy.ndarray, base: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        first, second = votes.T
        if len(base) == 1:
            first = numpy.where(self.voted[0], first + base[0], 0)
        elif len(base) == 2 and self.voted[1]:
            second = base[1] + first
            first = numpy.where(self.voted[0], -second, 0)
        elif len(base) == 2:
            first = first + base[0]
        first, second = first.astype(votes.dtype), second.astype(votes.dtype)
        decisive = second if self.voted[1] else first
        limit = 0.5 if self.is_positive and not all(self.voted) else 0.0
        labels = numpy.where(decisive > limit, *((1, 0) if all(self.voted) else (self.labels[1], self.labels[0])))
        return labels.astype(numpy.int64), self._pair(first) if self.is_pair else self._both(first, second)

    def _both(self, first: numpy.ndarray, second: numpy.ndarray) -> numpy.ndarray:
        return transformed(numpy.stack([first, second], -1), self.transform)

    def _pair(self, score: numpy.ndarray) -> numpy.ndarray:
        if self.transform is Transform.LOGISTIC:
            return numpy.stack([logistic(-score), logistic(score)], -1)
        other = score.dtype.type(1) - score if self.is_positive else -score
        return numpy.stack([other, score], -1)
