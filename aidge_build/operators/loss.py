# SPDX-License-Identifier: MIT
"""Losses for training: cross-entropy of class scores, and the mean squared error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.kinds import ElementWiseBinary
from aidge_build.operators.register import attribute, operator
from aidge_build.operators.sample import Sample, numbers

REDUCTIONS = ("none", "sum", "mean")


@dataclass(frozen=True)
class ClassLoss(Operator):
    """Base: the loss of rows along axis 1 with one label each, optionally weighted per class.

    Inputs: rows [N, C, ...], labels [N, ...] in 0..C-1, optional weights [C]. With reduction none the loss has the dims of the
    labels; sum and mean give one number, the mean over the weights. A label equal to `ignore` counts nowhere.
    """

    reduction: str = "mean"
    ignore: int | None = None

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("ignore_index", "reduction")
        reduction = source.text("reduction", "mean")
        require(reduction in REDUCTIONS, f"reduction {reduction!r} is unknown", f"known are {', '.join(REDUCTIONS)}")
        return cls(reduction, source.integer("ignore_index", None))

    def infer(self, inputs):
        rows, labels, *weights = inputs
        require(
            rows.rank >= 2 and labels.dims == (rows.dims[0], *rows.dims[2:]),
            f"the labels {list(labels.dims)} do not fit the rows {list(rows.dims)}",
        )
        require(
            not weights or weights[0] is None or weights[0].dims == rows.dims[1:2],
            f"the weights must have the dims [{rows.dims[1]}]",
        )
        return (TensorType(labels.dims if self.reduction == "none" else (), rows.dtype),)

    def _labels(self, rows, labels, weights) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Returns the labels as indices along axis 1 of the rows, and the weight of each."""
        counts = numpy.ones(labels.shape, bool) if self.ignore is None else labels != self.ignore
        known = numpy.where(counts, labels, 0).astype(numpy.int64)
        require(bool(((known >= 0) & (known < rows.shape[1])).all()), f"a label is outside 0..{rows.shape[1] - 1}")
        return numpy.expand_dims(known, 1), counts * (1.0 if weights is None else weights[known])

    def _loss(self, logarithms, labels, weights) -> numpy.ndarray:
        places, factors = self._labels(logarithms, labels, weights)
        losses = -numpy.take_along_axis(logarithms, places, 1)[:, 0] * factors
        if self.reduction == "none":
            return losses
        return numpy.asarray(losses.sum() / (factors.sum() if self.reduction == "mean" else 1.0))

    def _loss_backward(self, gradient, logarithms, labels, weights) -> tuple[numpy.ndarray, numpy.ndarray | None]:
        """The gradients of the logarithms and of the weights."""
        places, factors = self._labels(logarithms, labels, weights)
        total = factors.sum() if self.reduction == "mean" else 1.0
        each = numpy.broadcast_to(gradient / total, labels.shape)
        result = numpy.zeros(logarithms.shape)
        numpy.put_along_axis(result, places, numpy.expand_dims(-factors * each, 1), 1)
        if weights is None:
            return result, None
        terms = -numpy.take_along_axis(logarithms, places, 1)[:, 0]
        if self.reduction == "mean":
            terms = terms - (terms * factors).sum() / total
        counted = numpy.where(labels == self.ignore, 0, terms * each) if self.ignore is not None else terms * each
        return result, numpy.bincount(places.reshape(-1), counted.reshape(-1), len(weights))

    @classmethod
    def examples(cls):
        return tuple(cls(reduction, ignore) for reduction in REDUCTIONS for ignore in (None, 1))

    @classmethod
    def samples(cls):
        labels = numpy.array([[2, 1, 0], [0, 2, 2]])
        return tuple(
            Sample(one, (numbers(2, 4, 3), labels, *weights))
            for one in cls.examples()
            for weights in ((), (numbers(4, low=0.3, seed=1),))
        )


@operator("NegativeLogLikelihoodLoss")
class NegativeLogLikelihoodLoss(ClassLoss):
    """-x at the label, for rows x of logarithms of probabilities. Source: ONNX operator NegativeLogLikelihoodLoss."""

    def forward(self, logarithms, labels, weights=None):
        return self._loss(logarithms, labels, weights)

    def backward(self, gradients, inputs, outputs):
        logarithms, labels, weights = (*inputs, None)[:3]
        by_rows, by_weights = self._loss_backward(gradients[0], logarithms, labels, weights)
        return (by_rows, None, by_weights)[: len(inputs)]


@operator("SoftmaxCrossEntropyLoss")
class SoftmaxCrossEntropyLoss(ClassLoss):
    """-ln(softmax(x)) at the label, for rows x of scores; also all ln(softmax(x)) where they are read.

    Source: ONNX operator SoftmaxCrossEntropyLoss.
    """

    has_logarithms: bool = False

    @classmethod
    def from_onnx(cls, source):
        made = super().from_onnx(source)
        return cls(made.reduction, made.ignore, source.is_read(1))

    def infer(self, inputs):
        logarithms = (TensorType(inputs[0].dims, inputs[0].dtype),) if self.has_logarithms else ()
        return (*super().infer(inputs), *logarithms)

    def forward(self, scores, labels, weights=None):
        logarithms = _log_softmax(scores)
        loss = self._loss(logarithms, labels, weights)
        return (loss, logarithms) if self.has_logarithms else loss

    def backward(self, gradients, inputs, outputs):
        scores, labels, weights = (*inputs, None)[:3]
        logarithms = _log_softmax(scores)
        by_rows, by_weights = self._loss_backward(gradients[0], logarithms, labels, weights)
        by_rows = by_rows + gradients[1] if self.has_logarithms else by_rows
        by_scores = by_rows - numpy.exp(logarithms) * by_rows.sum(1, keepdims=True)
        return (by_scores, None, by_weights)[: len(inputs)]

    @classmethod
    def examples(cls):
        return (*super().examples(), cls(has_logarithms=True))


def _log_softmax(scores: numpy.ndarray) -> numpy.ndarray:
    shifted = scores - scores.max(1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(1, keepdims=True))


@operator("aidge::MeanSquaredError")
class MeanSquaredError(ElementWiseBinary):
    """The mean (or sum) of (a - b)^2 over all elements of two tensors with equal dims; with reduction none each of them."""

    reduction: str = attribute("mean", among=REDUCTIONS)

    def result_dims(self, first, second):
        dims = super().result_dims(first, second)
        return dims if self.reduction == "none" else ()

    def forward(self, first, second):
        squares = numpy.square(first - second)
        return squares if self.reduction == "none" else numpy.asarray(squares.sum() / self._count(first))

    def backward(self, gradients, inputs, outputs):
        first, second = inputs
        by_first = gradients[0] * 2 * (first - second) / self._count(first)
        return by_first, -by_first

    def _count(self, data: numpy.ndarray) -> int:
        return data.size if self.reduction == "mean" else 1

    @classmethod
    def examples(cls):
        return tuple(cls(reduction) for reduction in REDUCTIONS)
