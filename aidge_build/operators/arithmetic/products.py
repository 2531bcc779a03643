# SPDX-License-Identifier: MIT
"""Products of two int8 values by one float32 multiplier, proved equal to the real formula on all 65,536 pairs of stored values;
or as thresholds, for the integer forms of sums."""

from __future__ import annotations

import numpy

from aidge_build.graph.quantization import Quantization
from aidge_build.operators.arithmetic.affine import FIRST, SECOND
from aidge_build.operators.arithmetic.fixed_point import exact_ratio
from aidge_build.operators.arithmetic.requantize import requantize
from aidge_build.operators.arithmetic.thresholds import LEVELS, Staircase

MOST_LEVEL = 32000  # so that a product with a zero point fits 16 bits


def products_of(first: Quantization, second: Quantization) -> numpy.ndarray:
    """Returns (a - za) * (b - zb) of all stored pairs, int64 [256, 256]."""
    return (FIRST - first.zero_point) * (SECOND - second.zero_point)


def product_staircase(
    first: Quantization, second: Quantization, result: Quantization, meaning: numpy.ndarray
) -> Staircase | None:
    """Returns the thresholds at which `meaning` [256, 256] changes with the product, as one channel; None if products do not
    decide it, or if a larger product gives a smaller result. A threshold is between two existing products, as near to the real
    formula's threshold as they allow."""
    products = products_of(first, second)
    values, inverse = numpy.unique(products, return_inverse=True)
    levels = numpy.zeros(len(values), numpy.int64)
    levels[inverse.ravel()] = meaning.ravel()
    if not numpy.array_equal(levels[inverse].reshape(meaning.shape), meaning) or (numpy.diff(levels) < 0).any():
        return None
    slope = float(exact_ratio(first.scale, result.scale) * exact_ratio(second.scale))
    at = numpy.searchsorted(levels, LEVELS)
    reaching = numpy.append(values, values[-1] + 1)[at]
    before = values[at - 1]  # the last value if there is none before: `reaching` is then the lowest value, and decides
    real = numpy.ceil((LEVELS - result.zero_point - 0.5) / slope)
    steps = numpy.minimum(numpy.maximum(real, before + 1), reaching).astype(numpy.int64)
    return Staircase(steps[None], values[:1], values[-1:], numpy.array([slope]), result.zero_point)


def float_product(
    first: Quantization, second: Quantization, result: Quantization, bounds: tuple[int, int], meaning: numpy.ndarray
) -> numpy.float32 | None:
    """Returns a multiplier with which requantizing (a - za) * (b - zb) gives `meaning` [256, 256] for all stored pairs; None if
    there is none, or if a scaled product does not fit 16 bits."""
    products = products_of(first, second)
    candidate = numpy.float32(float(exact_ratio(first.scale, result.scale) * exact_ratio(second.scale)))
    if int(abs(products).max()) * float(candidate) >= MOST_LEVEL:
        return None
    for multiplier in (candidate, *(numpy.nextafter(candidate, numpy.float32(end)) for end in (0, numpy.inf))):
        if numpy.array_equal(requantize(products, multiplier, result.zero_point, *bounds), meaning):
            return multiplier
    return None
