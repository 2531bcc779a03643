# SPDX-License-Identifier: MIT
"""Sums of two int8 values as SMLAW computes them: 32-bit factors, 16-bit values, truncated products; proved on all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy

from aidge_build.operators.arithmetic.affine import FIRST, SECOND

BITS = 20  # fraction bits of the sum
TRIES = 300
_NEAR_TIE = 2.0**-8


@dataclass(frozen=True)
class HalfwordSum:
    """y = sat8((((first * 256 * a) >> 16) + ((second * 256 * b) >> 16) + offset) >> BITS), shifts rounding down."""

    first: int
    second: int
    offset: int

    def apply(self, a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
        """Returns the stored sums, int8 values as int64, as the kernel computes them from stored values."""
        total = ((self.first * 256 * a) >> 16) + ((self.second * 256 * b) >> 16) + self.offset
        return numpy.clip(total >> BITS, -128, 127)

    @property
    def fits(self) -> bool:
        """Whether neither a factor nor a partial sum leaves int32."""
        largest = (abs(self.first) + abs(self.second)) // 2 + abs(self.offset) + (128 << BITS)
        return max(abs(self.first), abs(self.second), largest) < 1 << 31


def halfword_sum(
    ratios: tuple[Fraction, Fraction], zero_points: tuple[int, int, int], meaning: numpy.ndarray
) -> HalfwordSum | None:
    """Returns factors that give `meaning` [256, 256] for all stored pairs (a, b), or None if a seeded search finds none."""
    exact = float(ratios[0]) * (FIRST - zero_points[0]) + float(ratios[1]) * (SECOND - zero_points[1])
    hard = numpy.abs(exact - numpy.floor(exact) - 0.5) < _NEAR_TIE
    a, b, wanted = FIRST[hard], SECOND[hard], meaning[hard]
    start = [round(ratio * (1 << (BITS + 8))) for ratio in ratios]
    middle = zero_points[2] - ratios[0] * zero_points[0] - ratios[1] * zero_points[1] + Fraction(1, 2)
    offset = round(middle * (1 << BITS)) + 1
    for first, second, more in _nudges():
        candidate = HalfwordSum(start[0] + first, start[1] + second, offset + more)
        if not candidate.fits:
            return None
        if numpy.array_equal(candidate.apply(a, b), wanted) and numpy.array_equal(candidate.apply(FIRST, SECOND), meaning):
            return candidate
    return None


def _nudges() -> list[tuple[int, int, int]]:
    """Returns changes of both factors and of the offset, the smallest first; the same list in every process."""
    generator = numpy.random.default_rng(5)
    random = [
        (int(i), int(j), int(k))
        for i, j, k in zip(
            generator.integers(-40, 41, TRIES), generator.integers(-40, 41, TRIES), generator.integers(-4, 5, TRIES)
        )
    ]
    return [(0, 0, more) for more in (0, 1, -1, 2, -2, 3, -3)] + random
