# SPDX-License-Identifier: MIT
"""Sums divided by powers of two with halves to even, in integers, against the formula of the contract."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.operators.arithmetic.contracts import FixedFactors, FloatFactors
from aidge_build.operators.arithmetic.ties_to_even import EXACT, even_form

FAR = 1 << 40  # beyond every level


def factors(*values: float) -> FloatFactors:
    return FloatFactors(numpy.array(values, numpy.float32))


def magnitudes(*values: int) -> numpy.ndarray:
    return numpy.array(values, numpy.int64)


@pytest.mark.parametrize("most_scale", [1, 2, 256])
@pytest.mark.parametrize("zero_point", [-128, -2, 0, 126])
def test_every_sum_becomes_the_level_of_the_formula(zero_point, most_scale):
    requantization, largest = factors(2**-1, 2**-5, 2**-8, 2**-5), magnitudes(3000, 3000, 70000, 1)
    form = even_form(requantization, zero_point, largest, most_scale)
    assert (form is None) == (most_scale < 2**7)
    for shifts in ((1,), (5,), (8,)) if form is None else ((1, 5, 8, 5),):
        requantization = factors(*(2.0**-shift for shift in shifts))
        form = even_form(requantization, zero_point, largest[: len(shifts)], most_scale)
        for channel, most in enumerate(largest[: len(shifts)]):
            sums = numpy.arange(-most, most + 1)
            levels = requantization.of([channel]).levels(sums[None], 0, zero_point, -FAR, FAR)[0]
            assert (form.apply(channel, sums) == levels).all()


def test_scales_are_as_large_as_int32_allows_and_the_sums_of_all_channels_are_shifted_alike():
    form = even_form(factors(2**-4, 2**-6), 0, magnitudes(100, 100), 256)
    assert (form.shift, form.scales.tolist(), form.offset) == (12, [256, 64], (1 << 11) - 1)
    # 2^31 - 1 is the most that a sum, its offset and the bit that is added may come to
    most = ((1 << 31) - 2 - ((1 << 11) - 1)) // 256
    assert even_form(factors(2**-4), 0, magnitudes(most), 256).shift == 12
    assert even_form(factors(2**-4), 0, magnitudes(most + 1), 256).shift == 11
    assert even_form(factors(2**-16), 0, magnitudes(EXACT - 1), 128).shift == 22
    exactly = even_form(factors(2**-16), 0, magnitudes((1 << 24) - 1), 1 << 15)
    assert exactly.shift == 22 and (exactly.scales * ((1 << 24) - 1)).max() + exactly.offset + 1 < 1 << 31
    assert even_form(factors(2**-30), 0, magnitudes(1), 256).shift == 31
    assert even_form(factors(2**-31), 0, magnitudes(1), 1).shift == 31
    assert even_form(factors(2**-32), 0, magnitudes(1), 1) is None


def test_a_zero_point_counts_in_the_sum():
    for zero_point in (-2, 126):
        offset = (zero_point << 12) + (1 << 11) - 1
        most = ((1 << 31) - 2 - abs(offset)) // 256
        assert even_form(factors(2**-4), zero_point, magnitudes(most), 256).offset == offset
        assert even_form(factors(2**-4), zero_point, magnitudes(most + 1), 256).shift == 11


def test_a_factor_of_one_needs_a_scale():
    form = even_form(factors(1.0), 2, magnitudes(50), 4)
    assert (form.shift, form.apply(0, numpy.arange(-50, 51)).tolist()) == (2, list(range(-48, 53)))
    assert even_form(factors(1.0), 2, magnitudes(50), 1) is None


@pytest.mark.parametrize(
    "requantization, zero_point, largest",
    [
        (factors(2**-4), 3, 100),
        (factors(2**-4), -1, 100),
        (factors(2**-4 * 1.5), 0, 100),
        (factors(2**-4, 0.3), 0, 100),
        (factors(2.0), 0, 100),
        (factors(0.0), 0, 100),
        (factors(2**-12), 0, EXACT),
        (factors(2**-1, 2**-12), 0, 100),
        (FixedFactors(numpy.array([[1 << 30, -4]])), 0, 100),
    ],
)
def test_there_is_no_form_of_other_factors_of_odd_zero_points_and_of_sums_that_float32_rounds(
    requantization, zero_point, largest
):
    assert even_form(requantization, zero_point, magnitudes(*(largest for _ in requantization.numbers)), 256) is None


def test_just_below_there_is_one():
    assert even_form(factors(2**-12), 0, magnitudes(EXACT - 1), 256).shift == 18
    assert even_form(factors(2**-1, 2**-9), 0, magnitudes(100, 100), 256).scales.tolist() == [256, 1]
