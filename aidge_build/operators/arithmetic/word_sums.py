# SPDX-License-Identifier: MIT
"""Sums of two int8 values by two products and one shift of 32 bits, proved equal to the real formula on all 65,536 pairs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy

from aidge_build.operators.arithmetic.affine import FIRST, SECOND

BITS = (22, 20, 18, 16)  # of the fraction, in order of preference: few, so that few texts differ
_NEAR_TIE = 2.0**-9
_NUDGES = sorted(
    itertools.product(range(-3, 4), range(-3, 4), range(-40, 41, 8)), key=lambda nudge: (sum(map(abs, nudge)), nudge)
)


@dataclass(frozen=True)
class WordSum:
    """y = clamp((a * first + b * second + offset) >> bits, -128, 127), rounded down."""

    first: int
    second: int
    offset: int
    bits: int

    def apply(self, a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
        """The stored sums, int8 values as int64, as the kernel computes them from stored values."""
        return numpy.clip((a * self.first + b * self.second + self.offset) >> self.bits, -128, 127)

    @property
    def fits(self) -> bool:
        """Whether no partial sum leaves int32."""
        return 128 * (abs(self.first) + abs(self.second)) + abs(self.offset) < 1 << 31


def word_sum(ratios: tuple[Fraction, Fraction], zero_points: tuple[int, ...], meaning: numpy.ndarray) -> WordSum | None:
    """Returns factors that give `meaning` [256, 256] for all stored pairs (a, b); None if no factors near the ratios do."""
    exact = float(ratios[0]) * (FIRST - zero_points[0]) + float(ratios[1]) * (SECOND - zero_points[1])
    hard = numpy.abs(exact - numpy.floor(exact) - 0.5) < _NEAR_TIE
    a, b, wanted = FIRST[hard], SECOND[hard], meaning[hard]
    middle = zero_points[2] - ratios[0] * zero_points[0] - ratios[1] * zero_points[1] + Fraction(1, 2)
    for bits in BITS:
        first, second, offset = (round(number * (1 << bits)) for number in (*ratios, middle))
        for nudge in _NUDGES:
            candidate = WordSum(first + nudge[0], second + nudge[1], offset + nudge[2], bits)
            if not candidate.fits:
                break
            if numpy.array_equal(candidate.apply(a, b), wanted) and numpy.array_equal(candidate.apply(FIRST, SECOND), meaning):
                return candidate
    return None
