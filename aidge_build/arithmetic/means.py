# SPDX-License-Identifier: MIT
"""The mean of int8 values in integers or in float32, proved equal to the real formula for every sum that can occur."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial

import numpy

from aidge_build.arithmetic.fixed_point import Rescale, equal_over_range, exact_ratio, proved_rescale
from aidge_build.arithmetic.requantize import quantize, requantize
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization

MOST_LEVEL = 32000  # so that a mean with a zero point fits 16 bits


def proved_mean(count: int, data: Quantization, result: Quantization, bounds: tuple[int, int]) -> Rescale:
    """The rescaling of a sum of `count` values minus zero points; `bounds` limit the stored result."""
    smallest, largest = (count * (level - data.zero_point) for level in DType.int8.range)

    exact = _exact_levels(count, data, result, bounds)

    def levels_of(candidate: Rescale) -> Callable[[numpy.ndarray], numpy.ndarray]:
        return lambda sums: numpy.clip(candidate.apply(sums) + result.zero_point, *bounds)

    return proved_rescale(
        exact_ratio(data.scale, count, result.scale),
        max(abs(smallest), abs(largest)),
        lambda candidate: equal_over_range(exact, levels_of(candidate), smallest, largest),
        f"the mean of {count} values",
    )


@functools.lru_cache(256)
def float_mean(count: int, data: Quantization, result: Quantization, bounds: tuple[int, int]) -> numpy.float32 | None:
    """A float32 multiplier so that requantizing the sum of `count` values minus zero points gives their quantized mean, for every
    sum; None when there is none, or when a mean lies beyond 16 bits."""
    smallest, largest = (count * (level - data.zero_point) for level in DType.int8.range)
    candidate = numpy.float32(float(exact_ratio(data.scale, count, result.scale)))
    if max(abs(smallest), abs(largest)) * float(candidate) >= MOST_LEVEL:
        return None
    exact = _exact_levels(count, data, result, bounds)
    neighbours = [numpy.nextafter(candidate, numpy.float32(end)) for end in (0, numpy.inf)]
    for multiplier in (candidate, *neighbours):
        found = partial(requantize, multiplier=multiplier, zero_point=result.zero_point, low=bounds[0], high=bounds[1])
        if equal_over_range(exact, found, smallest, largest):
            return multiplier
    return None


def _exact_levels(
    count: int, data: Quantization, result: Quantization, bounds: tuple[int, int]
) -> Callable[[numpy.ndarray], numpy.ndarray]:
    """The real formula: stored means of sums."""

    def exact(sums: numpy.ndarray) -> numpy.ndarray:
        means = sums.astype(numpy.float64) * numpy.float64(data.scale) / count
        return numpy.clip(quantize(means, result, DType.int8).astype(numpy.int64), *bounds)

    return exact
