# SPDX-License-Identifier: MIT
"""Products of two tensors, element by element or as matrices: integers, requantized by one factor that is rounded twice."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.contracts import HalfwordFactors
from aidge_build.operators.arithmetic.fixed_multiplier import fixed_multiplier, scaled
from aidge_build.operators.arithmetic.requantize import centred, clamp_levels
from aidge_build.operators.binary import Mul
from aidge_build.operators.matmul import MatMul
from aidge_build.operators.meanings import means


@means(Mul)
def _product(operator, values, inputs, outputs):
    first, second = (centred(value, tensor.quantization) for value, tensor in zip(values, inputs, strict=True))
    low, high = clamp_levels(operator.minimum, operator.maximum, outputs[0].quantization, outputs[0].dtype)
    return _requantized(first * second, product_factor(inputs, outputs[0]), outputs[0], low, high)


@means(MatMul)
def _matrix_product(operator, values, inputs, outputs):
    first, second = (centred(value, tensor.quantization) for value, tensor in zip(values, inputs, strict=True))
    if inputs[0].dtype is DType.int16:
        factors = HalfwordFactors(numpy.array([matrix_factor(inputs, outputs[0])], numpy.int64))
        levels = factors.levels(first @ second, 0, outputs[0].quantization.zero_point, *outputs[0].dtype.range)
        return (levels.astype(numpy.int16),)
    return _requantized(first @ second, matrix_factor(inputs, outputs[0]), outputs[0], *outputs[0].dtype.range)


def product_factor(inputs, output) -> tuple[int, int]:
    """Returns (multiplier, shift) of sx * sy / sz for products of elements, in float32."""
    first, second = (tensor.quantization.scale for tensor in inputs)
    return fixed_multiplier(float(first * second / output.quantization.scale))


def matrix_factor(inputs, output) -> tuple[int, int]:
    """Returns (multiplier, shift) of sx * sy / sz for products of matrices: the product in float32, the quotient in float64."""
    first, second = (tensor.quantization.scale for tensor in inputs)
    return fixed_multiplier(float(first * second) / float(output.quantization.scale))


def _requantized(sums: numpy.ndarray, factor: tuple[int, int], output, low: int, high: int) -> tuple[numpy.ndarray]:
    levels = scaled(sums, *factor) + output.quantization.zero_point
    return (numpy.clip(levels, low, high).astype(output.dtype.numpy),)
