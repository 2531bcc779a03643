# SPDX-License-Identifier: MIT
"""Division of float32 by a constant as one product and one fused multiply-add, proved equal once it is rounded to an integer."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy

MOST_LEVELS = 256  # beyond them int8 and uint8 are saturated, whatever the zero point
NEIGHBOURS = 4  # on both sides of a threshold
MOST_EXPONENT = 100  # of the divisor: far from what float32 cannot hold, and from what some cores take for 0
MANTISSA_BITS = 24


@functools.lru_cache(maxsize=256)
def proved_reciprocal(divisor: float) -> tuple[numpy.float32, numpy.float32] | None:
    """Returns (high, low) so that rint(fma(x, high, x * low)) = rint(x / divisor) for every float32 x, both saturated at
    +-MOST_LEVELS; None if this is not proved. low is 0 for powers of two, as x * high alone is then exact, else positive.

    high + low is 1 / divisor with a relative error of 2^-48. Both sides are therefore within one unit in the last place of x /
    divisor, and can only differ for x next to a threshold (level + 1/2) * divisor: these x are tried, by exact arithmetic. A sign
    changes both sides alike. Infinities stay infinities, as both numbers are positive; NaN stays NaN.
    """
    divisor = float(numpy.float32(divisor))
    if not 2.0**-MOST_EXPONENT < divisor < 2.0**MOST_EXPONENT:
        return None
    exact = 1 / Fraction(divisor)
    high = numpy.float32(float(exact))
    if Fraction(float(high)) > exact:
        high = numpy.nextafter(high, numpy.float32(0))
    low = numpy.float32(float(exact - Fraction(float(high))))
    for level in range(MOST_LEVELS):
        near = numpy.float32((level + 0.5) * divisor)
        steps = range(-NEIGHBOURS, NEIGHBOURS + 1)
        values = (near.view(numpy.int32) + numpy.array(steps, numpy.int32)).view(numpy.float32)
        wanted = numpy.rint(values / numpy.float32(divisor))
        if any(_level(value, high, low) != level_of for value, level_of in zip(values, wanted)):
            return None
    return high, low


def _level(value: numpy.float32, high: numpy.float32, low: numpy.float32) -> int:
    """Returns rint(fma(value, high, value * low)) for a positive value."""
    total = Fraction(float(value)) * Fraction(float(high)) + Fraction(float(value * low))
    scale = Fraction(2) ** (MANTISSA_BITS - 1 - math.frexp(float(total))[1] + 1)
    if not 2 ** (MANTISSA_BITS - 1) <= total * scale <= 2**MANTISSA_BITS:  # the float64 was rounded up to a power of two
        scale *= 2
    return round(Fraction(round(total * scale), 1) / scale)
