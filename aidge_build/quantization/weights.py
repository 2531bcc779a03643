# SPDX-License-Identifier: MIT
"""Constants in integers: weights with one scale for each output channel, biases in units of the products, operands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.arithmetic.requantize import quantize
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.view import Node
from aidge_build.operators.conv_transpose import ConvTranspose
from aidge_build.quantization.ranges import SMALLEST, quantization_of
from aidge_build.quantization.scheme import Scheme

LARGEST_WEIGHT = 127
LARGEST_LEVELS = range(LARGEST_WEIGHT + 24, 63, -1)  # of the largest weight of a channel, tried in this order
LARGEST_BIAS = 2.0**30  # of the int32 bias: sums of products have the rest


@dataclass(frozen=True, eq=False)
class Stored:
    """A constant as integers."""

    values: numpy.ndarray
    quantization: Quantization


def channel_axis(node: Node) -> int | None:
    """The axis of the weights that counts output channels; None where one scale must serve all."""
    if isinstance(node.operator, ConvTranspose):
        return 1 if node.operator.groups == 1 else None
    return 0


def weight_scales(node: Node, weights: numpy.ndarray, bias: numpy.ndarray | None, data_scale: float) -> Quantization:
    """Symmetric, the scale of each channel the one with the least squared error; larger where the bias would leave int32."""
    axis = channel_axis(node)
    rows = weights.reshape(1, -1) if axis is None else numpy.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)
    found = _best_scales(rows.astype(numpy.float64))
    needed = numpy.abs(bias.astype(numpy.float64)) / (data_scale * LARGEST_BIAS) if bias is not None else numpy.zeros(1)
    if axis is None:
        needed = needed.max(keepdims=True)
    scales = numpy.maximum(numpy.maximum(found, needed), SMALLEST)
    scales = numpy.where(found + needed == 0, 1.0, scales).astype(numpy.float32)
    return Quantization(tuple(map(float, scales)), (0,) * len(scales), axis)


def _best_scales(rows: numpy.ndarray) -> numpy.ndarray:
    """For each row the scale whose integers are nearest, of those by which its largest weight is a whole number.

    Weights that are whole numbers of some scale already, as a hybrid model stores them, so keep their values. Sizes beyond 127
    clip the largest weights.
    """
    largest = numpy.abs(rows).max(axis=1, initial=0.0)
    best, least = largest / LARGEST_WEIGHT, numpy.full(len(rows), numpy.inf)
    for steps in LARGEST_LEVELS:
        scales = numpy.maximum(largest / steps, SMALLEST).astype(numpy.float32).astype(numpy.float64)[:, None]
        errors = ((numpy.clip(numpy.rint(rows / scales), -LARGEST_WEIGHT, LARGEST_WEIGHT) * scales - rows) ** 2).sum(axis=1)
        better = errors < least * (1 - 1e-9)
        best, least = numpy.where(better, scales[:, 0], best), numpy.where(better, errors, least)
    return numpy.where(largest > 0, best, 0.0)


def stored_weights(weights: numpy.ndarray, quantization: Quantization) -> Stored:
    """Each weight as the nearest integer."""
    return Stored(quantize(weights.astype(numpy.float64), quantization, DType.int8), quantization)


def stored_bias(bias: numpy.ndarray, data_scale: float, weights: Quantization) -> Stored:
    """int32 in units of float32(data scale * weight scale)."""
    units = numpy.float32(data_scale) * numpy.array(weights.scales, numpy.float32)
    scales = numpy.broadcast_to(units, bias.shape) if len(units) > 1 else units
    quantization = Quantization(tuple(map(float, scales)), (0,) * len(scales), 0 if len(scales) > 1 else None)
    levels = numpy.rint(bias.astype(numpy.float64) / numpy.broadcast_to(units.astype(numpy.float64), bias.shape))
    return Stored(levels.astype(numpy.int32), quantization)


def stored_operand(values: numpy.ndarray, scheme: Scheme, dtype: DType) -> Stored:
    """A constant beside a computed tensor: one scale for all of it, over its own range and 0."""
    ends = min(float(values.min(initial=0.0)), 0.0), max(float(values.max(initial=0.0)), 0.0)
    quantization = quantization_of(ends, scheme, dtype)
    return Stored(quantize(values.astype(numpy.float64), quantization, dtype), quantization)
