# SPDX-License-Identifier: MIT
"""`post_transform` of the scores of classifiers and regressors of ai.onnx.ml, as onnxruntime computes it.

All functions keep the float type of their scores; the last axis is a row.
"""

from __future__ import annotations

import enum

import numpy


class Transform(enum.IntEnum):
    """The attribute `post_transform`, by the numbers of TreeEnsemble (ai.onnx.ml 5)."""

    NONE = 0
    SOFTMAX = 1
    LOGISTIC = 2
    SOFTMAX_ZERO = 3
    PROBIT = 4


NEAR_ZERO = 1e-7  # SOFTMAX_ZERO takes a score up to it for zero


def transformed(scores: numpy.ndarray, transform: Transform) -> numpy.ndarray:
    """Returns the scores of each row, transformed; float arithmetic in the type of the scores."""
    if transform is Transform.SOFTMAX:
        powers = numpy.exp(scores - scores.max(-1, keepdims=True))
        return powers / _sum(powers)
    if transform is Transform.LOGISTIC:
        return logistic(scores)
    if transform is Transform.SOFTMAX_ZERO:
        return _softmax_zero(scores)
    return probit(scores) if transform is Transform.PROBIT else scores


def logistic(scores: numpy.ndarray) -> numpy.ndarray:
    """Returns 1 / (1 + e^-x), computed from |x| so that nothing overflows."""
    one = scores.dtype.type(1)
    upper = one / (one + numpy.exp(-numpy.abs(scores)))
    return numpy.where(scores < 0, one - upper, upper)


def probit(scores: numpy.ndarray) -> numpy.ndarray:
    """Returns the inverse of the normal distribution, in float32, by Winitzki's approximation of the inverse error function."""
    real = numpy.float32
    x = real(2) * scores.astype(real) - real(1)
    logarithm = numpy.log((real(1) - x) * (real(1) + x))
    middle = real(2) / (real(3.14159) * real(0.147)) + real(0.5) * logarithm
    root = numpy.sqrt(-middle + numpy.sqrt(middle * middle - real(1) / real(0.147) * logarithm))
    return (real(1.41421356) * numpy.where(x < 0, -root, root)).astype(scores.dtype)


def _softmax_zero(scores: numpy.ndarray) -> numpy.ndarray:
    """Returns the softmax in which a score of zero stays zero."""
    largest = scores.max(-1, keepdims=True)
    is_zero = numpy.abs(scores) <= scores.dtype.type(NEAR_ZERO)
    powers = numpy.exp(scores - largest)
    return numpy.where(is_zero, scores * numpy.exp(-largest), powers) / _sum(numpy.where(is_zero, scores.dtype.type(0), powers))


def _sum(rows: numpy.ndarray) -> numpy.ndarray:
    """Returns the sum of each row, its values added one after the other."""
    total = numpy.zeros((*rows.shape[:-1], 1), rows.dtype)
    for place in range(rows.shape[-1]):
        total = total + rows[..., place : place + 1]
    return total
