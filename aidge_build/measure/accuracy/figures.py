# SPDX-License-Identifier: MIT
"""Figures of merit: right answers with their interval, areas under curves, errors of real values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy

Z_95 = 1.959963984540054  # the normal distribution's 97.5 % quantile


@dataclass(frozen=True)
class Top1:
    """`correct` of `count` samples are right. `low` and `high` are the 95 % interval of the true share."""

    correct: int
    count: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share of right answers."""
        return self.correct / self.count


@dataclass(frozen=True)
class Errors:
    """Errors of an output's values against targets, over all samples and elements: output minus target.

    `mean_error` is the bias, `mae` the mean of absolute errors, `rmse` the root of the mean square. `r2` is the share of the
    targets' variance that is explained, each element against its own mean; None if the targets do not vary.
    """

    mean_error: float
    mae: float
    rmse: float
    r2: float | None


@dataclass(frozen=True, eq=False)
class Figures:
    """The figures of a model's answers; None and () if a figure has no meaning for them."""

    top1: Top1 | None = None
    confusion: tuple[tuple[int, ...], ...] = ()  # [true class][answer]
    auc: float | None = None
    errors: tuple[tuple[str, Errors], ...] = ()  # by output

    def as_json(self) -> dict:
        """The same for programs."""
        top1 = self.top1 and {"share": self.top1.share, **asdict(self.top1)}
        return {
            "top1": top1,
            "confusion": [list(row) for row in self.confusion],
            "auc": self.auc,
            "errors": {name: asdict(errors) for name, errors in self.errors},
        }


def wilson(correct: int, count: int) -> tuple[float, float]:
    """Returns the 95 % interval of a share, of a sample with `correct` hits in `count`.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927): it holds for small
    counts and near 0 and 1, too, and never leaves [0, 1].
    """
    share, square = correct / count, Z_95 * Z_95 / count
    middle = share + square / 2
    spread = Z_95 * math.sqrt(share * (1 - share) / count + square / count / 4)
    return max(0.0, (middle - spread) / (1 + square)), min(1.0, (middle + spread) / (1 + square))


def top1(answers: numpy.ndarray, labels: numpy.ndarray) -> Top1:
    """Returns the share of answered class numbers that equal the labels."""
    correct = int(numpy.count_nonzero(answers == labels))
    return Top1(correct, len(labels), *wilson(correct, len(labels)))


def confusion(answers: numpy.ndarray, labels: numpy.ndarray, classes: int) -> tuple[tuple[int, ...], ...]:
    """Returns how often each true class (row) was answered with each class (column)."""
    table = numpy.zeros((classes, classes), numpy.int64)
    numpy.add.at(table, (labels, answers), 1)
    return tuple(tuple(int(number) for number in row) for row in table)


def roc_auc(scores: numpy.ndarray, labels: numpy.ndarray) -> float | None:
    """Returns the probability that a sample of class 1 has a larger score than one of class 0, equal scores counted half.

    This is the area under the receiver operating characteristic (the Mann-Whitney statistic). None if a class is missing.
    """
    positive = int(numpy.count_nonzero(labels == 1))
    negative = len(labels) - positive
    if not positive or not negative:
        return None
    _, place, counts = numpy.unique(scores, return_inverse=True, return_counts=True)
    ranks = (numpy.cumsum(counts) - (counts - 1) / 2)[place.reshape(-1)]  # equal scores share the mean of their ranks
    return float((ranks[labels == 1].sum() - positive * (positive + 1) / 2) / (positive * negative))


def errors(got: numpy.ndarray, targets: numpy.ndarray) -> Errors:
    """Errors of real values [sample, element]."""
    difference = got - targets
    squares = float(numpy.mean(difference * difference))
    varied = float(numpy.mean((targets - targets.mean(axis=0)) ** 2))
    explained = 1 - squares / varied if varied else None
    return Errors(float(difference.mean()), float(numpy.abs(difference).mean()), math.sqrt(squares), explained)
