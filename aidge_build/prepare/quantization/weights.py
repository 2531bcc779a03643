# SPDX-License-Identifier: MIT
"""Constants in integers: weights with one scale for each output channel, biases in units of the products, operands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.view import Node
from aidge_build.operators.arithmetic.requantize import quantize
from aidge_build.operators.conv_transpose import ConvTranspose
from aidge_build.prepare.quantization.ranges import SMALLEST, quantization_of
from aidge_build.prepare.quantization.rounding import rounded
from aidge_build.prepare.quantization.scheme import Scheme

LEAST_LEVELS, MOST_LEVELS = 0.5, 4.0  # of the largest weight of a channel, by the largest integer of few bits
STEPS_OF_LEVELS = 16  # in the largest integer
LARGEST_BIAS = 2.0**30  # of the int32 bias: the rest of int32 is for sums of products
UNSEEN = 1e-6  # the least variance of a term: weights for inputs that the samples never excite are kept near, too
SPREAD = 1.25


@dataclass(frozen=True, eq=False)
class Stored:
    """A constant as integers."""

    values: numpy.ndarray
    quantization: Quantization


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear layer: its float constants, and the moments of its input's channels (`products`: of the terms of its sums)."""

    node: Node
    weights: numpy.ndarray
    bias: numpy.ndarray | None
    means: numpy.ndarray
    variances: numpy.ndarray
    products: numpy.ndarray | None = None
    bits: int = 8  # of a weight

    @property
    def largest(self) -> int:
        """The largest integer of a weight; the smallest is its negative."""
        return (1 << self.bits - 1) - 1

    @property
    def levels(self) -> numpy.ndarray:
        """The candidates for the largest weight of a channel, divided by the scale. In 8 bits they are integers from 127 to 64;
        in fewer bits the largest weight may be clamped, so that the steps between all others are smaller."""
        integers = numpy.arange(self.largest, self.largest // 2, -1.0)
        if self.bits == 8:
            return integers
        first, last = (round(share * STEPS_OF_LEVELS) for share in (LEAST_LEVELS, MOST_LEVELS))
        return numpy.concatenate([integers, self.largest * numpy.arange(first, last + 1) / STEPS_OF_LEVELS])

    @property
    def axis(self) -> int | None:
        """The axis of the weights that counts output channels; None if one scale must serve all."""
        if isinstance(self.node.operator, ConvTranspose):
            return 1 if self.node.operator.groups == 1 else None
        return 0

    @property
    def rows(self) -> numpy.ndarray:
        """The weights that share a scale, [scale, weight]."""
        return self._as_rows(self.weights.astype(numpy.float64))

    def _as_rows(self, values: numpy.ndarray) -> numpy.ndarray:
        if self.axis is None:
            return values.reshape(1, -1)
        return numpy.moveaxis(values, self.axis, 0).reshape(values.shape[self.axis], -1)

    def along_rows(self, channels: numpy.ndarray) -> numpy.ndarray:
        """Returns a number of each input channel as a number for each weight of `rows`."""
        groups = getattr(self.node.operator, "groups", 1)
        if isinstance(self.node.operator, ConvTranspose):  # [C, M / groups, kernel...]
            each = channels.reshape(-1, *(1,) * (self.weights.ndim - 1))
            return self._as_rows(numpy.broadcast_to(each, self.weights.shape))
        per_group = channels.reshape(groups, -1, *(1,) * (self.weights.ndim - 2))
        each = numpy.repeat(per_group, len(self.weights) // groups, axis=0)
        return self._as_rows(numpy.broadcast_to(each, self.weights.shape))

    def shaped(self, rows: numpy.ndarray) -> numpy.ndarray:
        """`rows` in the order of the weights."""
        if self.axis in (None, 0):
            return rows.reshape(self.weights.shape)
        moved = numpy.moveaxis(self.weights, self.axis, 0).shape
        return numpy.moveaxis(rows.reshape(moved), 0, self.axis)


def stored_linear(linear: Linear, data: Quantization, scheme: Scheme) -> tuple[Stored, Stored | None]:
    """Returns the weights as int8 and the bias as int32, for an input with this quantization."""
    scales = _scales(linear, float(data.scale), scheme)
    rows = linear.rows
    levels = numpy.clip(numpy.rint(rows / scales[:, None]), -linear.largest, linear.largest)
    if scheme.round_weights and linear.products is not None:
        levels = _rounded(linear, scales)
    quantization = Quantization(tuple(map(float, scales)), (0,) * len(scales), linear.axis)
    weights = Stored(linear.shaped(levels).astype(numpy.int8), quantization)
    bias = linear.bias
    if scheme.correct_bias and bias is not None and linear.axis is not None:
        moved = ((levels * scales[:, None] - rows) * linear.along_rows(linear.means)).sum(axis=1)
        bias = bias.astype(numpy.float64) - moved
    return weights, None if bias is None else _stored_bias(bias, float(data.scale), quantization)


def _scales(linear: Linear, data_scale: float, scheme: Scheme) -> numpy.ndarray:
    """Returns symmetric scales, each with the least error of the sums, or larger if the bias would leave int32."""
    means, variances = linear.along_rows(linear.means), linear.along_rows(linear.variances)
    found = _best_scales(linear, means * (not scheme.correct_bias), variances + UNSEEN)
    bias = numpy.zeros(1) if linear.bias is None else linear.bias.astype(numpy.float64)
    needed = numpy.abs(bias) / (data_scale * LARGEST_BIAS)
    needed = needed.max(keepdims=True) if linear.axis is None else needed
    scales = numpy.maximum(numpy.maximum(found, needed), SMALLEST)
    return numpy.where(found + needed == 0, 1.0, scales).astype(numpy.float32).astype(numpy.float64)


def _best_scales(linear: Linear, means: numpy.ndarray, variances: numpy.ndarray) -> numpy.ndarray:
    """Returns for each row the scale with the least squared error of its sums, among the scales that make its largest weight one
    of the layer's levels.

    The error of a sum is the square of its mean plus its variance, as if the terms were independent. A scale counts only if its
    error, as if the signs of the terms were random, is at most SPREAD times the least such error: a mean of 0 must not be bought
    with weights that are far off. Weights that are whole numbers of some scale already, as a hybrid model stores them, therefore
    keep their values.
    """
    rows, most = linear.rows, linear.largest
    largest = numpy.abs(rows).max(axis=1, initial=0.0)
    scales = numpy.maximum(largest / linear.levels[:, None], SMALLEST).astype(numpy.float32).astype(numpy.float64)
    random, errors = numpy.empty(scales.shape), numpy.empty(scales.shape)
    for index, candidates in enumerate(scales):
        wrong = numpy.clip(numpy.rint(rows / candidates[:, None]), -most, most) * candidates[:, None] - rows
        random[index] = (wrong**2 * (variances + means**2)).sum(axis=1)
        errors[index] = (wrong**2 * variances).sum(axis=1) + (wrong * means).sum(axis=1) ** 2
    errors[random > random.min(axis=0) * SPREAD] = numpy.inf
    return numpy.where(largest > 0, scales[errors.argmin(axis=0), numpy.arange(len(rows))], 0.0)


def _rounded(linear: Linear, scales: numpy.ndarray) -> numpy.ndarray:
    products = numpy.asarray(linear.products)
    parts = zip(numpy.split(linear.rows, len(products)), numpy.split(scales, len(products)), products)
    return numpy.concatenate([rounded(rows, own, moments, linear.largest) for rows, own, moments in parts])


def _stored_bias(bias: numpy.ndarray, data_scale: float, weights: Quantization) -> Stored:
    """Returns the bias as int32 in units of float32(data scale * weight scale)."""
    units = numpy.float32(data_scale) * numpy.array(weights.scales, numpy.float32)
    scales = numpy.broadcast_to(units, bias.shape) if len(units) > 1 else units
    quantization = Quantization(tuple(map(float, scales)), (0,) * len(scales), 0 if len(scales) > 1 else None)
    levels = numpy.rint(bias.astype(numpy.float64) / numpy.broadcast_to(units.astype(numpy.float64), bias.shape))
    return Stored(levels.astype(numpy.int32), quantization)


def stored_operand(values: numpy.ndarray, scheme: Scheme, dtype: DType) -> Stored:
    """Returns the constant operand of an operator with a computed one: one scale for all of it, over its own range and 0."""
    ends = min(float(values.min(initial=0.0)), 0.0), max(float(values.max(initial=0.0)), 0.0)
    quantization = quantization_of(ends, scheme, dtype)
    return Stored(quantize(values.astype(numpy.float64), quantization, dtype), quantization)
