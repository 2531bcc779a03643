# SPDX-License-Identifier: MIT
"""Levels that are halves of a word equal the float formula, and nothing leaves its half."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.kernel_kit.linear_int8 import ABOVE, HIGH_SHIFT, Linear, word_forms
from aidge_build.operators.arithmetic.contracts import FloatFactors
from aidge_build.operators.arithmetic.requantize import requantize

COUNT = 24


def layer(seed: int, zero_point: int, clamp: tuple[int, int] = (-128, 127)) -> Linear:
    random = numpy.random.default_rng(seed)
    factors = numpy.exp(random.uniform(numpy.log(5e-4), numpy.log(2e-2), COUNT)).astype(numpy.float32)
    low = -random.integers(10, 40_000, COUNT)
    nothing = numpy.zeros(COUNT, numpy.int64)
    rows = numpy.zeros((COUNT, 1), numpy.int64)
    return Linear(
        rows, nothing, FloatFactors(factors), low, low + random.integers(0, 80_000, COUNT), zero_point, 0, clamp, nothing
    )


def halves(linear: Linear, channel: int, part, shift: int, scale: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """What stands in a half before it is limited, and what is meant by it."""
    sums = numpy.arange(linear.low[channel], linear.high[channel] + 1)
    extra, constant = (int(part.extras[channel]), int(part.constants[channel])) if scale == 1 else (int(part.offsets[channel]), 0)
    found = ((scale * sums + extra) * int(part.multipliers[channel]) >> 32) + constant >> shift
    return found, requantize(sums, linear.factors[channel], linear.zero_point, *linear.clamp)


@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("zero_point", [-128, 0, 127, -5])
def test_halves_are_levels_above_128(is_packed, zero_point):
    linear = layer(zero_point + 128, zero_point)
    for form in word_forms(linear, is_packed):
        upper = (form.high, form.shift + HIGH_SHIFT, 256) if is_packed else (form.high, form.shift, 1)
        for part, shift, scale in ((form.low, 0, 1), upper):
            proved = numpy.flatnonzero(part.multipliers)
            assert len(proved) > COUNT // 4
            for channel in proved:
                found, meant = halves(linear, channel, part, shift, scale)
                assert numpy.abs(found).max() < 1 << 15
                assert numpy.array_equal(numpy.clip(found, 0, 255) - ABOVE, meant)


def wide_range(low: int, high: int) -> Linear:
    """Channels of these sums, a level for 72 to 83 of them."""
    one = numpy.ones(9, numpy.int64)
    factors = numpy.linspace(0.0121, 0.0139, 9).astype(numpy.float32)
    return Linear(one[:, None], 0 * one, FloatFactors(factors), low * one, high * one, 0, 0, (-128, 127), 0 * one)


@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("ends, is_inside", [((-9, 9), True), ((-2_200, 9), True), ((-2_800, 9), False), ((-9, 2_800), False)])
def test_a_line_that_leaves_16_bits_proves_nothing(is_packed, ends, is_inside):
    form = next(word_forms(wide_range(*(1000 * end for end in ends)), is_packed))
    assert [form.low.multipliers.any(), form.high.multipliers.any()] == [is_inside, is_inside]


def test_levels_that_are_limited_further_are_not_proved():
    linear = layer(3, 0, (-20, 20))
    for form in word_forms(linear, True):
        changed = ~linear.free_of_clamp
        assert changed.any() and not form.low.multipliers[changed].any() and not form.high.multipliers[changed].any()
