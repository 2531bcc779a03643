# SPDX-License-Identifier: MIT
"""Rounding by the addition of a large number, which holds the zero point too.

Between 2^23 and 2^24 floats are integers, so that adding 2^23 + n * 2^16 + zero point rounds half to even; the low 16 bits of the
sum are then the level. The zero point must be even: ties go to even sums. It saves the conversion's narrowing and the addition of
the zero point, as long as no level leaves 16 bits.
"""

from __future__ import annotations

import numpy

from aidge_build.kernel_kit.linear import LinearConstants

SMALLEST = 0x4B000000  # the bits of 2^23
GOES_ON, ENDS = 0x60, 0x20  # what stands in bits 16 to 22: bit 22 says whether another pair of channels follows
MOST_LEVELS = 2**15 - 256


def rounds_by_addition(numbers: LinearConstants, bits: int = 0) -> bool:
    """Whether the zero point is even and every level that a sum, shifted by so many bits, can give fits 16 bits."""
    if numbers.zero_point % 2:
        return False
    rows = numbers.weights.reshape(len(numbers.weights), -1).astype(numpy.int64)
    largest = (128 * numpy.abs(rows).sum(axis=1) << bits) + numpy.abs(numbers.bias)
    return bool((largest * numbers.multipliers.astype(numpy.float64) < MOST_LEVELS).all())


def large_number(zero_point: int, mark: int = GOES_ON) -> int:
    """Its bits: they take the place of the zero point, and have it in their low 16 bits."""
    return SMALLEST + (mark << 16) + zero_point


def zero_point_word(numbers: LinearConstants, bits: int = 0) -> int:
    """What a layer's head holds as zero point."""
    return large_number(numbers.zero_point) if rounds_by_addition(numbers, bits) else numbers.zero_point
