# SPDX-License-Identifier: MIT
"""The numerical contract `double` in numpy: requantization by a 31-bit multiplier and a shift; both round.

gemmlowp and TensorFlow Lite's reference kernels define it (`QuantizeMultiplier`, `MultiplyByQuantizedMultiplier`): a real factor
is m * 2^(shift - 31) with 2^30 <= m < 2^31; the high word of 2 * acc * m is rounded to nearest, ties upwards, and the shift to
the right rounds to nearest, ties away from zero. All functions are exact: int64 in a fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy
from numpy.typing import ArrayLike

from aidge_build.base.errors import AidgeError

BITS = 31
LEAST_SHIFT = -31  # a factor below 2^-32 is none
_INT32 = numpy.iinfo(numpy.int32)


def fixed_multiplier(factor: float) -> tuple[int, int]:
    """Returns (m, shift) of a real factor >= 0: m * 2^(shift - 31), m rounded half away from zero; (0, 0) for factors below
    2^-32."""
    if not math.isfinite(factor):
        raise AidgeError("the ratio of scales is beyond all numbers", code="RANGE", hint="an output scale is far too small")
    mantissa, shift = math.frexp(factor)
    multiplier = math.floor(mantissa * (1 << BITS) + 0.5)
    if multiplier == 1 << BITS:
        multiplier, shift = multiplier // 2, shift + 1
    return (multiplier, shift) if shift >= LEAST_SHIFT else (0, 0)


def fixed_multipliers(factors: Iterable[float]) -> numpy.ndarray:
    """Returns (m, shift) of each factor; int64 [factors, 2]."""
    return numpy.array([fixed_multiplier(factor) for factor in factors], numpy.int64).reshape(-1, 2)


def scaled_once(accumulators: ArrayLike, multipliers: ArrayLike, shifts: ArrayLike) -> numpy.ndarray:
    """Returns acc * m * 2^(shift - 31) with one rounding, of the 64-bit product, to nearest, ties upwards; int64."""
    right = BITS - numpy.asarray(shifts, numpy.int64)
    half = numpy.int64(1) << (right - 1)
    return (numpy.asarray(accumulators, numpy.int64) * numpy.asarray(multipliers, numpy.int64) + half) >> right


def scaled(accumulators: ArrayLike, multipliers: ArrayLike, shifts: ArrayLike) -> numpy.ndarray:
    """Returns acc * m * 2^(shift - 31) as the contract rounds it, int64; everything broadcasts, accumulators are int32.

    A shift to the left comes first and overflows as int32 does in C: the caller must exclude an overflow.
    """
    accumulators, shifts = numpy.asarray(accumulators, numpy.int64), numpy.asarray(shifts, numpy.int64)
    widened = accumulators << numpy.maximum(shifts, 0)
    return shifted(high_product(widened, multipliers), numpy.maximum(-shifts, 0))


def high_product(values: ArrayLike, multipliers: ArrayLike) -> numpy.ndarray:
    """Returns the high word of 2 * value * m, rounded to nearest, ties upwards (SQRDMULH)."""
    return (numpy.asarray(values, numpy.int64) * numpy.asarray(multipliers, numpy.int64) + (1 << 30)) >> BITS


def shifted(values: ArrayLike, shift: ArrayLike) -> numpy.ndarray:
    """Returns value / 2^shift, rounded to nearest, ties away from zero; 0 <= shift <= 31."""
    values, shift = numpy.asarray(values, numpy.int64), numpy.asarray(shift, numpy.int64)
    half = (numpy.int64(1) << shift) >> 1
    return (values + half - ((values < 0) & (shift > 0))) >> shift
