# SPDX-License-Identifier: MIT
"""The mean of int8 values in integers, proved equal to the real formula for every sum that can occur."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from aidge_build.arithmetic.fixed_point import Rescale, equal_over_range, exact_ratio, proved_rescale
from aidge_build.arithmetic.requantize import quantize
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization


def proved_mean(count: int, data: Quantization, result: Quantization, clamp: Callable[[numpy.ndarray], numpy.ndarray],
                bounds: tuple[int, int]) -> Rescale:
    """The rescaling of a sum of `count` values minus zero points; `clamp` limits real means, `bounds` the stored result."""
    smallest, largest = (count * (level - data.zero_point) for level in DType.int8.range)

    def exact(sums: numpy.ndarray) -> numpy.ndarray:
        means = sums.astype(numpy.float64) * numpy.float64(data.scale) / count
        return quantize(clamp(means), result, DType.int8).astype(numpy.int64)

    def levels_of(candidate: Rescale) -> Callable[[numpy.ndarray], numpy.ndarray]:
        return lambda sums: numpy.clip(candidate.apply(sums) + result.zero_point, *bounds)

    return proved_rescale(exact_ratio(data.scale, count, result.scale), max(abs(smallest), abs(largest)),
                          lambda candidate: equal_over_range(exact, levels_of(candidate), smallest, largest),
                          f"the mean of {count} values")
