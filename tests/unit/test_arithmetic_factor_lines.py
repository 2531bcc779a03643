# SPDX-License-Identifier: MIT
"""A line for each factor gives the product of every pair of stored values, or there is none."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy
import pytest

from aidge_build.operators.arithmetic.factor_lines import VALUES, factor_lines


def products(ratio: Fraction, data_zero: int, factor_zero: int, zero: int) -> numpy.ndarray:
    """The stored products [256 data values, 256 factors], each rounded once, ties to even."""
    exact = (VALUES[:, None] - data_zero) * (VALUES[None, :] - factor_zero)
    rounded = numpy.array([round(ratio * int(one)) for one in exact.ravel()]).reshape(exact.shape)
    return numpy.clip(rounded + zero, -128, 127)


@pytest.mark.parametrize(
    "ratio, data_zero, factor_zero, zero",
    [(Fraction(26, 8191), -128, -128, -128), (Fraction(3, 521), 7, -128, -20), (Fraction(1, 30011), 0, 3, 5)],
)
def test_lines_give_every_product_and_stay_within_32_bits(ratio, data_zero, factor_zero, zero):
    results = products(ratio, data_zero, factor_zero, zero)
    found = factor_lines(results, ratio, data_zero, factor_zero)
    slopes = (VALUES * found.multiplier + found.offset) >> 8
    starts = slopes * found.minus_zero + found.first
    sums = VALUES[:, None] * slopes + starts
    assert numpy.array_equal(numpy.clip(sums >> found.shift, -128, 127), results)
    assert max(int(abs(part).max()) for part in (sums, starts, VALUES[:, None] * slopes)) < 1 << 31
    assert found.fits() and not replace(found, first=1 << 31).fits()


def test_a_level_that_no_line_gives_is_refused():
    results = products(Fraction(26, 8191), -128, -128, -128)
    results[130, 140] += 1
    assert factor_lines(results, Fraction(26, 8191), -128, -128) is None


def test_a_ratio_that_leaves_no_bits_is_refused():
    assert factor_lines(products(Fraction(40000), 0, 0, 0), Fraction(40000), 0, 0) is None
