# SPDX-License-Identifier: MIT
"""One addition and one fused multiplication give the level of the float32 formula wherever they claim so."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest

from aidge_build.operators.arithmetic.contracts import FloatFactors
from aidge_build.operators.arithmetic.fused import CONSTANT_BITS, FusedForm, fused_form, integers_of
from aidge_build.operators.arithmetic.requantize import requantize
from aidge_build.operators.arithmetic.thresholds import staircase


def forms(multipliers, zero_point: int, low, high):
    multipliers = numpy.array(multipliers, numpy.float32)
    low, high = (numpy.broadcast_to(end, multipliers.shape).astype(numpy.int64) for end in (low, high))
    return fused_form(staircase(FloatFactors(multipliers), zero_point, low, high)), low, high


def floats_of(words: numpy.ndarray) -> numpy.ndarray:
    return words.astype("<i4").view("<f4")


def computed(form: FusedForm, channel: int, accumulators) -> list[int]:
    """The formula in exact fractions, on the floats that a core sees."""
    (constant,) = floats_of(numpy.array([CONSTANT_BITS + int(form.constants[channel])]))
    levels = []
    for accumulator in accumulators:
        (value,) = floats_of(numpy.array([0x4B000000 + int(form.offsets[channel]) + int(accumulator)]))
        assert 2**23 <= value < 2**24
        result = round(Fraction(float(value)) * Fraction(float(form.multipliers[channel])) + Fraction(float(constant)))
        assert 2**23 <= result < 2**24
        level = result & 0xFFFF
        levels.append(max(-128, min(127, level - 0x10000 if level >= 0x8000 else level)))
    return levels


@pytest.mark.requirement("G3")
@pytest.mark.parametrize("zero_point", [-128, 0, 127, -5])
def test_proved_channels_equal_the_float_formula_on_every_accumulator(zero_point):
    random = numpy.random.default_rng(zero_point + 200)
    multipliers = numpy.exp(random.uniform(numpy.log(2e-4), numpy.log(0.1), 40)).astype(numpy.float32)
    multipliers[:4] = 2.0**-7, 2.0**-9, 3 * 2.0**-10, 2.0**-4
    low = -random.integers(1, 40_000, 40)
    form, low, high = forms(multipliers, zero_point, low, low + random.integers(0, 60_000, 40))
    for channel in numpy.flatnonzero(form.is_proved):
        accumulators = numpy.arange(low[channel], high[channel] + 1)
        wanted = requantize(accumulators, multipliers[channel], zero_point, -128, 127)
        assert numpy.array_equal(form.apply(channel, accumulators), wanted)
        some = accumulators[:: max(1, len(accumulators) // 50)]
        assert computed(form, channel, some) == form.apply(channel, some).tolist()
    assert form.is_proved.sum() >= 34


def test_ties_of_even_levels_are_proved_and_those_of_odd_ones_are_not():
    even, _, _ = forms([2.0**-5, 2.0**-8], -128, -5000, 5000)
    odd, _, _ = forms([2.0**-5, 2.0**-8], 3, -5000, 5000)
    assert even.is_proved.all() and not odd.is_proved.any()
    assert even.apply(0, numpy.array([16, 48, 80])).tolist() == [-128, -126, -126]


@pytest.mark.requirement("G3")
def test_a_line_that_float_rounding_breaks_is_not_claimed():
    form, low, high = forms([0.0023766058], -128, -349_182, 308_463)  # of a real layer: two ties are rounded towards each other
    assert not form.is_proved[0]


def test_a_slope_beside_the_multiplier_serves_where_the_multiplier_does_not():
    random = numpy.random.default_rng(5)
    multipliers = numpy.exp(random.uniform(numpy.log(1e-3), numpy.log(1e-2), 400)).astype(numpy.float32)
    form, low, high = forms(multipliers, -128, -300_000, 300_000)
    moved = numpy.flatnonzero(form.is_proved & (form.multipliers != multipliers))
    assert len(moved) > 0
    for channel in moved:
        accumulators = numpy.arange(-300_000, 300_001)
        assert numpy.array_equal(
            form.apply(channel, accumulators), requantize(accumulators, multipliers[channel], -128, -128, 127)
        )


def test_multipliers_beyond_the_limits_are_not_claimed():
    form, _, _ = forms([0.25, 0.249, 2.0**-23, 2.0**-24, 0.0], 0, -100, 100)
    assert form.is_proved.tolist() == [False, True, True, False, False]


def test_levels_that_leave_sixteen_bits_are_not_claimed():
    form, _, _ = forms([0.125] * 4, 0, [-260_103, -260_104, -100, -100], [100, 100, 260_103, 260_104])
    assert form.is_proved.tolist() == [True, False, True, False]


def test_accumulators_that_leave_the_range_of_integers_are_not_claimed():
    multipliers = [2.0**-12] * 2
    form, _, _ = forms(multipliers, 0, [-(2**22), -(2**22)], [2**22 - 1, 2**22])
    assert form.is_proved.tolist() == [True, False]


def test_a_channel_that_is_always_limited_is_proved():
    form, _, _ = forms([2.0**-6] * 3, -128, [-9000, 20_000, -3], [-8000, 20_100, 3])
    assert form.is_proved.all()
    assert form.apply(0, numpy.arange(-9000, -7999)).tolist() == [-128] * 1001
    assert form.apply(1, numpy.arange(20_000, 20_101)).tolist() == [127] * 101


def test_a_multiplier_is_a_factor_over_a_power_of_two():
    factors, bits = integers_of(numpy.array([0.75, 2.0**-9, 1.0], numpy.float32))
    assert (factors / 2.0**bits).tolist() == [0.75, 2.0**-9, 1.0] and factors.tolist() == [3 << 22, 1 << 23, 1 << 23]
