# SPDX-License-Identifier: MIT
"""Two products of which the low 32 bits exist give the level of the float32 formula for every accumulator of a proved range."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.operators.arithmetic.contracts import FloatFactors
from aidge_build.operators.arithmetic.narrow_products import MOST_EXCEPTIONS, Correction, NarrowForm, narrow_form
from aidge_build.operators.arithmetic.requantize import requantize
from aidge_build.operators.arithmetic.thresholds import staircase

CHANNELS = 5


def ranges(multipliers: numpy.ndarray, random: numpy.random.Generator) -> tuple[numpy.ndarray, numpy.ndarray]:
    half = numpy.minimum(1 << 17, random.uniform(20, 500, len(multipliers)) / multipliers).astype(numpy.int64) + 1
    middle = random.integers(-1000, 1000, len(multipliers))
    return middle - half, middle + half


def faults(form: NarrowForm, multipliers, zero_point: int, low, high) -> list[int]:
    """Proved channels for which some accumulator gives another level."""
    found = []
    for channel in numpy.flatnonzero(form.proved):
        accumulators = numpy.arange(low[channel], high[channel] + 1)
        wanted = requantize(accumulators, multipliers[channel], zero_point, *form.clamp)
        if not numpy.array_equal(form.apply(channel, accumulators), wanted):
            found.append(int(channel))
    return found


@pytest.mark.parametrize("clamp", [(-128, 127), (-30, 127), (-5, 90), (17, 17)])
@pytest.mark.parametrize("kind", ["any", "powers of two", "odd quotients"])
@pytest.mark.parametrize("upper", [(), (21, 24)], ids=["low halves", "upper half"])
def test_every_accumulator_of_a_proved_channel_gives_the_level_of_the_formula(clamp, kind, upper):
    random = numpy.random.default_rng(len(kind))
    for zero_point in (-128, -30, 3, 127):
        exact = 2.0 ** random.uniform(-11, -4, CHANNELS)
        exact = 2.0 ** numpy.round(numpy.log2(exact)) if kind == "powers of two" else exact
        exact = 1 / (2 * numpy.round(1 / exact) + 1) if kind == "odd quotients" else exact
        multipliers = exact.astype(numpy.float32)
        low, high = ranges(multipliers, random)
        form = narrow_form(staircase(FloatFactors(multipliers), zero_point, low, high), clamp, upper)
        assert form.proved.any() and form.multipliers.max() < 1 << 32
        assert faults(form, multipliers, zero_point, low, high) == []


def test_most_channels_of_usual_layers_need_no_exception():
    random = numpy.random.default_rng(3)
    multipliers = (2.0 ** random.uniform(-9, -7, 200)).astype(numpy.float32)
    low, high = ranges(multipliers, random)
    form = narrow_form(staircase(FloatFactors(multipliers), -128, low, high), (-128, 127))
    assert form.proved.all()
    assert sum(map(bool, form.corrections)) < 40
    assert 0 < max(map(len, form.corrections)) <= MOST_EXCEPTIONS


@pytest.mark.parametrize("exact", [2.0**-7, 3 * 2.0**-9, 5 * 2.0**-11, 2.0**-12])
def test_multipliers_with_sums_in_the_middle_of_two_levels_need_one_correction(exact):
    multipliers, low, high = numpy.array([exact], numpy.float32), numpy.array([-90000]), numpy.array([90001])
    for zero_point in (-128, 0, 5):
        form = narrow_form(staircase(FloatFactors(multipliers), zero_point, low, high), (-128, 127))
        assert [len(each) for each in form.corrections] == [1] and form.corrections[0][0].shift > 0
        assert faults(form, multipliers, zero_point, low, high) == []


def test_a_wrong_constant_or_multiplier_or_exception_is_seen():
    random = numpy.random.default_rng(4)
    multipliers = (2.0 ** random.uniform(-8, -7, CHANNELS)).astype(numpy.float32)
    low, high = ranges(multipliers, random)
    form = narrow_form(staircase(FloatFactors(multipliers), 0, low, high), (-128, 127))
    step = int(form.multipliers[0] >> form.bits)
    for wrong in (
        replace(form, constants=form.constants + step),
        replace(form, multipliers=form.multipliers + (form.multipliers >> 10)),
        replace(form, corrections=((Correction(40, 0, 1),),) * CHANNELS),
        replace(form, widths=form.widths - 300),
    ):
        assert faults(wrong, multipliers, 0, low, high) != []


def test_channels_that_saturate_at_once_or_never_change_are_proved_without_a_slope():
    multipliers = numpy.array([1e20, 0.0, 1e-30, 300.0], numpy.float32)
    low, high = numpy.array([5, -1000, -1000, -3]), numpy.array([5, 1000, 1000, 3])
    form = narrow_form(staircase(FloatFactors(multipliers), 3, low, high), (-128, 127))
    assert form.proved[:3].all()
    assert faults(form, multipliers, 3, low, high) == []


def test_a_range_that_a_product_of_32_bits_does_not_hold_is_not_proved():
    multipliers = numpy.array([2.0**-31], numpy.float32)
    low, high = numpy.array([-(1 << 31)]), numpy.array([(1 << 31) - 1])
    assert not narrow_form(staircase(FloatFactors(multipliers), 0, low, high), (-128, 127)).proved.any()


def test_beyond_256_levels_a_step_only_a_channel_of_one_level_is_proved():
    multipliers = numpy.array([300.0, 300.0, 0.01], numpy.float32)
    low, high = numpy.array([-200, -3, -500]), numpy.array([-10, 3, 500])
    form = narrow_form(staircase(FloatFactors(multipliers), 0, low, high), (-128, 127))
    assert form.proved.tolist() == [True, False, True] and form.multipliers[:2].tolist() == [0, 0]
    assert faults(form, multipliers, 0, low, high) == []
