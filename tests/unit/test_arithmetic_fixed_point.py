# SPDX-License-Identifier: MIT
"""Rescaling of integers, and its proof."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.operators.arithmetic.fixed_point import (
    divide_half_even,
    proved_rescale,
    rescales,
    shift_half_even,
)


def test_shifts_and_quotients_round_half_to_even():
    values = numpy.arange(-40, 41)
    assert shift_half_even(values, 2).tolist() == numpy.rint(values / 4).astype(int).tolist()
    assert divide_half_even(values, 6).tolist() == [round(Fraction(int(v), 6)) for v in values]


def test_a_mean_of_36_values_has_ties_that_only_the_quotient_rounds_right():
    sums = numpy.arange(-9180, 9181)
    exact = [round(Fraction(int(value), 36)) for value in sums]

    def is_exact(candidate):
        return candidate.apply(sums).tolist() == exact

    found = proved_rescale(Fraction(1, 36), 255 * 36, is_exact, "a mean")
    assert found.divisor == 36
    assert not is_exact(next(rescales(Fraction(1, 36), 9180)))


def test_every_candidate_stays_within_int64():
    for ratio in (Fraction(1, 3), Fraction(2**40 + 1, 2**30), Fraction(16777215, 2**149)):
        for candidate in rescales(ratio, 255 * 4096):
            assert candidate.multiplier * 255 * 4096 < 2**63


@pytest.mark.requirement("RANGE", "G3")
def test_a_scaling_that_nothing_proves_is_refused():
    with pytest.raises(AidgeError, match="proved equal to nonsense"):
        proved_rescale(Fraction(1, 3), 100, lambda candidate: False, "nonsense")
