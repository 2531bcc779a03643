# SPDX-License-Identifier: MIT
"""Linear models of ai.onnx.ml: weighted sums of features, and the class of the largest one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.class_scores import Transform, logistic, transformed
from aidge_build.operators.listed import Listed
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


def rows_of(dims: tuple[int, ...]) -> tuple[int, int]:
    """Returns (batch, features) of an input of one dim or two."""
    require(1 <= len(dims) <= 2, f"the input has the dims {list(dims)}, wants one or two")
    return (1, dims[0]) if len(dims) == 1 else (dims[0], dims[1])


def transform_of(source) -> Transform:
    """The attribute post_transform."""
    name = source.text("post_transform", "NONE")
    require(name in Transform.__members__, f"post_transform '{name}' is unknown")
    return Transform[name]


def labels_of(source, name: str) -> tuple[int, ...]:
    """The class labels; words are numbers when they come here."""
    labels = source.integers(name, ())
    require(len(labels) > 0, "it has no class labels")
    return labels


@dataclass(frozen=True)
class LinearModel(Operator):
    """scores = x * coefficients^T + intercepts, transformed; coefficients are [scores][features]."""

    features: ClassVar[DType] = DType.float32

    coefficients: Listed = Listed()
    intercepts: Listed = Listed((0.0,))
    transform: Transform = Transform.NONE

    def weights(self) -> numpy.ndarray:
        """The coefficients as [scores, features]."""
        return self.coefficients.array().reshape(len(self.intercepts), -1)

    def scored(self, data: numpy.ndarray) -> numpy.ndarray:
        """The scores before the transform, [batch, scores]."""
        return numpy.atleast_2d(data) @ self.weights().T + self.intercepts.array()

    def check(self, features: int) -> None:
        """Refuses coefficients that do not fit the input."""
        count = len(self.intercepts) * features
        require(len(self.coefficients) == count, f"{len(self.coefficients)} coefficients, wants {count}")

    def multiply_accumulates(self, inputs: Sequence, outputs: Sequence) -> int:
        return rows_of(inputs[0].dims)[0] * len(self.coefficients)


@operator("ai.onnx.ml::LinearRegressor")
class LinearRegressor(LinearModel):
    """Weighted sums of the features. Source: ONNX operator LinearRegressor of ai.onnx.ml; as in onnxruntime, a single target is
    not transformed unless by PROBIT."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("coefficients", "intercepts", "post_transform", "targets")
        targets = source.integer("targets", 1)
        require(0 < targets <= len(source.reals("coefficients")), f"targets is {targets}")
        intercepts = source.reals("intercepts", ())
        return cls(
            Listed(source.reals("coefficients")),
            Listed(intercepts if len(intercepts) == targets else (0.0,) * targets),
            transform_of(source),
        )

    @property
    def applied(self) -> Transform:
        """The transform that has an effect."""
        return self.transform if len(self.intercepts) > 1 or self.transform is Transform.PROBIT else Transform.NONE

    def infer(self, inputs):
        (data,) = inputs
        batch, features = rows_of(data.dims)
        self.check(features)
        return (TensorType((batch, len(self.intercepts)), DType.float32),)

    def forward(self, data):
        return transformed(self.scored(data), self.applied)

    @classmethod
    def samples(cls):
        weights = Listed((0.5, -1.0, 2.0, 1.5, 0.25, -0.75))
        return (
            Sample(cls(weights, Listed((0.1, -0.2))), (numbers(2, 3),)),
            Sample(cls(weights, Listed((0.1, -0.2)), Transform.SOFTMAX), (numbers(3),)),
        )


@operator("ai.onnx.ml::LinearClassifier")
class LinearClassifier(LinearModel):
    """The label of the largest weighted sum of the features, and all sums, transformed.

    With one sum and two labels the second label means a positive sum s, and the scores are 1 - s and s, or with LOGISTIC
    the logistic values of -s and s. Source: ONNX operator LinearClassifier of ai.onnx.ml, as onnxruntime computes it; labels that
    are words come as numbers.
    """

    labels: tuple[int, ...] = (0, 1)

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("classlabels_ints", "coefficients", "intercepts", "multi_class", "post_transform")
        labels = labels_of(source, "classlabels_ints")
        coefficients = source.reals("coefficients")
        intercepts = source.reals("intercepts", (0.0,) * max(len(coefficients) // max(rows_of(source.input(0).dims)[1], 1), 1))
        return cls(Listed(coefficients), Listed(intercepts), transform_of(source), labels)

    @property
    def adds_second(self) -> bool:
        """Whether one sum gives two scores."""
        return len(self.intercepts) == 1 and len(self.labels) == 2

    @property
    def applied(self) -> Transform:
        """The transform that has an effect: one sum is not transformed unless by PROBIT."""
        return self.transform if len(self.intercepts) > 1 or self.transform is Transform.PROBIT else Transform.NONE

    @property
    def choices(self) -> tuple[int, ...]:
        """The possible labels; the label for a positive single sum is the last."""
        return self.labels if len(self.intercepts) > 1 or self.adds_second else (0, 1)

    def infer(self, inputs):
        (data,) = inputs
        batch, features = rows_of(data.dims)
        self.check(features)
        scores = len(self.intercepts)
        require(scores == 1 or scores <= len(self.labels), f"{scores} sums, but {len(self.labels)} labels")
        require(not (self.adds_second and self.transform is Transform.PROBIT), "PROBIT of one sum for two labels")
        return TensorType((batch,), DType.int64), TensorType((batch, 2 if self.adds_second else scores), DType.float32)

    def forward(self, data):
        scores = self.scored(data)
        best = scores.argmax(-1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(numpy.int64)
        labels = numpy.array(self.choices, numpy.int64)[best]
        if self.adds_second and self.transform is Transform.LOGISTIC:
            return labels, logistic(numpy.concatenate([-scores, scores], -1))
        if self.adds_second:
            return labels, numpy.concatenate([1 - scores, scores], -1)
        return labels, transformed(scores, self.applied)

    @classmethod
    def samples(cls):
        weights, bias = Listed((0.5, -1.0, 2.0, 1.5, 0.25, -0.75)), Listed((0.1, -0.2))
        return (
            Sample(cls(weights, bias, Transform.SOFTMAX, (7, 3)), (numbers(2, 3),)),
            Sample(cls(weights, bias, Transform.LOGISTIC), (numbers(3),)),
            Sample(cls(Listed((0.5, -1.0)), Listed((0.1,)), Transform.NONE, (4, 5)), (numbers(3, 2),)),
            Sample(cls(Listed((0.5, -1.0)), Listed((0.1,)), Transform.LOGISTIC, (4, 5)), (numbers(3, 2),)),
            Sample(cls(Listed((0.5, -1.0)), Listed((0.1,)), Transform.NONE, (4,)), (numbers(3, 2),)),
        )
