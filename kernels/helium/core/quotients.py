# SPDX-License-Identifier: MIT
"""Quotients of float32 by constants as products: q = x * (1 / d), corrected by what is left over, r = x - q * d, q + r * (1 / d).

All but the first are fused multiplications. Such a quotient is within two units of the rounded one, so a level can differ only
beside the middle of two: there all values are tried.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

NEAR = 8  # float32 values on both sides of a middle
LOWEST, HIGHEST = -128, 127


def bits_of(value: numpy.float32) -> int:
    """Those of a float, as int32."""
    return int(numpy.array([value], numpy.float32).view(numpy.int32)[0])


def fused(a: numpy.ndarray, b: numpy.float32, c: numpy.ndarray) -> numpy.ndarray:
    """a * b + c in float32, rounded once: in float64 rounded to odd, which then rounds as the exact sum does."""
    product, addend = a.astype(numpy.float64) * numpy.float64(b), c.astype(numpy.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    even = (total.view(numpy.int64) & 1) == 0
    towards = numpy.where(error > 0, numpy.inf, -numpy.inf)
    odd = numpy.where((error != 0) & even, numpy.nextafter(total, towards), total)
    return odd.astype(numpy.float32)


def quotients(values: numpy.ndarray, divisor: numpy.float32) -> numpy.ndarray:
    """As the instructions compute them."""
    reciprocal = numpy.float32(1) / divisor
    first = values * reciprocal
    return fused(fused(first, -divisor, values), reciprocal, first)


def quotients_hold(divisors: Sequence[numpy.float32], count: int, scale: float, zero_point: int) -> bool:
    """Whether sums divided so give the levels of sum / count / scale in float32."""
    middles = numpy.arange(LOWEST - 1 - zero_point, HIGHEST + 1 - zero_point) + 0.5
    sums = (middles * (count * float(scale))).astype(numpy.float32)
    near = (sums.view(numpy.int32)[:, None] + numpy.arange(-NEAR, NEAR + 1, dtype=numpy.int32)).view(numpy.float32)
    wanted = numpy.rint(near / numpy.float32(count) / numpy.float32(scale))
    found = near
    for divisor in divisors:
        found = quotients(found, divisor)
    return bool(numpy.array_equal(numpy.rint(found), wanted))
