# SPDX-License-Identifier: MIT
"""Support vector machines of ai.onnx.ml, as onnxruntime computes them.

A vector machine adds up kernels of the features and its support vectors. A classifier decides between each pair of classes: `rho`
and a row of coefficients belong to a pair, and each decision is a vote. With `prob_a` and `prob_b` decisions become probabilities
(Platt), and probabilities of pairs become probabilities of classes: Wu, Lin and Weng, Probability Estimates for Multi-class
Classification by Pairwise Coupling, JMLR 5 (2004), second method.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.class_scores import Transform, logistic, transformed
from aidge_build.operators.linear_models import labels_of, rows_of, transform_of
from aidge_build.operators.listed import Listed
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers

KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
ROUNDS = 100  # of the coupling, at most
NEAREST = 1e-7  # a probability of a pair keeps away from 0 and 1 by this


@dataclass(frozen=True)
class VectorMachine(Operator):
    """Kernels of the features with `vectors` ([count][features]); without vectors the coefficients are linear weights."""

    features: ClassVar[DType] = DType.float32

    coefficients: Listed = Listed()
    vectors: Listed = Listed()
    rho: Listed = Listed((0.0,))
    kernel: str = "LINEAR"
    gamma: float = 0.0
    coef0: float = 0.0
    degree: float = 0.0
    transform: Transform = Transform.NONE

    @staticmethod
    def read(source) -> dict:
        """Returns the attributes that classifier and regressor share."""
        parameters = source.reals("kernel_params", (0.0, 0.0, 0.0)) or (0.0, 0.0, 0.0)
        require(len(parameters) == 3, f"kernel_params has {len(parameters)} numbers, wants 3")
        kernel = source.text("kernel_type", "LINEAR")
        require(kernel in KERNELS, f"kernel_type '{kernel}' is unknown")
        return {
            "coefficients": Listed(source.reals("coefficients")),
            "vectors": Listed(source.reals("support_vectors", ())),
            "rho": Listed(source.reals("rho")),
            "kernel": kernel if source.reals("support_vectors", ()) else "LINEAR",
            "gamma": parameters[0],
            "coef0": parameters[1],
            "degree": parameters[2],
            "transform": transform_of(source),
        }

    def kernels(self, data: numpy.ndarray) -> numpy.ndarray:
        """Returns the kernel of each row with each support vector, [batch, vectors]."""
        vectors = self.vectors.array().reshape(-1, data.shape[-1])
        if self.kernel == "RBF":
            return numpy.exp(-self.gamma * ((data[:, None] - vectors[None]) ** 2).sum(-1))
        products = data @ vectors.T
        if self.kernel == "LINEAR":
            return products
        inner = self.gamma * products + self.coef0
        return numpy.tanh(inner) if self.kernel == "SIGMOID" else inner**self.degree

    def vector_count(self, features: int) -> int:
        """Returns the number of support vectors; AidgeError if the numbers make no whole vectors."""
        count, rest = divmod(len(self.vectors), features)
        require(rest == 0, f"{len(self.vectors)} numbers make no support vectors of {features} features")
        return count

    def multiply_accumulates(self, inputs, outputs):
        return rows_of(inputs[0].dims)[0] * (len(self.vectors) + len(self.coefficients))


@operator("ai.onnx.ml::SVMRegressor")
class SVMRegressor(VectorMachine):
    """sum(coefficient * kernel(x, vector)) + rho; with one_class its sign, -1 for 0. The transform has no effect.

    Source: ONNX operator SVMRegressor of ai.onnx.ml, as onnxruntime computes it.
    """

    one_class: bool = False

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes(
            *("coefficients", "kernel_params", "kernel_type", "n_supports", "one_class", "post_transform", "rho"),
            "support_vectors",
        )
        found = cls(**cls.read(source), one_class=bool(source.integer("one_class", 0)))
        features, count = rows_of(source.input(0).dims)[1], source.integer("n_supports", 0)
        require(found.vector_count(features) == count, f"n_supports is {count}, the vectors are {found.vector_count(features)}")
        return found

    def infer(self, inputs):
        (data,) = inputs
        batch, features = rows_of(data.dims)
        wanted = self.vector_count(features) if self.vectors else features
        require(len(self.coefficients) == wanted, f"{len(self.coefficients)} coefficients, wants {wanted}")
        require(len(self.rho) == 1, f"rho has {len(self.rho)} numbers, wants 1")
        return (TensorType((batch, 1), DType.float32),)

    def forward(self, data):
        rows = numpy.atleast_2d(data)
        terms = self.kernels(rows) if self.vectors else rows
        sums = terms @ self.coefficients.array()[:, None] + self.rho[0]
        return numpy.where(sums > 0, 1.0, -1.0) if self.one_class else sums

    @classmethod
    def samples(cls):
        vectors = Listed(numbers(4, 3, seed=1).reshape(-1).tolist())
        parameters = {"vectors": vectors, "rho": Listed((0.2,)), "gamma": 0.3, "coef0": 0.5, "degree": 3.0}
        coefficients = Listed((0.5, -1.0, 0.75, 0.1))
        return tuple(Sample(cls(coefficients, kernel=kernel, **parameters), (numbers(2, 3),)) for kernel in KERNELS) + (
            Sample(cls(coefficients, kernel="RBF", one_class=True, **parameters), (numbers(2, 3),)),
            Sample(cls(Listed((0.5, -1.0, 0.75)), rho=Listed((0.2,))), (numbers(3),)),
        )


@operator("ai.onnx.ml::SVMClassifier")
class SVMClassifier(VectorMachine):
    """The class that wins most decisions between two classes, and the decisions or the probabilities of the classes.

    Scores without probabilities: of two classes -d and d (their logistic values with LOGISTIC, 1 - d and d with another
    transform), of more one for each pair, transformed.
    Source: ONNX operator SVMClassifier of ai.onnx.ml, as onnxruntime computes it; labels that are words come as numbers.
    """

    labels: tuple[int, ...] = (0, 1)
    counts: tuple[int, ...] = ()  # support vectors of each class
    prob_a: Listed = Listed()
    prob_b: Listed = Listed()

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes(
            *("classlabels_ints", "coefficients", "kernel_params", "kernel_type", "post_transform", "prob_a", "prob_b", "rho"),
            *("support_vectors", "vectors_per_class"),
        )
        return cls(
            **cls.read(source),
            labels=labels_of(source, "classlabels_ints"),
            counts=source.integers("vectors_per_class", ()),
            prob_a=Listed(source.reals("prob_a", ())),
            prob_b=Listed(source.reals("prob_b", ())),
        )

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of classes, in the order of rho."""
        return tuple(combinations(range(len(self.labels)), 2))

    @property
    def score_count(self) -> int:
        """The numbers of the second output."""
        classes = len(self.labels)
        return classes if self.prob_a or not self.counts or classes == 2 else len(self.pairs)

    @property
    def all_positive(self) -> bool:
        """Whether no coefficient is negative; linear weights for two classes then decide at 0.5."""
        return all(one >= 0 for one in self.coefficients)

    def infer(self, inputs):
        (data,) = inputs
        batch, features = rows_of(data.dims)
        classes = len(self.labels)
        require(classes > 1, "it has one class")
        if self.counts:
            self._check_pairs(features)
        else:
            require(len(self.coefficients) == classes * features, f"{len(self.coefficients)} coefficients")
            require(len(self.rho) > 0 and not self.prob_a, "linear weights want rho and no probabilities")
        return TensorType((batch,), DType.int64), TensorType((batch, self.score_count), DType.float32)

    def _check_pairs(self, features: int) -> None:
        classes, count, pairs = len(self.labels), self.vector_count(features), len(self.pairs)
        require(len(self.counts) == classes, f"{classes} labels, but {len(self.counts)} vectors_per_class")
        require(
            min(self.counts) >= 0 and sum(self.counts) == count, f"{count} support vectors, but {sum(self.counts)} in classes"
        )
        wanted = (classes - 1) * count
        require(len(self.coefficients) == wanted, f"{len(self.coefficients)} coefficients, wants {wanted}")
        require(len(self.rho) == pairs, f"rho has {len(self.rho)} numbers, wants {pairs}")
        fits = len(self.prob_a) == len(self.prob_b) and len(self.prob_a) in (0, pairs)
        require(fits, f"prob_a and prob_b have {len(self.prob_a)} and {len(self.prob_b)} numbers, want {pairs}")
        one = classes == 2 and not self.prob_a
        require(not (one and self.transform is Transform.PROBIT), "PROBIT of one decision")

    def decisions(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Returns the decision between each pair of classes, [batch, pairs]: positive for the first class."""
        kernels = self.kernels(rows)
        coefficients = self.coefficients.array().reshape(len(self.labels) - 1, -1)
        ends = numpy.cumsum([0, *self.counts])
        spans = [slice(*ends[index : index + 2]) for index in range(len(self.counts))]
        found = [
            kernels[:, spans[one]] @ coefficients[other - 1, spans[one]]
            + kernels[:, spans[other]] @ coefficients[one, spans[other]]
            + self.rho[index]
            for index, (one, other) in enumerate(self.pairs)
        ]
        return numpy.stack(found, -1)

    def forward(self, data):
        rows = numpy.atleast_2d(data)
        labels = numpy.array(self.labels, numpy.int64)
        if not self.counts:
            return self._linear(rows, labels)
        decisions = self.decisions(rows)
        votes = numpy.zeros((len(rows), len(labels)), numpy.int64)
        for index, (one, other) in enumerate(self.pairs):
            votes[:, one] += decisions[:, index] > 0
            votes[:, other] += ~(decisions[:, index] > 0)
        winner = labels[votes.argmax(-1)]
        if self.prob_a:
            return winner, transformed(self.probabilities(decisions), self.transform)
        if len(labels) == 2:
            both = numpy.concatenate([-decisions, decisions], -1)
            if self.transform is Transform.LOGISTIC:
                return winner, logistic(both)
            return winner, both if self.transform is Transform.NONE else numpy.concatenate([1 - decisions, decisions], -1)
        return winner, transformed(decisions, self.transform)

    def _linear(self, rows, labels):
        scores = rows @ self.coefficients.array().reshape(len(labels), -1).T + self.rho[0]
        best = scores.argmax(-1)
        if len(labels) == 2:
            largest = scores.max(-1)
            best = numpy.where(largest >= 0.5 if self.all_positive else largest > 0, 1, best)
        return labels[best], transformed(scores, self.transform)

    def probabilities(self, decisions: numpy.ndarray) -> numpy.ndarray:
        """Returns the probability of each class, [batch, classes]."""
        pairs = 1 - logistic(decisions * self.prob_a.array() + self.prob_b.array())
        return numpy.stack([self._coupled(row) for row in numpy.clip(pairs, NEAREST, 1 - NEAREST)])

    def _coupled(self, pairs: numpy.ndarray) -> numpy.ndarray:
        """Returns the probabilities of classes that fit the probabilities of pairs best."""
        classes = len(self.labels)
        ratio = numpy.zeros((classes, classes))
        for index, (one, other) in enumerate(self.pairs):
            ratio[one, other], ratio[other, one] = pairs[index], 1 - pairs[index]
        matrix = -ratio.T * ratio
        numpy.fill_diagonal(matrix, (ratio.T**2).sum(-1))
        found = numpy.full(classes, 1 / classes)
        for _ in range(ROUNDS):
            products = matrix @ found
            whole = found @ products
            if numpy.abs(products - whole).max() < 0.005 / classes:
                break
            for index in range(classes):
                step = (whole - products[index]) / matrix[index, index]
                found[index] += step
                whole = (whole + step * (step * matrix[index, index] + 2 * products[index])) / (1 + step) ** 2
                products = (products + step * matrix[index]) / (1 + step)
                found /= 1 + step
        return found

    @classmethod
    def samples(cls):
        vectors = Listed(numbers(5, 3, seed=1).reshape(-1).tolist())
        three = {
            "coefficients": Listed(numbers(2, 5, seed=2).reshape(-1).tolist()),
            "vectors": vectors,
            "rho": Listed((0.2, -0.1, 0.3)),
            "gamma": 0.3,
            "labels": (4, 0, 9),
            "counts": (2, 1, 2),
        }
        two = {"coefficients": Listed(numbers(5, seed=3).tolist()), "vectors": vectors, "labels": (4, 9), "counts": (2, 3)}
        return (
            Sample(cls(kernel="RBF", **three), (numbers(2, 3),)),
            Sample(
                cls(kernel="RBF", prob_a=Listed((-1.0, -2.0, -0.5)), prob_b=Listed((0.1, 0.2, 0.3)), **three), (numbers(2, 3),)
            ),
            Sample(cls(**two), (numbers(2, 3),)),
            Sample(cls(transform=Transform.LOGISTIC, **two), (numbers(3),)),
            Sample(cls(Listed(numbers(2, 3, seed=4).reshape(-1).tolist()), labels=(1, 2)), (numbers(2, 3),)),
        )
