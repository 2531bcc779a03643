# SPDX-License-Identifier: MIT
"""A line of 64 bits gives the level of the float32 formula for every sum of the range, or is not offered."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.operators.arithmetic.contracts import FloatFactors
from aidge_build.operators.arithmetic.lines import line
from aidge_build.operators.arithmetic.requantize import requantize
from aidge_build.operators.arithmetic.thresholds import staircase


def around_steps(multiplier: float, low: int, high: int) -> numpy.ndarray:
    """All sums if they are few, else those near the middle of two levels and at the ends."""
    if high - low < 100_000:
        return numpy.arange(low, high + 1)
    steps = numpy.rint((numpy.arange(-256, 257) + 0.5) / numpy.float64(multiplier)).astype(numpy.int64)
    sums = numpy.concatenate([steps + move for move in range(-3, 4)] + [numpy.array([low, low + 1, high - 1, high])])
    return numpy.unique(sums[(sums >= low) & (sums <= high)])


@pytest.mark.parametrize("shift", [0, 4, 8])
@pytest.mark.parametrize("zero_point", [-128, 3, 127])
def test_a_line_that_is_found_gives_every_level(shift, zero_point):
    random = numpy.random.default_rng(shift)
    multipliers = numpy.exp(random.uniform(numpy.log(2e-4), numpy.log(0.49), 60)).astype(numpy.float32)
    high = (random.uniform(1, 400, 60) / multipliers).astype(numpy.int64)
    low = -(random.uniform(0.2, 1.5, 60) * high).astype(numpy.int64)
    found = line(staircase(FloatFactors(multipliers), zero_point, low, high), shift)
    proved = numpy.flatnonzero(found.multipliers)
    assert len(proved) > {0: 30, 4: 15, 8: 5}[shift]
    for channel in proved:
        sums = around_steps(multipliers[channel], int(low[channel]), int(high[channel]))
        wanted = requantize(sums, multipliers[channel], zero_point, -128, 127)
        assert numpy.array_equal(found.apply(channel, sums, shift), wanted), multipliers[channel]


def test_slopes_that_fit_no_word_and_sums_beyond_int32_are_not_proved():
    multipliers = numpy.array([0.5, 3.0, 0.0371, 0.0371], numpy.float32)
    high = numpy.array([100, 100, 1 << 31, 100])
    found = line(staircase(FloatFactors(multipliers), 0, -high, high), 0)
    assert (found.multipliers > 0).tolist() == [False, False, False, True]


def test_a_staircase_that_no_line_follows_is_not_proved():
    wanted = staircase(FloatFactors(numpy.array([0.1037], numpy.float32)), 0, numpy.array([-500]), numpy.array([500]))
    assert line(wanted, 0).multipliers[0] > 0
    wanted.steps[0, 140] += 4  # one level begins too late
    assert line(wanted, 0).multipliers[0] == 0
