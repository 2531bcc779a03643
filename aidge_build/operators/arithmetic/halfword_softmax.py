# SPDX-License-Identifier: MIT
"""Softmax of int16 values under the contract `double`, as in TensorFlow Lite: linear interpolation in two tables of 513 entries.

One table holds e^x for -10..0, the other 1 / (1 + x) for 0..1; both cover 2^16 stored values, in units of 2^-15.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy

from aidge_build.operators.arithmetic.fixed_multiplier import fixed_multiplier, scaled

STEPS = 512
_LOW, _HIGH, _RANGE = -32768, 32767, 65535
REACH = 10.0  # of the exponents


@cache
def exponentials() -> tuple[int, ...]:
    """Returns e^x at 513 places of -10..0."""
    return _table(math.exp, REACH / _RANGE * (_LOW - _HIGH), 0.0)


@cache
def reciprocals() -> tuple[int, ...]:
    """Returns 1 / (1 + x) at 513 places of 0..1."""
    return _table(lambda x: 1.0 / (1.0 + x), 0.0, 1.0 / _RANGE * (_HIGH - _LOW))


def _table(function: Callable[[float], float], low: float, high: float) -> tuple[int, ...]:
    """Returns values in units of 2 / 65535, each less half of the error of linear interpolation in the middle to the next
    value."""
    step, unit = (high - low) / STEPS, 65536.0 / (2.0 / _RANGE * _RANGE)
    found = []
    for place in range(STEPS):
        here = function(low + place * step) * unit
        after, middle = function(low + (place + 1) * step) * unit, function(low + place * step + step / 2) * unit
        too_high = _rounded((after + _rounded(here)) / 2) - _rounded(middle)
        found.append(_within(_rounded(here) - _rounded(too_high / 2)))
    return (*found, _within(_rounded(function(high) * unit)))


def _rounded(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def _within(value: int) -> int:
    return min(max(value, _LOW), _HIGH)


def difference_factor(scale: float) -> tuple[int, int]:
    """Returns (multiplier, shift) from differences of stored values of this scale to places of the exponentials."""
    return fixed_multiplier(float(scale) / (REACH / _RANGE))


def halfword_softmax(rows: numpy.ndarray, factor: tuple[int, int]) -> numpy.ndarray:
    """Returns the softmax of rows of stored values along the last axis, in units of 2^-15; int64."""
    differences = rows.astype(numpy.int64) - rows.max(axis=-1, keepdims=True)
    terms = _looked_up(numpy.clip(scaled(differences, *factor) + _HIGH, _LOW, _HIGH), exponentials())
    sums = terms.sum(axis=-1, keepdims=True)
    bits = numpy.frexp(sums.astype(numpy.float64))[1].astype(numpy.int64)
    shifted = ((sums << (31 - bits)) + (1 << 13)) >> 14
    inverses = _looked_up(numpy.clip(shifted - (1 << 15) - (1 << 16), _LOW, _HIGH), reciprocals())
    return numpy.clip((terms * inverses + (numpy.int64(1) << (bits - 2))) >> (bits - 1), 0, _HIGH)


def _looked_up(values: numpy.ndarray, entries: tuple[int, ...]) -> numpy.ndarray:
    table, at = numpy.array(entries, numpy.int64), (values >> 7) + STEPS // 2
    return table[at] + (((table[at + 1] - table[at]) * (values & 127) + 64) >> 7)
