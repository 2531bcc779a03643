# SPDX-License-Identifier: MIT
"""Division by a scale as a product and a fused multiply-add."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest

from aidge_build.operators.arithmetic import reciprocal
from aidge_build.operators.arithmetic.reciprocal import proved_reciprocal


def scales(count: int) -> list[float]:
    return (2.0 ** numpy.random.default_rng(5).uniform(-12, 4, count)).astype(numpy.float32).tolist()


def test_nearly_every_scale_has_a_product():
    found = [proved_reciprocal(scale) for scale in scales(25)]
    assert sum(one is not None for one in found) >= 24


def test_both_parts_together_are_the_reciprocal_and_none_is_negative():
    for scale in scales(20):
        high, low = proved_reciprocal(scale)
        error = abs((Fraction(float(high)) + Fraction(float(low))) * Fraction(scale) - 1)
        assert error < Fraction(1, 2**46) and low >= 0


def test_powers_of_two_need_one_part_only():
    assert proved_reciprocal(0.25) == (4.0, 0.0)


@pytest.mark.parametrize("scale", [2.0**-110, 2.0**110, 1e-45])
def test_scales_near_the_ends_of_float32_have_none(scale):
    assert proved_reciprocal(scale) is None


def test_a_product_that_is_one_unit_off_is_not_proved(monkeypatch):
    """Without the second part the levels next to thresholds differ."""
    exact = reciprocal._level
    monkeypatch.setattr(reciprocal, "_level", lambda value, high, low: exact(value, high, numpy.float32(0)))
    proved_reciprocal.cache_clear()
    assert sum(proved_reciprocal(scale) is not None for scale in scales(30)) < 5
    proved_reciprocal.cache_clear()


def test_levels_are_rounded_as_float32_and_then_to_even():
    high, low = proved_reciprocal(0.1)
    for value in (0.04, 0.05, 0.15, 0.25, 12.7499, 25.55):
        value = numpy.float32(value)
        total = Fraction(float(value)) * Fraction(float(high)) + Fraction(float(value * low))
        assert reciprocal._level(value, high, low) == numpy.rint(numpy.float32(float(total)))
