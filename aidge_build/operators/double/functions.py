# SPDX-License-Identifier: MIT
"""Functions of one 8-bit value: a factor, another one below zero, or a table that is filled in float32."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy

from aidge_build.arithmetic.fixed_hard_swish import hard_swish
from aidge_build.arithmetic.fixed_multiplier import fixed_multiplier, scaled
from aidge_build.arithmetic.requantize import centred, clamp_levels, dequantize_linear, quantize_away
from aidge_build.operators.activation import Clip, Elu, HardSwish, LeakyReLU, ReLU, Sigmoid, Tanh
from aidge_build.operators.meanings import means
from aidge_build.operators.unary import Abs, Neg


def _ratio(inputs, outputs, alpha: float = 1.0) -> float:
    return float(inputs[0].quantization.scale) * alpha / float(outputs[0].quantization.scale)


def _stored(levels: numpy.ndarray, output, low: int | None = None, high: int | None = None) -> tuple[numpy.ndarray]:
    least, most = output.dtype.range
    levels = levels + output.quantization.zero_point
    return (numpy.clip(levels, least if low is None else low, most if high is None else high).astype(output.dtype.numpy),)


@means(ReLU)
def _relu(operator, values, inputs, outputs):
    return _clamped(values, inputs, outputs, 0.0, math.inf)


@means(Clip)
def _clip(operator, values, inputs, outputs):
    return _clamped(values, inputs, outputs, operator.minimum, operator.maximum)


def _clamped(values, inputs, outputs, minimum: float, maximum: float) -> tuple[numpy.ndarray]:
    levels = scaled(centred(values[0], inputs[0].quantization), *fixed_multiplier(_ratio(inputs, outputs)))
    return _stored(levels, outputs[0], *clamp_levels(minimum, maximum, outputs[0].quantization, outputs[0].dtype))


@means(LeakyReLU)
def _leaky_relu(operator, values, inputs, outputs):
    """Values below zero have a factor of their own."""
    data = centred(values[0], inputs[0].quantization)
    alpha = float(numpy.float32(operator.alpha))
    above, below = (scaled(data, *fixed_multiplier(_ratio(inputs, outputs, one))) for one in (1.0, alpha))
    return _stored(numpy.where(data >= 0, above, below), outputs[0])


@means(HardSwish)
def _hard_swish(operator, values, inputs, outputs):
    data = centred(values[0], inputs[0].quantization)
    return _stored(hard_swish(data, inputs[0].quantization.scale, outputs[0].quantization.scale), outputs[0])


@means(Abs)
def _absolute(operator, values, inputs, outputs):
    data = numpy.abs(centred(values[0], inputs[0].quantization))
    if inputs[0].quantization != outputs[0].quantization:
        data = scaled(data, *fixed_multiplier(_ratio(inputs, outputs)))
    return _stored(data, outputs[0])


@means(Neg)
def _negative(operator, values, inputs, outputs):
    """Stored values change their sign, whatever the zero point is."""
    return (numpy.negative(values[0]),)


def _table(function: Callable[[numpy.ndarray], numpy.ndarray]):
    """The function of the real number in float32, rounded to the nearest stored value."""

    def computed(operator, values, inputs, outputs):
        reals = dequantize_linear(values[0], inputs[0].quantization)
        results = function(reals.astype(numpy.float64)).astype(numpy.float32)
        return (quantize_away(results, outputs[0].quantization, outputs[0].dtype),)

    return computed


_sigmoid = means(Sigmoid)(_table(lambda data: 1 / (1 + numpy.exp(-data))))
_tanh = means(Tanh)(_table(numpy.tanh))
_elu = means(Elu)(_table(lambda data: numpy.where(data < 0, numpy.expm1(data), data)))
