# SPDX-License-Identifier: MIT
"""Sums of two and averages under the contract `double`, as TensorFlow Lite's reference kernels compute them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.fixed_multiplier import fixed_multiplier, scaled

LEFT_SHIFT, LEFT_SHIFT_HALFWORDS = 20, 15  # of both addends, before they are brought to one scale


@dataclass(frozen=True)
class FixedSum:
    """(multiplier, shift) of both addends, which convert them to units of twice the larger scale, and of the sum."""

    first: tuple[int, int]
    second: tuple[int, int]
    total: tuple[int, int]
    left: int = LEFT_SHIFT

    def levels(self, first: numpy.ndarray, second: numpy.ndarray) -> numpy.ndarray:
        """Returns the stored sum less its zero point, for stored values less their zero points; int64, before the clamp."""
        addends = (scaled(value << self.left, *factor) for value, factor in ((first, self.first), (second, self.second)))
        return scaled(sum(addends), *self.total)


def fixed_sum(first_scale: float, second_scale: float, output_scale: float, left: int = LEFT_SHIFT) -> FixedSum:
    """Returns the factors of a sum of tensors with these scales, all computed in float64 from float32 scales."""
    first, second, output = float(first_scale), float(second_scale), float(output_scale)
    twice = 2 * max(first, second)
    return FixedSum(
        fixed_multiplier(first / twice),
        fixed_multiplier(second / twice),
        fixed_multiplier(twice / ((1 << left) * output)),
        left,
    )


def fixed_mean(input_scale: float, output_scale: float, count: int) -> tuple[int, int]:
    """Returns (multiplier, shift) for a sum of `count` values less their zero point: the factor of the scales divided by the
    count."""
    multiplier, shift = fixed_multiplier(float(input_scale) / float(output_scale))
    more = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << more) // count, shift - more


def count_reciprocal(count: int) -> int:
    """Returns m with (n * m) >> 32 = n // count for all n up to the largest |sum| of so many int8 values plus half the count; 0
    if no m has this property. m * count exceeds 2^32 by less than `count`; n times this excess must stay below 2^32."""
    reciprocal = -(-(1 << 32) // count)
    largest = 128 * count + count // 2
    return reciprocal if count > 2 and largest * (reciprocal * count - (1 << 32)) < 1 << 32 else 0


def rounded_quotients(sums: numpy.ndarray, counts: numpy.ndarray | int) -> numpy.ndarray:
    """Returns sum / count, rounded to nearest, ties away from zero; int64."""
    sums, counts = numpy.asarray(sums, numpy.int64), numpy.asarray(counts, numpy.int64)
    return numpy.sign(sums) * ((numpy.abs(sums) + counts // 2) // counts)


def quotients_half_up(sums: numpy.ndarray, counts: numpy.ndarray | int) -> numpy.ndarray:
    """Returns sum / count, rounded to nearest, ties upwards; int64."""
    sums, counts = numpy.asarray(sums, numpy.int64), numpy.asarray(counts, numpy.int64)
    return (sums + counts // 2) // counts
