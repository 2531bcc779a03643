# SPDX-License-Identifier: MIT
"""The few instructions of the contract `double` give its levels for every sum, and say where they do not apply."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.operators.arithmetic.contracts import FixedFactors, FloatFactors, each_channel
from aidge_build.operators.arithmetic.fixed_form import fixed_form
from aidge_build.operators.arithmetic.fixed_multiplier import fixed_multipliers
from aidge_build.operators.arithmetic.thresholds import high_form, low_form, staircase

LEAST, MOST = 1 << 30, (1 << 31) - 1
PAIRS = [(m, -s) for m in (LEAST, LEAST + 1, 1518500250, MOST - 1, MOST) for s in (1, 2, 5, 9, 22)]


def factors(pairs, once: bool) -> FixedFactors:
    return FixedFactors(numpy.array(pairs, numpy.int64), once)


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("zero_point", [-128, 0, 127, 255, -3])
def test_the_form_equals_the_contract_on_sums_around_every_tie(once, zero_point):
    found = factors(PAIRS, once)
    ends = numpy.full(len(PAIRS), 1 << 20)
    form = fixed_form(found, zero_point, -ends, ends)
    assert form.fits.all() and form.once is once
    for channel, (multiplier, shift) in enumerate(PAIRS):
        halves = ((2 * numpy.arange(-90, 90) + 1) << (-shift - 1)) * (1 << 31) // multiplier
        sums = numpy.unique(numpy.clip(halves[:, None] + numpy.arange(-3, 4), -(1 << 20), 1 << 20))
        sums = numpy.union1d(sums, numpy.arange(-40, 40))
        meant = found.of(numpy.array([channel])).levels(sums[:, None], 1, zero_point, -(1 << 40), 1 << 40)[:, 0]
        assert numpy.array_equal(form.apply(channel, sums), meant)


@pytest.mark.parametrize(
    "shift, zero_point, low, high, fits",
    [
        (-1, 0, -(1 << 30) + 1, 1 << 29, True),
        (-1, 0, -(1 << 30), 1, False),  # twice the sum leaves int32
        (-1, 0, 0, 1 << 30, False),
        (-1, 0, 0, (1 << 30) - 1, True),
        (0, 0, -1, 1, False),  # nothing is shifted, so that nothing is rounded by a shift
        (1, 0, -1, 1, False),
        (-22, 127, -1, 1, True),
        (-31, 0, -1, 1, True),
        (-24, 255, -1, 1, False),  # the constant leaves int32
        (-24, -128, -1, 1, True),
        (-25, -128, -1, 1, False),
        (-23, 255, -1, (1 << 31) - (511 << 22) - 3, True),
        (-23, 255, -1, (1 << 31) - (511 << 22) - 2, False),  # the sum of both
        (-24, -128, -(1 << 31) + (255 << 23) + 3, 1, True),
        (-24, -128, -(1 << 31) + (255 << 23) + 2, 1, False),
    ],
)
def test_where_something_leaves_int32_the_form_does_not_fit(shift, zero_point, low, high, fits):
    form = fixed_form(factors([(LEAST, shift)], False), zero_point, numpy.array([low]), numpy.array([high]))
    assert bool(form.fits[0]) is fits


def test_lines_go_through_all_steps_of_one_sign_and_through_few_of_both():
    low, high = numpy.full(40, -40_000), numpy.full(40, 200_000)
    random = numpy.random.default_rng(3)
    slopes = numpy.exp(random.uniform(numpy.log(6e-4), numpy.log(3e-3), 40))
    proved = {}
    for once in (False, True):
        rule = factors(fixed_multipliers(slopes), once)
        for zero_point in (-128, 0):
            stairs = staircase(rule, zero_point, low, high)
            forms = low_form(stairs, 4), high_form(stairs, 12)
            proved[once, zero_point] = [int((form.multipliers > 0).sum()) for form in forms]
            for form, shift in zip(forms, (4, 12)):
                for channel in numpy.flatnonzero(form.multipliers)[:5]:
                    sums = numpy.arange(low[channel], high[channel] + 1, 3)
                    meant = rule.of(channel[None]).levels(sums[:, None], 1, zero_point, -128, 127)[:, 0]
                    assert numpy.array_equal(form.apply(channel, sums, shift), meant)
    assert min(proved[False, -128]) >= 38 and min(*proved[True, -128], *proved[True, 0]) >= 38
    assert max(proved[False, 0]) <= 4


def test_factors_of_chosen_channels_and_powers_of_two_in_place_of_others():
    fixed, real = factors([(LEAST, -3), (MOST, -4)], True), FloatFactors(numpy.array([0.5, 0.25], numpy.float32))
    assert fixed.slopes.tolist() == [2.0**-4, MOST * 2.0**-35] and real.slopes.tolist() == [0.5, 0.25]
    for rule in (fixed, real):
        turned = rule.of(numpy.array([1, 0, 1]))
        assert turned.slopes.tolist() == [rule.slopes[1], rule.slopes[0], rule.slopes[1]]
        replaced = rule.replaced(numpy.array([True, False]), 2.0**-10)
        assert replaced.slopes.tolist() == [2.0**-10, rule.slopes[1]]
        assert each_channel(rule.of(numpy.array([1])), 3).slopes.tolist() == [rule.slopes[1]] * 3
        assert each_channel(rule, 2).slopes.tolist() == rule.slopes.tolist()
    assert fixed.of(numpy.array([0])).once and fixed.replaced(numpy.array([True, True]), 0.5).once
    assert real.replaced(numpy.array([True, False]), 0.5).factors.dtype == numpy.float32
