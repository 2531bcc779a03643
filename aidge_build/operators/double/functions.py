# SPDX-License-Identifier: MIT
"""Functions of one stored value: a factor, another factor below zero, or a table that is filled in float32."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.operators.activation import Clip, Elu, HardSwish, LeakyReLU, PReLU, ReLU, Sigmoid, Tanh
from aidge_build.operators.arithmetic.fixed_hard_swish import hard_swish
from aidge_build.operators.arithmetic.fixed_multiplier import fixed_multiplier, scaled
from aidge_build.operators.arithmetic.fixed_root import inverse_root
from aidge_build.operators.arithmetic.halfword_functions import fixed_sigmoid, fixed_tanh, sigmoid_factor, tanh_factor
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT
from aidge_build.operators.arithmetic.requantize import centred, clamp_levels, dequantize_linear, quantize_away
from aidge_build.operators.meanings import means
from aidge_build.operators.normalize import LpNormalization
from aidge_build.operators.smooth import Gelu
from aidge_build.operators.unary import Abs, Exp, Neg

NORM_BITS = 7
NORM_SCALE = 2.0**-NORM_BITS  # of the output of an L2 normalization


def _ratio(inputs, outputs, alpha: float = 1.0) -> float:
    """Returns the ratio of scales; each step is rounded to float32, as the file's scales are."""
    return float(inputs[0].quantization.scale * numpy.float32(alpha) / outputs[0].quantization.scale)


def _require_room(inputs, *factors: tuple[int, int], count: int = 1) -> None:
    """Refuses factors with which products of `count` stored values less their zero points, shifted to the left, could leave
    int32."""
    shift = max(shift for _, shift in factors)
    if shift + count * (8 * inputs[0].dtype.size_bytes + 1) > 31:
        raise AidgeError(f"a value shifted to the left by {shift} bits could leave int32", code="RANGE")


def _stored(levels: numpy.ndarray, output, low: int | None = None, high: int | None = None) -> tuple[numpy.ndarray]:
    least, most = output.dtype.range
    levels = levels + output.quantization.zero_point
    return (numpy.clip(levels, least if low is None else low, most if high is None else high).astype(output.dtype.numpy),)


@means(ReLU)
def _relu(operator, values, inputs, outputs):
    return _clamped(operator, values, inputs, outputs, 0.0, math.inf)


@means(Clip)
def _clip(operator, values, inputs, outputs):
    return _clamped(operator, values, inputs, outputs, operator.minimum, operator.maximum)


def _clamped(operator, values, inputs, outputs, minimum: float, maximum: float) -> tuple[numpy.ndarray]:
    factor = rescaling(operator, inputs, outputs)
    _require_room(inputs, factor)
    levels = scaled(centred(values[0], inputs[0].quantization), *factor)
    return _stored(levels, outputs[0], *clamp_levels(minimum, maximum, outputs[0].quantization, outputs[0].dtype))


def rescaling(operator, inputs, outputs) -> tuple[int, int]:
    """Returns (multiplier, shift) of a clamp; a clamp without bounds is QUANTIZE of stored values, with a ratio in float64."""
    if isinstance(operator, Clip) and not operator.clamps:
        return fixed_multiplier(float(inputs[0].quantization.scale) / float(outputs[0].quantization.scale))
    return fixed_multiplier(_ratio(inputs, outputs))


@means(LeakyReLU)
def _leaky_relu(operator, values, inputs, outputs):
    """Returns the results; values below zero have a factor of their own."""
    data = centred(values[0], inputs[0].quantization)
    factors = leaky_factors(operator, inputs, outputs)
    _require_room(inputs, *factors)
    above, below = (scaled(data, *factor) for factor in factors)
    return _stored(numpy.where(data >= 0, above, below), outputs[0])


