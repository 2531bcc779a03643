# SPDX-License-Identifier: MIT
"""Products and shifts that round to even give the levels of the float32 formula."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.operators.arithmetic.contracts import FloatFactors
from aidge_build.operators.arithmetic.rounded_products import MOST_REPLACED, rounded_form
from aidge_build.operators.arithmetic.thresholds import staircase

CHANNELS = 24


def factors(exponent, seed=0):
    drawn = numpy.random.default_rng(seed).uniform(-1, 1, CHANNELS)
    return numpy.exp2(exponent + drawn).astype(numpy.float32)


def layer(scales, bits, zero_point=-128, unit=1):
    """The form of a layer whose sums have so many bits, the sums at all steps and others, and their levels."""
    ends = numpy.full(CHANNELS, 1 << bits)
    fractions = numpy.arange(CHANNELS) % unit
    requantization = FloatFactors(scales)
    stairs = staircase(requantization, zero_point, -ends, ends, fractions, unit)
    form = rounded_form(stairs, scales, fractions, unit)
    near = (stairs.steps[:, :, None] + numpy.arange(-9, 9)).reshape(CHANNELS, -1)
    others = numpy.random.default_rng(1).integers(-(1 << bits), 1 << bits, (CHANNELS, 3000))
    accumulators = numpy.clip(numpy.concatenate([near, others], axis=1), -ends[:, None], ends[:, None])
    sums = unit * accumulators + fractions[:, None]
    return form, sums, requantization.levels(sums, 0, zero_point, -128, 127)


def wrong(form, sums, levels, zero_point=-128):
    return [channel for channel in range(CHANNELS) if (form.apply(channel, sums[channel], zero_point) != levels[channel]).any()]


@pytest.mark.parametrize(("exponent", "bits", "unit"), [(-1, 10, 1), (-7, 15, 1), (-10, 18, 1), (-14, 16, 128), (-30, 20, 1)])
def test_every_level_is_that_of_the_formula(exponent, bits, unit):
    form, sums, levels = layer(factors(exponent), bits, unit=unit)
    assert wrong(form, sums, levels) == []


def test_sums_that_float32_rounds_to_a_tie_are_replaced():
    form, sums, levels = layer(factors(-11, seed=2), 19)
    assert 0 < len(form.wrong) <= MOST_REPLACED
    assert (form.wrong != form.instead).any()
    assert wrong(form, sums, levels) == []


@pytest.mark.parametrize("zero_point", [-128, 0, 127])
def test_ties_of_powers_of_two_need_no_replaced_sum(zero_point):
    form, sums, levels = layer(numpy.exp2(-numpy.arange(CHANNELS) / 2 // 1 - 1).astype(numpy.float32), 14, zero_point)
    assert len(form.wrong) == 0
    assert wrong(form, sums, levels, zero_point) == []


def test_a_channel_of_one_value_has_a_form():
    nothing = numpy.zeros(CHANNELS, numpy.int64)
    scales = numpy.full(CHANNELS, 2.0**-10, numpy.float32)
    assert rounded_form(staircase(FloatFactors(scales), 127, nothing, nothing), scales, nothing, 1) is not None


def test_a_layer_with_many_such_sums_has_no_form():
    assert layer(factors(-15), 24)[0] is None
