# SPDX-License-Identifier: MIT
"""Functions by one load and one carry: the steps, numbers beside them, and those beyond."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.operators.arithmetic.carried_steps import carried_steps, fraction_bits
from aidge_build.operators.arithmetic.curved_sums import ScaledSums, fixed, steps_of_sums
from aidge_build.operators.arithmetic.curved_sums import curved_sums as curved
from aidge_build.operators.arithmetic.staircase import keys_of

ENDS = numpy.array([-(1 << 31), (1 << 31) - 1, 0, -1])


def curved_sums(sums, keys, levels, most):
    found = steps_of_sums(sums, keys, levels)
    return found and curved(sums, found, most)


def made(seed):
    """Steps up and down, of which none lies much nearer to the next than others do."""
    random = numpy.random.default_rng(seed)
    count = int(random.choice([1, 2, 40, 255]))
    gaps = random.uniform(1, 1.8, count)
    places = random.uniform(-1, 0.2) * gaps.sum() + numpy.cumsum(gaps)
    steps = numpy.unique((places / numpy.abs(places).max() * random.choice([2**31 - 9, 2**30])).astype(numpy.int64))
    turns = numpy.where(numpy.arange(len(steps)) < len(steps) // random.integers(1, 9), -1, 1)
    return steps, numpy.concatenate([[0], numpy.cumsum(turns)])


@pytest.mark.parametrize("seed", range(30))
def test_every_step_lies_where_it_was_wherever_the_cells_are(seed):
    steps, levels = made(seed)
    found = carried_steps(steps, levels, 4096)
    numbers = numpy.clip(numpy.concatenate([steps - 1, steps, steps + 1, ENDS]), ENDS[0], ENDS[1])
    assert (found.levels(numbers) == levels[numpy.searchsorted(steps, numbers, "right")].astype(numpy.int8)).all()
    assert found.rises == bool((numpy.diff(levels) > 0).all())


def test_steps_too_near_to_each_other_or_by_two_levels_have_no_cells():
    near = numpy.array([-(1 << 30), 5, 6, 7, 1 << 30])
    assert carried_steps(near, numpy.arange(6), 1 << 12) is None
    assert carried_steps(near[[0, 1, 2, 4]], numpy.arange(5), 1 << 12) is not None  # a cell ends between both
    assert carried_steps(near[[0, 1, 4]], numpy.array([0, 1, 3, 4]), 1 << 12) is None


def test_numbers_take_all_of_a_word_but_its_sign_stays():
    assert fraction_bits(-1.0, 3.9) == 29 and fraction_bits(-0.5, 0.49) == 31
    assert fraction_bits(-1e-3, 4e-3) == 32
    for low, high in ((-3, 6.4), (5, 1000)):
        bits = fraction_bits(low, high)
        assert -(2.0**31) <= low * 2.0**bits and 2.0**29 <= max(-low, high) * 2.0**bits < 2.0**31


def layer(seed, channels=5):
    random = numpy.random.default_rng(seed)
    low, high = -random.integers(1, 3000, channels), random.integers(1, 3000, channels)
    numbers = random.uniform(0.001, 0.01, channels), random.normal(0, 1, channels)
    return ScaledSums(*(part.astype(numpy.float32) for part in numbers), low, high, *((-2.0, 3.0) if seed % 2 else (-1e9, 1e9)))


@pytest.mark.parametrize("seed", range(8))
def test_every_sum_of_every_channel_gets_the_level_of_its_float(seed):
    sums = layer(seed)
    thresholds = numpy.linspace(-4, 5, 61, dtype=numpy.float32) + numpy.float32(0.013 * seed)
    levels = numpy.abs(numpy.arange(62) - 9)
    found = curved_sums(sums, keys_of(thresholds), levels, 4096)
    for channel, (low, high) in enumerate(zip(sums.low, sums.high)):
        every = numpy.repeat(numpy.arange(low, high + 1)[None], len(sums.factors), axis=0)
        numbers = sums.numbers(every)[channel]
        meant = levels[numpy.searchsorted(thresholds, numpy.clip(numbers, sums.minimum, sums.maximum), "right")]
        assert (found.steps.levels(fixed(numbers, found.bits)) == meant).all()


def scaled(*factors):
    ends = numpy.full(len(factors), 100)
    return ScaledSums(numpy.array(factors, numpy.float32), numpy.zeros(len(factors), numpy.float32), -ends, ends, -1e9, 1e9)


def test_floats_that_one_fixed_point_does_not_tell_apart_have_none():
    keys, levels = keys_of(numpy.array([2e-9, 990.0], numpy.float32)), numpy.arange(3)
    assert curved_sums(scaled(1e-9, 10), keys, levels, 4096) is None
    assert curved_sums(scaled(10), keys, levels, 4096) is not None


def test_steps_that_no_sum_reaches_are_none():
    keys = keys_of(numpy.array([0.5, 7.25, 990.0], numpy.float32))
    assert curved_sums(scaled(0.0001), keys, numpy.arange(4), 4096) is None
    assert (curved_sums(scaled(0.1), keys, numpy.arange(4), 4096).steps.levels(ENDS) == [0, 2, 0, 0]).all()
