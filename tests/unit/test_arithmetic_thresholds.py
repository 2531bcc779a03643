# SPDX-License-Identifier: MIT
"""The integer requantization equals the float formula on every accumulator wherever it claims so."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.requantize import requantize
from aidge_build.arithmetic.thresholds import high_form, low_form, staircase

MOST = 40_000


def channels(seed: int, zero_point: int):
    random = numpy.random.default_rng(seed)
    multipliers = numpy.exp(random.uniform(numpy.log(5e-4), numpy.log(2e-2), 24)).astype(numpy.float32)
    multipliers[:4] = 2.0**-7, 2.0**-9, 3 * 2.0**-10, 0.0
    low = -random.integers(10, MOST, len(multipliers))
    return staircase(multipliers, zero_point, low, low + random.integers(0, MOST, len(low)))


def test_proved_forms_equal_the_float_formula_on_every_accumulator():
    proved = 0
    for seed, zero_point in ((0, -128), (1, 0), (2, 127), (3, -5)):
        stairs = channels(seed, zero_point)
        low, high = low_form(stairs, 4), high_form(stairs, 12)
        for channel, multiplier in enumerate(stairs.multipliers):
            accumulators = numpy.arange(stairs.low[channel], stairs.high[channel] + 1)
            wanted = requantize(accumulators, multiplier, zero_point, -128, 127)
            if low.multipliers[channel]:
                assert numpy.array_equal(low.apply(channel, accumulators, 4), wanted)
                proved += 1
            if high.multipliers[channel]:
                assert numpy.array_equal(high.apply(channel, accumulators, 12), wanted)
                proved += 1
    assert proved > 120


def test_exact_ties_are_not_claimed():
    stairs = staircase(numpy.array([0.5], numpy.float32), 0, numpy.array([-100]), numpy.array([100]))
    assert low_form(stairs, 1).multipliers[0] == 0 and high_form(stairs, 9).multipliers[0] == 0


def test_moving_the_line_by_a_fraction_proves_more_channels():
    multipliers = numpy.linspace(0.003, 0.012, 80).astype(numpy.float32)
    stairs = staircase(multipliers, -128, numpy.full(80, -60_000), numpy.full(80, 60_000))
    assert (low_form(stairs, 4).multipliers > 0).sum() > (low_form(stairs, 4, is_tuned=False).multipliers > 0).sum()


def test_the_staircase_begins_and_ends_with_the_range():
    stairs = staircase(numpy.array([0.01], numpy.float32), 0, numpy.array([-30]), numpy.array([170]))
    assert stairs.steps.min() == -30 and stairs.steps.max() == 171
    assert [int(step) for step in stairs.steps[0][127:131]] == [-30, 51, 150, 171]  # 1.5 is rounded to the even 2
