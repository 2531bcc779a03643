# SPDX-License-Identifier: MIT
"""Requantization by one product of 64 bits that says itself where it might be wrong, for every multiplier below 1/2.

q = float32(float32(sum) * M), y = rint_half_even(q). With f = floor(M * 2^32) and p = sum * f + START, p / 2^32 is q + 1/2 and
MARGIN / 2^32, but for an error of less than MARGIN. So where the low word of p is BAND or more, no integer lies between p / 2^32
and q + 1/2, which is none itself: the high word is y. Where it is less (one sum in 512), q may be the middle of two levels, or
round to it: the kernel takes the float32 formula.

Where the bias has a fraction of the unit of the sums, what the formula multiplies is a sum in finer units. Its fraction, times f
and without what is behind the point, is added to START, which leaves p at most 1 lower than that of the whole sum.
"""

from __future__ import annotations

import numpy
from numpy.typing import ArrayLike

BAND_BITS = 23
BAND = 1 << BAND_BITS
MARGIN = BAND // 2
START = (1 << 31) + MARGIN
BEYOND = 384  # |y| that every zero point and every int8 saturates
_ROUNDINGS = 1.01 * 2.0**-23  # relative, of float32(sum) and of the product


def near_factors(multipliers: ArrayLike) -> numpy.ndarray:
    """floor(M * 2^32) of float32 multipliers below 1/2, and 0 for others; int64."""
    exact = numpy.asarray(multipliers, numpy.float32).astype(numpy.float64) * 2.0**32
    return numpy.where(exact < 2.0**31, numpy.floor(exact), 0).astype(numpy.int64)


def near_starts(multipliers: ArrayLike, fractions: ArrayLike, unit: int) -> numpy.ndarray:
    """START and floor(fraction / unit * factor) of multipliers below 1/2; int64, below 2^32."""
    return START + numpy.asarray(fractions, numpy.int64) * near_factors(multipliers) // unit


def near_is_exact(multipliers: ArrayLike, largest: ArrayLike) -> numpy.ndarray:
    """Whether the error stays below MARGIN for every |sum| <= largest (within int32) whose level int8 does not saturate anyway,
    with a fraction of a unit, too.

    Sums whose |q| is BEYOND or more saturate in both: there the error is a tiny part of q.
    """
    factors = numpy.asarray(multipliers, numpy.float32).astype(numpy.float64)
    with numpy.errstate(divide="ignore"):
        sums = numpy.minimum(numpy.asarray(largest, numpy.float64), numpy.ceil(BEYOND / factors))
    sums = sums + 1  # a fraction is less
    error = sums * (factors * 2.0**32 - near_factors(multipliers)) + sums * factors * 2.0**32 * _ROUNDINGS + 1
    return (factors < 0.5) & (error < MARGIN)
