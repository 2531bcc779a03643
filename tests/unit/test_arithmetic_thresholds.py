# SPDX-License-Identifier: MIT
"""The integer requantization equals the float formula on every accumulator wherever it claims so."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidge_build.operators.arithmetic.contracts import FloatFactors
from aidge_build.operators.arithmetic.requantize import requantize
from aidge_build.operators.arithmetic.thresholds import LEVELS, Staircase, first_multiple_within, high_form, low_form, staircase

MOST = 40_000


def channels(seed: int, zero_point: int):
    random = numpy.random.default_rng(seed)
    multipliers = numpy.exp(random.uniform(numpy.log(5e-4), numpy.log(2e-2), 24)).astype(numpy.float32)
    multipliers[:4] = 2.0**-7, 2.0**-9, 3 * 2.0**-10, 0.0
    low = -random.integers(10, MOST, len(multipliers))
    return staircase(FloatFactors(multipliers), zero_point, low, low + random.integers(0, MOST, len(low)))


def test_proved_forms_equal_the_float_formula_on_every_accumulator():
    proved = 0
    for seed, zero_point in ((0, -128), (1, 0), (2, 127), (3, -5)):
        stairs = channels(seed, zero_point)
        low, high = low_form(stairs, 4), high_form(stairs, 12)
        for channel, multiplier in enumerate(stairs.slopes):
            accumulators = numpy.arange(stairs.low[channel], stairs.high[channel] + 1)
            wanted = requantize(accumulators, multiplier, zero_point, -128, 127)
            if low.multipliers[channel]:
                assert numpy.array_equal(low.apply(channel, accumulators, 4), wanted)
                proved += 1
            if high.multipliers[channel]:
                assert numpy.array_equal(high.apply(channel, accumulators, 12), wanted)
                proved += 1
    assert proved > 120


@pytest.mark.parametrize("added", [128, -3])
def test_a_form_gives_levels_moved_by_whole_steps(added):
    proved = 0
    for seed, zero_point in ((0, -128), (1, 0), (2, 127), (3, -5)):
        stairs = channels(seed, zero_point)
        found = high_form(stairs, 12, added=added)
        for channel in numpy.flatnonzero(found.multipliers):
            accumulators = numpy.arange(stairs.low[channel], stairs.high[channel] + 1)
            products = (256 * accumulators + int(found.offsets[channel])) * int(found.multipliers[channel])
            levels = numpy.clip((products >> 32 >> 12) - added, -128, 127)
            assert numpy.array_equal(levels, requantize(accumulators, stairs.slopes[channel], zero_point, -128, 127))
            proved += 1
    assert proved > 60


def test_exact_ties_are_not_claimed():
    stairs = staircase(FloatFactors(numpy.array([0.5], numpy.float32)), 0, numpy.array([-100]), numpy.array([100]))
    assert low_form(stairs, 1).multipliers[0] == 0 and high_form(stairs, 9).multipliers[0] == 0


def test_moving_the_line_by_a_fraction_proves_more_channels():
    multipliers = numpy.linspace(0.003, 0.012, 80).astype(numpy.float32)
    stairs = staircase(FloatFactors(multipliers), -128, numpy.full(80, -60_000), numpy.full(80, 60_000))
    assert (low_form(stairs, 4).multipliers > 0).sum() > (low_form(stairs, 4, is_tuned=False).multipliers > 0).sum()


def test_the_staircase_begins_and_ends_with_the_range():
    stairs = staircase(FloatFactors(numpy.array([0.01], numpy.float32)), 0, numpy.array([-30]), numpy.array([170]))
    assert stairs.steps.min() == -30 and stairs.steps.max() == 171
    assert [int(step) for step in stairs.steps[0][127:131]] == [-30, 51, 150, 171]  # 1.5 is rounded to the even 2


@given(st.integers(0, 300), st.integers(1, 200), st.integers(-500, 500), st.integers(0, 250))
def test_the_first_multiple_within_an_interval_is_the_one_that_counting_finds(factor, modulus, low, length):
    within = [n for n in range(modulus) if (n * factor - low) % modulus <= length]
    found = first_multiple_within(factor, modulus, low, low + length)
    assert found == (within[0] if within else None)


def lines(seed: int, shift: int, scale: int, move: int):
    """Staircases that are those of integer lines: one at least is there to be found."""
    random = numpy.random.default_rng(seed)
    high = numpy.exp(random.uniform(numpy.log(2_000), numpy.log(1_000_000), 40)).astype(numpy.int64)
    low = -(high * random.uniform(0.2, 1, 40)).astype(numpy.int64)
    slopes = numpy.minimum(random.uniform(0.3, 3, 40) * 127 / high, scale * 2.0 ** (-1.01 - shift))
    multipliers = (slopes * 2.0 ** (32 + shift) / scale).astype(numpy.int64)
    moves = (random.uniform(-60, 60, 40) * 2.0 ** (32 + shift) / multipliers).astype(numpy.int64) if move else 0 * multipliers
    constants = random.integers(-60 << shift, 60 << shift, 40)
    below, above = numpy.repeat(low[:, None] - 1, 255, 1), numpy.repeat(high[:, None] + 1, 255, 1)
    while (above - below > 1).any():
        middle = (below + above + 1) >> 1
        products = ((scale * middle + moves[:, None]) * multipliers[:, None] >> 32) + constants[:, None] * (1 - move)
        hit = products >> shift >= LEVELS
        above, below = numpy.where(hit, middle, above), numpy.where(hit, below, middle)
    return Staircase(above, low, high, slopes.astype(numpy.float32), 0)


@pytest.mark.parametrize("shift", [2, 4, 6, 8])
def test_a_line_that_exists_is_found(shift):
    low_found = low_form(lines(shift, shift, 1, 0), shift).multipliers > 0
    high_found = high_form(lines(shift, shift + 8, 256, 1), shift + 8).multipliers > 0
    assert low_found.all() and high_found.all()


@pytest.mark.parametrize("low, possible, step, level, high", [(-29, 30, 0, 1, 40), (-40, -29, 1, 0, 29)])
def test_a_level_that_no_factor_gives_to_accumulator_0_is_not_claimed(low, possible, step, level, high):
    # Without an extra, 0 times every multiplier stays at the zero point; nothing else in the range forbids a line.
    found = []
    for place in (possible, step):
        steps = numpy.where(level > LEVELS, low, numpy.where(level == LEVELS, place, high + 1))[None]
        stairs = Staircase(steps, numpy.array([low]), numpy.array([high]), numpy.array([0.02], numpy.float32), 0)
        found.append(int(low_form(stairs, 4, is_tuned=False).multipliers[0]))
    assert found[0] > 0 and found[1] == 0


def test_an_equal_staircase_is_found_once_and_its_forms_are_not_written_into():
    factors, ends = numpy.array([0.01, 0.02], numpy.float32), numpy.array([-9000, -9000])

    def asked(zero_point: int):
        return staircase(FloatFactors(factors.copy()), zero_point, ends.copy(), -ends)

    assert asked(3) is asked(3) and asked(3) is not asked(4)
    form = low_form(asked(3), 6)
    assert low_form(asked(3), 6) is form and low_form(asked(3), 4) is not form
    with pytest.raises(ValueError, match="read-only"):
        form.multipliers[0] = 1