def leaky_factors(operator, inputs, outputs) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns (multiplier, shift) for values from zero on, and for values below zero; they are equal for an operator without
    alpha."""
    above, below = (fixed_multiplier(_ratio(inputs, outputs, one)) for one in (1.0, getattr(operator, "alpha", 1.0)))
    return above, below


@means(HardSwish)
def _hard_swish(operator, values, inputs, outputs):
    data = centred(values[0], inputs[0].quantization)
    return _stored(hard_swish(data, inputs[0].quantization.scale, outputs[0].quantization.scale), outputs[0])


@means(Abs)
def _absolute(operator, values, inputs, outputs):
    data = numpy.abs(centred(values[0], inputs[0].quantization))
    if inputs[0].quantization != outputs[0].quantization:
        factor = fixed_multiplier(_ratio(inputs, outputs))
        _require_room(inputs, factor)
        data = scaled(data, *factor)
    return _stored(data, outputs[0])


@means(PReLU)
def _prelu(operator, values, inputs, outputs):
    """Returns the results; values below zero are multiplied by the stored slope."""
    data, slope = (centred(value, tensor.quantization) for value, tensor in zip(values, inputs, strict=True))
    factors = prelu_factors(inputs, outputs[0])
    _require_room(inputs, factors[0])
    _require_room(inputs, factors[1], count=2)
    above, below = (scaled(levels, *factor) for levels, factor in zip((data, data * slope), factors))
    return _stored(numpy.where(data >= 0, above, below), outputs[0])


def prelu_factors(inputs, output) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns (multiplier, shift) for values from zero on, and for products with the slope."""
    above, below = (fixed_multiplier(_ratio(inputs, (output,), one)) for one in (1.0, inputs[1].quantization.scale))
    return above, below


@means(LpNormalization)
def _normalized(operator, values, inputs, outputs):
    """Returns rows of length one, in units of 1 / 128: each value times the inverse root of the sum of squares."""
    if operator.order != 2 or outputs[0].quantization.scale != NORM_SCALE or outputs[0].quantization.zero_point:
        raise AidgeError(f"{operator} to this scale has no meaning under the contract tflite", code="ROUNDING")
    data = centred(values[0], inputs[0].quantization)
    sums = (data * data).sum(axis=operator.axis, keepdims=True)
    if sums.size and sums.max() >= INT32_LIMIT:
        raise AidgeError("the sum of squares could leave int32", code="RANGE")
    factors = numpy.array([inverse_root(int(one)) for one in sums.flat], numpy.int64).reshape(*sums.shape, 2)
    return _stored(scaled(data, factors[..., 0], factors[..., 1] + NORM_BITS), outputs[0])


def _table(function: Callable[[numpy.ndarray], numpy.ndarray]):
    """Returns the meaning of a function of the real number, computed in float32 and rounded to the nearest stored value."""

    def computed(operator, values, inputs, outputs):
        if inputs[0].dtype is DType.int16:
            raise AidgeError(f"{operator.type} of int16 has no meaning under the contract tflite", code="ROUNDING")
        reals = dequantize_linear(values[0], inputs[0].quantization)
        results = function(reals.astype(numpy.float64)).astype(numpy.float32)
        return (quantize_away(results, outputs[0].quantization, outputs[0].dtype),)

    return computed


def _saturating(bytes_by, halfwords_by, factor_of):
    """Returns the meaning of a function: int8 by `_table`; int16 in units of 2^-15 by a table of its own, interpolated between
    two entries."""

    def computed(operator, values, inputs, outputs):
        if inputs[0].dtype is not DType.int16:
            return _table(bytes_by)(operator, values, inputs, outputs)
        if any(tensor.quantization.zero_point for tensor in (*inputs, *outputs)) or outputs[0].quantization.scale != 2.0**-15:
            raise AidgeError(f"{operator.type} to this scale has no meaning under the contract tflite", code="ROUNDING")
        return (halfwords_by(values[0], factor_of(inputs[0].quantization.scale)).astype(numpy.int16),)

    return computed


def _logistic(data: numpy.ndarray) -> numpy.ndarray:
    """Returns 1 / (1 + e^-x); each step is rounded to float32."""
    return 1 / (1 + numpy.exp(-data).astype(numpy.float32))


_sigmoid = means(Sigmoid)(_saturating(_logistic, fixed_sigmoid, sigmoid_factor))
_tanh = means(Tanh)(_saturating(numpy.tanh, fixed_tanh, tanh_factor))
_elu = means(Elu)(_table(lambda data: numpy.where(data < 0, numpy.expm1(data), data)))
_exp = means(Exp)(_table(numpy.exp))


@means(Gelu)
def _gelu(operator, values, inputs, outputs):
    return _table(operator.forward)(operator, values, inputs, outputs)


@means(Neg)
def _negative(operator, values, inputs, outputs):
    return (numpy.negative(values[0]),) if operator.stored else _table(numpy.negative)(operator, values, inputs, outputs)
