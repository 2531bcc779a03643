# SPDX-License-Identifier: MIT
"""Requantization by one 64-bit product that tells by itself if the result might be wrong, for every multiplier below 1/2.

q = float32(float32(sum) * M), y = rint_half_even(q). With f = floor(M * 2^32) and p = sum * f + START, p / 2^32 is q + 1/2 +
MARGIN / 2^32, with an error of less than MARGIN / 2^32. If the low word of p is BAND or more, no integer is between p / 2^32 and
q + 1/2, and q + 1/2 is no integer: the high word is y. If it is less (one sum in 512), q may be a tie, or round to a tie: the
kernel takes the float32 formula.

If the bias has a fraction of the unit of the sums, the formula multiplies a sum in finer units. floor(fraction * f) is added to
START; p is then at most 1 lower than for the whole sum.
"""

from __future__ import annotations

import numpy
from numpy.typing import ArrayLike

BAND_BITS = 23
BAND = 1 << BAND_BITS
MARGIN = BAND // 2
START = (1 << 31) + MARGIN
BEYOND = 384  # from this |y| on, int8 saturates with every zero point
_ROUNDINGS = 1.01 * 2.0**-23  # relative error of float32(sum) and of the product together


def near_factors(multipliers: ArrayLike) -> numpy.ndarray:
    """Returns floor(M * 2^32) for float32 multipliers below 1/2, and 0 for others; int64."""
    exact = numpy.asarray(multipliers, numpy.float32).astype(numpy.float64) * 2.0**32
    return numpy.where(exact < 2.0**31, numpy.floor(exact), 0).astype(numpy.int64)


def near_starts(multipliers: ArrayLike, fractions: ArrayLike, unit: int) -> numpy.ndarray:
    """Returns START + floor(fraction / unit * factor) for multipliers below 1/2; int64, below 2^32."""
    return START + numpy.asarray(fractions, numpy.int64) * near_factors(multipliers) // unit


def near_is_exact(multipliers: ArrayLike, largest: ArrayLike) -> numpy.ndarray:
    """Whether the error stays below MARGIN for every |sum| <= largest (within int32), with or without a fraction of a unit,
    unless int8 saturates its level anyway.

    Sums with |q| >= BEYOND saturate in both formulas: there the error is a tiny part of q.
    """
    factors = numpy.asarray(multipliers, numpy.float32).astype(numpy.float64)
    with numpy.errstate(divide="ignore"):
        sums = numpy.minimum(numpy.asarray(largest, numpy.float64), numpy.ceil(BEYOND / factors))
    sums = sums + 1  # a fraction is less
    error = sums * (factors * 2.0**32 - near_factors(multipliers)) + sums * factors * 2.0**32 * _ROUNDINGS + 1
    return (factors < 0.5) & (error < MARGIN)
