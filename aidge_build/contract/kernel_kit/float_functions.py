# SPDX-License-Identifier: MIT
"""The functions of kernels/kit/exp_float32.h and functions_float32.h in numpy, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from aidge_build.contract.kernel_kit.float_steps import FloatUnit

Values = numpy.ndarray
Function = Callable[[FloatUnit, Values], Values]

_ONE, _TWO, _HALF = numpy.float32(1), numpy.float32(2), numpy.float32(0.5)
_SHIFTER = numpy.float32(12582912.0)
REDUCTION = (1.44269504, -0.693359375, 2.12194440e-4)  # 1 / ln 2; - ln 2 as the sum of two numbers, the first one of few bits
_INVERSE, _HIGH, _LOW = map(numpy.float32, REDUCTION)


def _floats(*numbers: float) -> Values:
    return numpy.array(numbers, numpy.float32)


EXPONENTIAL = (8.23778566e-3, 4.18991297e-2, 1.66685566e-1, 4.99991387e-1, 9.99999344e-1, 1.0)  # of softmax on cores with an FPU
EXACT_EXPONENTIAL = (1.38165666e-3, 8.37319996e-3, 4.16685380e-2, 1.66664481e-1, 4.99999911e-1)  # powers from 2 on
_TANH = _floats(1.52596389e-3, -7.30498787e-3, 2.12343130e-2, -5.38320392e-2, 0.133319616, -0.333332866)
_ERF = _floats(-5.81612985e-4, 4.95796697e-3, -2.67419964e-2, 0.112811215, -0.376124263, 0.128379136)
_ERF_BEYOND = _floats(-1.92661624e-4, 3.01107718e-3, -2.20987741e-2, 0.103665702, 0.637485266, 1.12749565, 2.39264758e-4)


def reduced(unit: FloatUnit, x: Values, shifts: bool = True) -> tuple[Values, Values]:
    """Returns n and r, e^x = 2^n e^r. n is x / ln 2, rounded by a sum with a large number, or (not `shifts`) by an instruction
    that rounds."""
    whole = unit.multiply_add(x, _INVERSE, _SHIFTER) - _SHIFTER if shifts else numpy.rint(x * _INVERSE)
    rest = unit.multiply_add(whole, _LOW, unit.multiply_add(whole, _HIGH, x))
    return numpy.nan_to_num(whole).astype(numpy.int32), rest


def exponential_of_shifted(unit: FloatUnit, x: Values) -> Values:
    """Returns e^x of numbers up to 0; a sum with a large number rounds the exponent."""
    return _below(unit, x, -87.0, True)


def exponential_of_rounded(unit: FloatUnit, x: Values) -> Values:
    """Returns the same; an instruction rounds the exponent."""
    return _below(unit, x, -87.0, False)


def exponential_of_rows(unit: FloatUnit, x: Values) -> Values:
    """Returns the same as rows of neighbours have it: numbers with a subnormal result are 0 to the instructions of vectors."""
    return _below(unit, x, -87.6, False)


def _below(unit: FloatUnit, x: Values, lowest: float, shifts: bool) -> Values:
    power, rest = reduced(unit, numpy.maximum(x, numpy.float32(-104)), shifts)
    found = numpy.ldexp(unit.polynomial(_floats(*EXPONENTIAL), rest), power)
    return numpy.where(x < numpy.float32(lowest), numpy.float32(0), found)


def exponential(unit: FloatUnit, x: Values) -> Values:
    """Returns aidge_kit_exp."""
    limited = numpy.where(x > 89, numpy.float32(89), numpy.where(x < -104, numpy.float32(-104), x))
    power, rest = reduced(unit, limited)
    total = _of_rest(unit, rest)
    half = (power + 254) // 2 - 127
    return numpy.ldexp(numpy.ldexp(total, half), power - half)


def _of_rest(unit: FloatUnit, rest: Values) -> Values:
    return _ONE + unit.multiply_add(rest * rest, unit.polynomial(_floats(*EXACT_EXPONENTIAL), rest), rest)


def tanh(unit: FloatUnit, x: Values) -> Values:
    """Returns aidge_kit_tanh."""
    size, square = numpy.abs(x), x * x
    near = unit.multiply_add(x * square, unit.polynomial(_TANH, square), x)
    beyond = _ONE - _TWO / (exponential(unit, _TWO * size) + _ONE)
    return numpy.where(size < numpy.float32(0.8), near, numpy.copysign(beyond, x))


def erf(unit: FloatUnit, x: Values) -> Values:
    """Returns aidge_kit_erf."""
    size = numpy.abs(x)
    near = unit.multiply_add(x, unit.polynomial(_ERF, x * x), x)
    limited = numpy.where(size > numpy.float32(3.93), numpy.float32(3.93), size)
    beyond = _ONE - exponential(unit, -unit.polynomial(_ERF_BEYOND, limited))
    return numpy.where(size < numpy.float32(0.95), near, numpy.copysign(beyond, x))


def logistic(unit: FloatUnit, x: Values) -> Values:
    """Returns aidge_kit_logistic."""
    return _logistic(unit, x, exponential(unit, -numpy.abs(x)))


def logistic_of_shifted(unit: FloatUnit, x: Values) -> Values:
    """Returns 1 / (1 + e^-x); a sum with a large number rounds the exponent."""
    return _with_normal_power(unit, x, True)


def logistic_of_rounded(unit: FloatUnit, x: Values) -> Values:
    """Returns the same; an instruction rounds the exponent."""
    return _with_normal_power(unit, x, False)


def _with_normal_power(unit: FloatUnit, x: Values, shifts: bool) -> Values:
    size = numpy.abs(x)
    power, rest = reduced(unit, numpy.maximum(-size, numpy.float32(-104)), shifts)
    part = numpy.ldexp(_of_rest(unit, rest), power)
    return _logistic(unit, x, numpy.where(size > numpy.float32(87), numpy.float32(0), part))


def _logistic(unit: FloatUnit, x: Values, part: Values) -> Values:
    total = _ONE + part
    quotient = numpy.where(x < 0, part, _ONE) / total
    return unit.multiply_add(quotient, (total - _ONE) - part, quotient)


def _gelu(unit: FloatUnit, x: Values) -> Values:
    return _HALF * x * (_ONE + erf(unit, x * numpy.float32(math.sqrt(0.5))))


def _gelu_with_tanh(unit: FloatUnit, x: Values) -> Values:
    cubic = unit.multiply_add(numpy.float32(0.044715) * x * x, x, x)
    return _HALF * x * (_ONE + tanh(unit, numpy.float32(0.7978845608028654) * cubic))


_FUNCTIONS: Mapping[str, Function] = {"Exp": exponential, "Sigmoid": logistic, "Tanh": tanh, "Erf": erf, "Gelu": _gelu}


@dataclass(frozen=True)
class FunctionSteps:
    """The operations of portable C for a function of one element (`Call.steps`)."""

    unit: FloatUnit
    function: Function
    alpha: float | None = None  # of Swish: x times the function of alpha * x

    @classmethod
    def of(cls, unit: FloatUnit, operator: Any) -> FunctionSteps | None:
        """Returns the operations for an operator; None if it is not one of these functions."""
        kind = operator.type
        if kind == "Swish":
            return cls(unit, logistic, operator.alpha)
        found = _FUNCTIONS.get(kind)
        if found is _gelu and operator.with_tanh:
            found = _gelu_with_tanh
        return found and cls(unit, found)

    def forward(self, data: Values) -> tuple[Values, ...]:
        """Returns the result."""
        if self.alpha is None:
            return (self.function(self.unit, data),)
        return (data * self.function(self.unit, numpy.float32(self.alpha) * data),)
