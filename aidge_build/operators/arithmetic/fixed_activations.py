# SPDX-License-Identifier: MIT
"""Sigmoid and tanh in 16-bit fixed point, as the int8 LSTM of the contract `double` computes its gates (gemmlowp's functions).

A number with k integer bits is stored as int16 in units of 2^(k - 15). e^x of x <= 0 is a polynomial between -1/4 and 0 times a
factor for each binary digit above; quotients come from three steps of Newton's method.
"""

from __future__ import annotations

import numpy

LOW, HIGH = -32768, 32767
EXP_EIGHTH, THIRD = 28918, 10923  # e^(-1/8), 1/3 in units of 2^-15
FACTORS = {-2: 25520, -1: 19875, 0: 12055, 1: 4435, 2: 600, 3: 11, 4: 0}  # e^-(2^digit) in units of 2^-15
START, SLOPE = 23130, -15420  # 48/17 and -32/17 in units of 2^-13: the first guess of a quotient
STEPS = 3
MOST_BITS = 5  # integer bits of e^x without a bound of its own; beyond, e^x below -32 is 0


def fixed_logistic(values: numpy.ndarray) -> numpy.ndarray:
    """Returns 1 / (1 + e^-x) of int16 values with 3 integer bits; int64 without integer bits."""
    values = values.astype(numpy.int64)
    above = _widened(_newton(_exponential(-numpy.abs(values), 3)), 1)
    return numpy.where(values > 0, above, numpy.where(values < 0, HIGH - above, 1 << 14))


def fixed_tanh(values: numpy.ndarray, integer_bits: int) -> numpy.ndarray:
    """Returns tanh of int16 values with so many integer bits; int64 without integer bits."""
    values = values.astype(numpy.int64)
    above = _widened(_newton(_exponential(-numpy.abs(values), integer_bits + 1)) - (1 << 13), 2)
    return numpy.where(values > 0, above, numpy.where(values < 0, -above, 0))


def _exponential(values: numpy.ndarray, integer_bits: int) -> numpy.ndarray:
    """Returns e^x of values <= 0 with so many integer bits."""
    fraction = 15 - integer_bits
    quarter = 1 << fraction >> 2
    rest = (values & (quarter - 1)) - quarter
    result, above = _near_zero(_widened(rest, integer_bits)), rest - values
    for digit, factor in FACTORS.items():
        if integer_bits > digit:
            result = numpy.where(above >> (fraction + digit) & 1, _product(result, factor), result)
    if integer_bits > MOST_BITS:
        result = numpy.where(values < -(1 << (fraction + 5)), 0, result)
    return numpy.where(values == 0, HIGH, result)


def _near_zero(values: numpy.ndarray) -> numpy.ndarray:
    """Returns e^x of -1/4 <= x < 0, in units of 2^-15."""
    x = values + (1 << 12)
    square = _product(x, x)
    cube, fourth = _product(square, x), _product(square, square)
    terms = _halved(_product(_halved(fourth, 2) + cube, THIRD) + square, 1)
    return numpy.clip(EXP_EIGHTH + _product(EXP_EIGHTH, x + terms), LOW, HIGH)


def _newton(values: numpy.ndarray) -> numpy.ndarray:
    """Returns 2 / (1 + x) in units of 2^-13, for 0 <= x <= 1 in units of 2^-15."""
    half = (values + HIGH + 1) >> 1
    x = START + _product(half, SLOPE)
    for _ in range(STEPS):
        x = x + _widened(_product(x, (1 << 13) - _product(half, x)), 2)
    return x


def _product(first: numpy.ndarray | int, second: numpy.ndarray | int) -> numpy.ndarray:
    return numpy.minimum((numpy.asarray(first, numpy.int64) * second + (1 << 14)) >> 15, HIGH)


def _halved(values: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Returns value / 2^bits, rounded to nearest, ties away from zero."""
    return (values + (1 << (bits - 1)) - (values < 0)) >> bits


def _widened(values: numpy.ndarray, bits: int) -> numpy.ndarray:
    return numpy.clip(values << bits, LOW, HIGH)
