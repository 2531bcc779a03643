# SPDX-License-Identifier: MIT
"""Products of two int8 values by one float32 multiplier, proved equal to the real formula on all 65,536 pairs of stored
values."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.affine import FIRST, SECOND
from aidge_build.arithmetic.fixed_point import exact_ratio
from aidge_build.arithmetic.requantize import requantize
from aidge_build.graph.quantization import Quantization

MOST_LEVEL = 32000  # so that a product with a zero point fits 16 bits


def float_product(
    first: Quantization, second: Quantization, result: Quantization, bounds: tuple[int, int], meaning: numpy.ndarray
) -> numpy.float32 | None:
    """A multiplier so that requantizing (a - za) * (b - zb) gives `meaning` [256, 256] for all stored pairs; None when there is
    none, or when a product lies beyond 16 bits."""
    products = (FIRST - first.zero_point) * (SECOND - second.zero_point)
    candidate = numpy.float32(float(exact_ratio(first.scale, result.scale) * exact_ratio(second.scale)))
    if int(abs(products).max()) * float(candidate) >= MOST_LEVEL:
        return None
    for multiplier in (candidate, *(numpy.nextafter(candidate, numpy.float32(end)) for end in (0, numpy.inf))):
        if numpy.array_equal(requantize(products, multiplier, result.zero_point, *bounds), meaning):
            return multiplier
    return None
