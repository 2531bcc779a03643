# SPDX-License-Identifier: MIT
"""Sums by two products and a shift: what is found is right for all pairs, and what is near is found."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy
import pytest

from aidge_build.operators.arithmetic.affine import FIRST, SECOND
from aidge_build.operators.arithmetic.word_sums import word_sum


def meaning(ratios, zero_points) -> numpy.ndarray:
    """Half a step up, as no sum of these ratios is a tie."""
    first, second, result = zero_points
    exact = float(ratios[0]) * (FIRST - first) + float(ratios[1]) * (SECOND - second)
    return numpy.clip(numpy.floor(exact + 0.5).astype(numpy.int64) + result, -128, 127)


@pytest.mark.parametrize("zero_points", [(0, 0, 0), (-128, 5, -128), (127, -128, 17)])
def test_factors_near_the_ratios_are_found_and_right_for_all_pairs(zero_points):
    random = numpy.random.default_rng(6)
    for _ in range(6):
        ratios = tuple(Fraction(float(ratio)) for ratio in random.uniform(-1.2, 1.2, 2))
        wanted = meaning(ratios, zero_points)
        found = word_sum(ratios, zero_points, wanted)
        assert found is not None and found.fits
        assert numpy.array_equal(found.apply(FIRST, SECOND), wanted)
        assert not numpy.array_equal(replace(found, offset=found.offset + (1 << found.bits)).apply(FIRST, SECOND), wanted)


def test_sums_that_round_to_the_even_level_are_not_found():
    wanted = numpy.clip(numpy.rint((FIRST + SECOND) / 2).astype(numpy.int64), -128, 127)
    assert word_sum((Fraction(1, 2), Fraction(1, 2)), (0, 0, 0), wanted) is None


def test_factors_that_leave_32_bits_are_not_tried():
    wanted = numpy.zeros((256, 256), numpy.int64)
    assert word_sum((Fraction(1 << 20), Fraction(1 << 20)), (0, 0, 0), wanted) is None
