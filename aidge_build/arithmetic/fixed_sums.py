# SPDX-License-Identifier: MIT
"""Sums of two and averages under the contract `double`, as TensorFlow Lite's reference kernels compute them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.arithmetic.fixed_multiplier import fixed_multiplier, scaled

LEFT_SHIFT = 20  # of both addends, before their scales are made one


@dataclass(frozen=True)
class FixedSum:
    """(multiplier, shift) of both addends, which go to half the larger scale's units, and of the sum."""

    first: tuple[int, int]
    second: tuple[int, int]
    total: tuple[int, int]

    def levels(self, first: numpy.ndarray, second: numpy.ndarray) -> numpy.ndarray:
        """Of stored values less their zero points, the stored sum less its own; int64, before the clamp."""
        addends = (scaled(value << LEFT_SHIFT, *factor) for value, factor in ((first, self.first), (second, self.second)))
        return scaled(sum(addends), *self.total)


def fixed_sum(first_scale: float, second_scale: float, output_scale: float) -> FixedSum:
    """The factors of a sum of tensors with these scales, all computed in float64 from float32 scales."""
    first, second, output = float(first_scale), float(second_scale), float(output_scale)
    twice = 2 * max(first, second)
    return FixedSum(
        fixed_multiplier(first / twice),
        fixed_multiplier(second / twice),
        fixed_multiplier(twice / ((1 << LEFT_SHIFT) * output)),
    )


def fixed_mean(input_scale: float, output_scale: float, count: int) -> tuple[int, int]:
    """(multiplier, shift) of a sum of `count` values less their zero point: the factor of the scales divided by the count."""
    multiplier, shift = fixed_multiplier(float(input_scale) / float(output_scale))
    more = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << more) // count, shift - more


def rounded_quotients(sums: numpy.ndarray, counts: numpy.ndarray | int) -> numpy.ndarray:
    """sum / count, rounded to nearest, ties away from zero; int64."""
    sums, counts = numpy.asarray(sums, numpy.int64), numpy.asarray(counts, numpy.int64)
    return numpy.sign(sums) * ((numpy.abs(sums) + counts // 2) // counts)
