# SPDX-License-Identifier: MIT
"""Sums of two int8 values in integers."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.operators.arithmetic.affine import FIRST, SECOND, Affine, proved_affine
from aidge_build.operators.arithmetic.fixed_point import exact_ratio


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


@pytest.mark.requirement("RANGE")
def test_a_meaning_that_is_no_such_sum_is_refused():
    wrong = meaning_of((1, 1, 2), (0, 0, 0))
    wrong[17, 4] += 1
    with pytest.raises(AidgeError, match="on all pairs"):
        proved_affine((Fraction(1, 2), Fraction(1, 2)), (0, 0, 0), -128, 127, wrong)


INT32 = 1 << 31


def intermediates(candidate: Affine) -> numpy.ndarray:
    """Every number that C's int32 holds on the way to the rounded sum, in any order of evaluation from left to right."""
    ends = numpy.array([-128, 127])
    first = candidate.offset + ends * candidate.first
    sums = (first[:, None] + ends * candidate.second).reshape(-1)
    half = (1 << (candidate.shift - 1)) - 1
    return numpy.concatenate([[candidate.offset, half], first, sums, sums + half, sums + half + ((sums >> candidate.shift) & 1)])


@pytest.mark.parametrize("sign", [1, -1])
def test_narrow_sums_leave_int32_room_for_the_rounding(sign):
    shift = 20
    for excess, narrow in ((-1, True), (0, False)):  # the largest sum and 2^shift together are 2^31 + excess
        offset = sign * (INT32 + excess - (1 << shift) - 128 * 1000 - 128 * 2000)
        candidate = Affine(-sign * 1000, -sign * 2000, offset, shift)
        assert max(abs(candidate.offset - sign * -128 * 3000), 0) == INT32 + excess - (1 << shift)
        assert candidate.is_narrow == narrow
    without_room = Affine(-sign * 1000, -sign * 2000, sign * (INT32 - 1 - 128 * 3000), shift)
    assert (abs(intermediates(without_room)) >= INT32).any() == (sign > 0) and not without_room.is_narrow


@pytest.mark.parametrize("seed", range(20))
def test_what_is_narrow_stays_within_int32(seed):
    random = numpy.random.default_rng(seed)
    for _ in range(50):
        shift = int(random.integers(1, 31))
        first, second, offset = (int(value) for value in random.integers(-(1 << 24), 1 << 24, 3) * [1, 1, 1 << int(seed % 8)])
        candidate = Affine(first, second, offset, shift)
        assert not candidate.is_narrow or (abs(intermediates(candidate)) < INT32).all()


@pytest.mark.parametrize("scales", [(1e30, 1.0, 1e-8), (1.0, 1e38, 1e-38), (3e37, 3e37, 1e-45)])
def test_scales_that_no_integers_serve_are_refused(scales):
    with numpy.errstate(all="ignore"), pytest.raises(AidgeError, match="no integer arithmetic is proved equal to this sum"):
        proved(scales, (3, -5, 7))


@pytest.mark.parametrize("scales", [(1e-30, 1e-38, 1.0), (1e-38, 1.0, 1.0)])
def test_terms_far_below_a_level_vanish(scales):
    assert proved(scales, (3, -5, 7)).is_narrow
