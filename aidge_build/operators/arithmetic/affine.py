# SPDX-License-Identifier: MIT
"""Sums of two int8 values in integers, proved equal to the real formula on all 65,536 pairs of stored values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.operators.arithmetic.fixed_point import divide_half_even, shift_half_even

LEVELS = numpy.arange(-128, 128, dtype=numpy.int64)
FIRST, SECOND = numpy.meshgrid(LEVELS, LEVELS, indexing="ij")
NARROW_BITS = 30
WIDE_BITS = 62
SHIFTS_TRIED = 6
NUDGES = sorted(itertools.product(range(-2, 3), repeat=3), key=lambda nudge: (sum(map(abs, nudge)), nudge))


@dataclass(frozen=True)
class Affine:
    """y = clamp(rint_half_even((a * first + b * second + offset) / 2^shift) + zero point); with divisor > 0 over it instead."""

    first: int
    second: int
    offset: int
    shift: int
    divisor: int = 0

    @property
    def is_narrow(self) -> bool:
        """Whether int32 holds offset + a * first, then + b * second, then the rounding, for all a and b."""
        partial = [self.offset + a * self.first for a in (-128, 127)]
        sums = [total + b * self.second for total in partial for b in (-128, 127)]
        return not self.divisor and max(map(abs, (self.offset, *partial, *sums))) + (1 << self.shift) < 1 << 31

    def apply(self, a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
        """Returns the rounded quotient, without zero point and clamp."""
        sums = a * self.first + b * self.second + self.offset
        return divide_half_even(sums, self.divisor) if self.divisor else shift_half_even(sums, self.shift)


def proved_affine(
    ratios: tuple[Fraction, Fraction], zero_points: tuple[int, int, int], low: int, high: int, meaning: numpy.ndarray
) -> Affine:
    """Returns constants for y = (a - za) * ratio + (b - zb) * ratio + zy that give `meaning` [256, 256] for all stored a, b.

    It tries int32 with a shift (with small changes of the constants, for pairs near a tie), then int64 with a shift, then the
    exact quotient in int64, which ties need. AidgeError if none is equal on every pair.
    """
    exact = float(ratios[0]) * (FIRST - zero_points[0]) + float(ratios[1]) * (SECOND - zero_points[1])
    near_tie = numpy.abs(exact - numpy.floor(exact) - 0.5) < 2.0**-9
    hard = FIRST[near_tie], SECOND[near_tie], meaning[near_tie]

    def agrees(candidate: Affine, a: numpy.ndarray, b: numpy.ndarray, wanted: numpy.ndarray) -> bool:
        return bool(numpy.array_equal(numpy.clip(candidate.apply(a, b) + zero_points[2], low, high), wanted))

    for candidate in _candidates(ratios, zero_points):
        if agrees(candidate, *hard) and agrees(candidate, FIRST, SECOND, meaning):
            return candidate
    raise AidgeError(
        "no integer arithmetic is proved equal to this sum on all pairs of stored values",
        code="RANGE",
        hint="choose scales that are closer to each other, or powers of two",
    )


def _candidates(ratios: tuple[Fraction, Fraction], zero_points: tuple[int, int, int]) -> Iterator[Affine]:
    largest = max(1, math.ceil(255 * sum(map(abs, ratios))))  # of |sum| in output steps
    most = min(NARROW_BITS, NARROW_BITS + 1 - largest.bit_length())
    for shift in range(most, max(0, most - SHIFTS_TRIED), -1):
        for nudges in NUDGES:
            first, second = (round(ratio * (1 << shift)) + nudge for ratio, nudge in zip(ratios, nudges))
            candidate = Affine(first, second, -zero_points[0] * first - zero_points[1] * second + nudges[2], shift)
            if candidate.is_narrow:
                yield candidate
    shift = WIDE_BITS - 2 - largest.bit_length()
    if shift > 0:
        first, second = (round(ratio * (1 << shift)) for ratio in ratios)
        yield Affine(first, second, -zero_points[0] * first - zero_points[1] * second, shift)
    divisor = math.lcm(*(ratio.denominator for ratio in ratios))
    first, second = (int(ratio * divisor) for ratio in ratios)
    if 512 * (abs(first) + abs(second)) < 1 << WIDE_BITS and divisor < 1 << WIDE_BITS:
        yield Affine(first, second, -zero_points[0] * first - zero_points[1] * second, 0, divisor)
