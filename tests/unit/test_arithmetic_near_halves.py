# SPDX-License-Identifier: MIT
"""One product of 64 bits gives the level of the float32 formula wherever it does not say that it might not."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.operators.arithmetic.near_halves import BAND, START, near_factors, near_is_exact, near_starts
from aidge_build.operators.arithmetic.requantize import requantize

MULTIPLIERS = [0.4999999, 0.25, 0.1, 2.0**-7, 3 * 2.0**-11, 0.0123, 0.00123, 2.0**-13, 1e-4, 2.0**-20, 1e-30, 0.0]


def both(multiplier: float, sums: numpy.ndarray, zero_point: int = 0) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """The levels of the product and of the formula, and where the product says that it might be wrong."""
    products = sums * int(near_factors(multiplier)) + START
    levels = numpy.clip((products >> 32) + zero_point, -128, 127)
    return levels, requantize(sums, multiplier, zero_point, -128, 127), (products & 0xFFFFFFFF) < BAND


@pytest.mark.parametrize("zero_point", [-128, 0, 127])
def test_levels_equal_the_float_formula_where_the_low_word_is_not_in_the_band(zero_point):
    for multiplier in MULTIPLIERS:
        sums = numpy.arange(-200_000, 200_001)
        assert near_is_exact(multiplier, 200_000), multiplier
        got, wanted, unsure = both(multiplier, sums, zero_point)
        assert numpy.array_equal(got[~unsure], wanted[~unsure]), multiplier


def test_sums_around_every_step_and_the_largest_ones_are_right_or_unsure():
    random = numpy.random.default_rng(1)
    for multiplier in numpy.exp(random.uniform(numpy.log(2e-4), numpy.log(0.4), 200)).astype(numpy.float32):
        steps = numpy.rint((numpy.arange(-256, 257) + 0.5) / numpy.float64(multiplier)).astype(numpy.int64)
        ends = numpy.array([-(1 << 31), -(1 << 31) + 1, (1 << 31) - 1, -(1 << 24) - 1, (1 << 24) + 1])
        sums = numpy.unique(numpy.concatenate([steps + move for move in range(-3, 4)] + [ends]))
        assert near_is_exact(multiplier, 1 << 31)
        got, wanted, unsure = both(multiplier, sums)
        assert numpy.array_equal(got[~unsure], wanted[~unsure]), multiplier


@pytest.mark.parametrize("unit", [2, 128])
def test_fractions_of_the_unit_of_the_sums_are_in_the_start(unit):
    random = numpy.random.default_rng(unit)
    for multiplier in numpy.exp(random.uniform(numpy.log(2e-4), numpy.log(0.4), 100)).astype(numpy.float32):
        steps = numpy.rint((numpy.arange(-140, 141) + 0.5) / numpy.float64(multiplier)).astype(numpy.int64)
        sums = numpy.concatenate([steps + move for move in range(-2, 3)] + [random.integers(-(1 << 17), 1 << 17, 500)])
        for fraction in (0, 1, unit // 2, unit - 1):
            (start,) = near_starts([multiplier], [fraction], unit).tolist()
            assert START <= start < 1 << 32
            products = sums * int(near_factors(multiplier)) + start
            unsure = (products & 0xFFFFFFFF) < BAND
            wanted = requantize(sums * unit + fraction, multiplier / numpy.float32(unit), 0, -128, 127)
            assert numpy.array_equal(numpy.clip(products >> 32, -128, 127)[~unsure], wanted[~unsure])
            assert unsure[-500:].mean() < 0.02


def test_exact_ties_lie_in_the_band():
    sums = numpy.arange(-127, 128) * 128 + 64
    _, _, unsure = both(2.0**-7, sums)
    assert unsure.all()


def test_few_sums_lie_in_the_band():
    _, _, unsure = both(0.00123, numpy.arange(-100_000, 100_000))
    assert unsure.mean() < 1 / 400


def test_multipliers_that_are_too_large_and_sums_whose_error_is_are_not_claimed():
    assert not near_is_exact(0.5, 10) and not near_is_exact(3.0, 10)
    inexact = 1000.9 / 2**32
    assert near_is_exact(inexact, 1_000_000) and not near_is_exact(inexact, 1 << 24)
