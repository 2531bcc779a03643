# SPDX-License-Identifier: MIT
"""Sums of two int8 values in integers."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest

from aidge_build.arithmetic.affine import FIRST, SECOND, proved_affine
from aidge_build.arithmetic.fixed_point import exact_ratio
from aidge_build.errors import AidgeError


def meaning_of(scales, zero_points, low=-128, high=127):
    first, second, result = (float(numpy.float32(scale)) for scale in scales)
    real = (FIRST - zero_points[0]) * first + (SECOND - zero_points[1]) * second
    return numpy.clip(numpy.rint(real / result).astype(numpy.int64) + zero_points[2], low, high)


def proved(scales, zero_points=(0, 0, 0), low=-128, high=127):
    scales = [numpy.float32(scale) for scale in scales]
    ratios = exact_ratio(scales[0], scales[2]), exact_ratio(scales[1], scales[2])
    return proved_affine(ratios, zero_points, low, high, meaning_of(scales, zero_points, low, high))


@pytest.mark.parametrize("seed", range(25))
def test_sums_with_random_scales_fit_int32(seed):
    random = numpy.random.default_rng(seed)
    scales = 0.1 * numpy.exp2(random.uniform(-0.7, 0.7, 3))
    constants = proved(scales, tuple(int(z) for z in random.integers(-128, 128, 3)))
    assert constants.is_narrow


@pytest.mark.parametrize("seed", range(25))
def test_sums_with_scales_far_apart_are_proved_without_a_division(seed):
    random = numpy.random.default_rng(seed)
    constants = proved(numpy.exp(random.uniform(-6, 2, 3)), tuple(int(z) for z in random.integers(-128, 128, 3)))
    assert constants.divisor == 0


def test_ties_of_power_of_two_scales_go_to_even():
    constants = proved((1.0, 1.0, 2.0))
    assert constants.apply(numpy.array([1, 3, -1, -3]), numpy.zeros(4, numpy.int64)).tolist() == [0, 2, 0, -2]


def test_ties_at_thirds_need_the_exact_quotient():
    constants = proved((0.75, 0.75, 4.5))
    assert constants.divisor == 6 and not constants.is_narrow


def test_a_meaning_that_is_no_such_sum_is_refused():
    wrong = meaning_of((1, 1, 2), (0, 0, 0))
    wrong[17, 4] += 1
    with pytest.raises(AidgeError, match="on all pairs"):
        proved_affine((Fraction(1, 2), Fraction(1, 2)), (0, 0, 0), -128, 127, wrong)
