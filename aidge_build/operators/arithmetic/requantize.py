# SPDX-License-Identifier: MIT
"""The numerical contract `onnx` in numpy: quantize, dequantize, requantize (design page ARITHMETIC, section 1).

All functions are exact: int64 and IEEE operations in a fixed order, the same on every machine.
"""

from __future__ import annotations

import numpy
from numpy.typing import ArrayLike

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization


def multipliers(input_scale: numpy.float32, weight_scales: ArrayLike, output_scale: numpy.float32) -> numpy.ndarray:
    """Returns float32(float32(sx * sw) / sy) for each weight scale, in this order of roundings."""
    products = numpy.float32(input_scale) * numpy.asarray(weight_scales, numpy.float32)
    return (products / numpy.float32(output_scale)).astype(numpy.float32)


def requantize(accumulators: numpy.ndarray, multiplier: ArrayLike, zero_point: int, low: int, high: int) -> numpy.ndarray:
    """Returns clamp(rint_half_even(float32(float32(acc) * multiplier)) + zero_point, low, high) as int64.

    `accumulators` are exact integers within int32; `multiplier` is float32 and broadcasts.
    """
    scaled = accumulators.astype(numpy.float32) * numpy.asarray(multiplier, numpy.float32)
    return numpy.clip(numpy.rint(scaled).astype(numpy.float64) + zero_point, low, high).astype(numpy.int64)


def quantize(values: numpy.ndarray, quantization: Quantization, dtype: DType) -> numpy.ndarray:
    """Returns saturate(rint_half_even(value / scale) + zero_point); the division is done in the precision of `values`.

    NaN becomes the zero point.
    """
    scale = quantization.along(quantization.scales, values.ndim, values.dtype)
    zero_point = quantization.along(quantization.zero_points, values.ndim, numpy.float64)
    low, high = dtype.range
    quotients = numpy.nan_to_num(values / scale, nan=0.0, posinf=numpy.inf, neginf=-numpy.inf)
    levels = numpy.rint(quotients).astype(numpy.float64) + zero_point
    return numpy.clip(levels, low, high).astype(dtype.numpy)


def dequantize(values: numpy.ndarray, quantization: Quantization) -> numpy.ndarray:
    """Returns (value - zero_point) * scale in float64: exact for 8- and 16-bit values."""
    return centred(values, quantization) * quantization.along(quantization.scales, values.ndim, numpy.float64)


def dequantize_linear(values: numpy.ndarray, quantization: Quantization) -> numpy.ndarray:
    """Returns float32(value - zero_point) * scale in float32, as DequantizeLinear defines it."""
    scales = quantization.along(quantization.scales, values.ndim, numpy.float32)
    return centred(values, quantization).astype(numpy.float32) * scales


def centred(values: numpy.ndarray, quantization: Quantization) -> numpy.ndarray:
    """Returns value - zero_point as exact integers in int64."""
    return values.astype(numpy.int64) - quantization.along(quantization.zero_points, values.ndim, numpy.int64)


def clamp_levels(minimum: float, maximum: float, quantization: Quantization, dtype: DType) -> tuple[int, int]:
    """The stored values of a clamp between two float32 numbers, as QuantizeLinear gives them; under the contract `double` ties
    are rounded away from zero.

    Quantization is monotone, so quantize(clip(v, a, b)) = clip(quantize(v), quantize(a), quantize(b)).
    """
    numbers = numpy.array([minimum, maximum], numpy.float32)
    bounds = (quantize_away if quantization.rounding == "double" else quantize)(numbers, quantization, dtype)
    return int(bounds[0]), int(bounds[1])


def quantize_away(values: numpy.ndarray, quantization: Quantization, dtype: DType) -> numpy.ndarray:
    """Returns `quantize` of float32 values by one scale, with ties away from zero."""
    quotients = numpy.asarray(values, numpy.float32) / quantization.scale
    levels = numpy.copysign(numpy.floor(numpy.abs(quotients).astype(numpy.float64) + 0.5), quotients)
    levels = numpy.nan_to_num(levels, nan=0.0, posinf=numpy.inf, neginf=-numpy.inf)
    return numpy.clip(levels + quantization.zero_point, *dtype.range).astype(dtype.numpy)
