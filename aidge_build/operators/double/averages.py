# SPDX-License-Identifier: MIT
"""Averages of windows: the sum of stored values divided by their number, rounded half away from zero (of uint8: up)."""

from __future__ import annotations

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.operators.arithmetic.fixed_multiplier import scaled
from aidge_build.operators.arithmetic.fixed_sums import fixed_mean, quotients_half_up, rounded_quotients
from aidge_build.operators.arithmetic.requantize import centred, clamp_levels
from aidge_build.operators.meanings import means
from aidge_build.operators.pool import AvgPooling, AvgPoolingHalvesUp, GlobalAveragePooling
from aidge_build.operators.reduce import ReduceMean
from aidge_build.operators.window import windows


@means(AvgPooling, GlobalAveragePooling)
def _average(operator, values, inputs, outputs):
    (data,), (tensor,), (output,) = values, inputs, outputs
    if tensor.quantization != output.quantization:
        raise AidgeError(
            f"{operator.type} between two quantizations has no meaning under the contract tflite",
            code="ROUNDING",
        )
    if getattr(operator, "counts_pads", False):
        raise AidgeError(f"{operator.type} that counts pads has no meaning under the contract tflite", code="ROUNDING")
    rounded = quotients_half_up if isinstance(operator, AvgPoolingHalvesUp) else rounded_quotients
    levels = rounded(*_sums_and_counts(operator, data.astype(numpy.int64)))
    low, high = clamp_levels(operator.minimum, operator.maximum, output.quantization, output.dtype)
    return (numpy.clip(levels, low, high).astype(output.dtype.numpy),)


@means(ReduceMean)
def _mean(operator, values, inputs, outputs):
    """Returns the mean over axes: the sum less the zero points, requantized by one factor."""
    (data,), (tensor,), (output,) = values, inputs, outputs
    sums = centred(data, tensor.quantization).sum(axis=operator.axes, keepdims=operator.keep)
    factor = fixed_mean(tensor.quantization.scale, output.quantization.scale, data.size // max(1, sums.size))
    levels = scaled(sums, *factor) + output.quantization.zero_point
    return (numpy.clip(levels, *output.dtype.range).astype(output.dtype.numpy),)


def _sums_and_counts(operator, data: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray | int]:
    """Returns the sum of each window, and the number of its elements without pads."""
    if isinstance(operator, GlobalAveragePooling):
        axes = tuple(range(2, data.ndim))
        return data.sum(axis=axes, keepdims=True), data[0, 0].size
    axes = tuple(range(-operator.window.rank, 0))
    shown, counted = windows(data, operator.window, 0), windows(numpy.ones_like(data), operator.window, 0)
    return shown.sum(axis=axes), counted.sum(axis=axes)
