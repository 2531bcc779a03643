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
    """Symmetric: the largest weight of each channel is 127 scales, and more where the bias would leave int32."""
    axis = channel_axis(node)
    others = tuple(place for place in range(weights.ndim) if place != axis) if axis is not None else None
    largest = numpy.abs(weights.astype(numpy.float64)).max(axis=others, initial=0.0).reshape(-1)
    needed = numpy.abs(bias.astype(numpy.float64)) / (data_scale * LARGEST_BIAS) if bias is not None else numpy.zeros(1)
    if axis is None:
        needed = needed.max(keepdims=True)
    scales = numpy.maximum(numpy.maximum(largest / LARGEST_WEIGHT, needed), SMALLEST)
    scales = numpy.where(largest + needed == 0, 1.0, scales).astype(numpy.float32)
    return Quantization(tuple(map(float, scales)), (0,) * len(scales), axis)


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
