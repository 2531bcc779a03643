# SPDX-License-Identifier: MIT
"""A line for each channel gives the result of every value, or there is none."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.operators.arithmetic import channel_lines as room
from aidge_build.operators.arithmetic.channel_lines import SHIFTS, VALUES, channel_lines


def staircase(slopes, offsets) -> numpy.ndarray:
    levels = numpy.rint(numpy.outer(slopes, VALUES) + numpy.asarray(offsets)[:, None])
    return numpy.clip(levels, -128, 127).astype(numpy.int8)


@pytest.mark.parametrize("most", [0.02, 0.4, 3.0])
def test_a_rounded_line_of_either_direction_is_found_and_gives_every_level(most):
    random = numpy.random.default_rng(1)
    results = staircase(random.uniform(-most, most, 60), random.uniform(-150, 150, 60))
    found = channel_lines(results)
    assert numpy.array_equal(found.apply(), results) and found.shift == SHIFTS[0]
    sums = found.multipliers[:, None] * VALUES + found.starts[:, None]
    assert numpy.abs(sums).max() < 1 << 31
    ours = numpy.clip((VALUES * found.multipliers[7] + found.starts[7]) >> found.shift, -128, 127)
    assert ours.tolist() == results[7].tolist()


def test_lines_lie_in_the_middle_of_those_that_fit():
    found = channel_lines(staircase([0.731], [3.2]))
    for move in range(-(1 << 10), 1 << 10, 64):  # far from the first one that does not fit
        near = numpy.clip((VALUES * (found.multipliers[0] + move // 64) + found.starts[0] + move) >> found.shift, -128, 127)
        assert near.tolist() == found.apply()[0].tolist()


def test_a_steep_line_gets_fewer_fraction_bits():
    steep = staircase([40.0, -30.0], [100, -500])
    found = channel_lines(steep)
    assert found.shift < SHIFTS[0] and numpy.array_equal(found.apply(), steep)
    assert numpy.abs(found.multipliers[:, None] * VALUES + found.starts[:, None]).max() < 1 << 31


def test_constant_channels_are_lines_too():
    results = numpy.repeat(numpy.array([[-128], [0], [127]], numpy.int8), 256, axis=1)
    assert numpy.array_equal(channel_lines(results).apply(), results)


def test_ties_that_go_to_the_even_level_are_no_line():
    assert channel_lines(staircase([0.5], [0])) is None and channel_lines(staircase([0.5], [0.25])) is not None


@pytest.mark.parametrize("change", ["a level too early", "a level too late", "a bound above the lowest", "a bend"])
def test_what_is_no_line_is_not_proved(change):
    results = staircase([0.31, 0.507], [3, 4])
    assert channel_lines(results) is not None
    if change == "a bound above the lowest":
        results[1] = numpy.maximum(results[1], -20)
    elif change == "a bend":
        results[1, 128:] = numpy.clip(results[1, 128] + 2 * numpy.arange(128), -128, 127)
    else:
        at = int(numpy.flatnonzero(numpy.diff(results[1].astype(int)))[20])
        results[1, at - 1 : at + 1] += 1 if "early" in change else 0
        results[1, at + 1 : at + 3] -= 1 if "late" in change else 0
    assert channel_lines(results) is None


def test_every_pair_of_values_bounds_the_multiplier():
    random = numpy.random.default_rng(5)
    low = random.integers(-1000, 1000, 256)
    high = low + random.integers(0, 400, 256)
    below, above = random.random(256) < 0.05, random.random(256) < 0.05
    least, most = room._multipliers(low, high, below[None, :] & above[:, None])
    fits = []
    for multiplier in range(least - 3, most + 4):
        lowest = (low - multiplier * VALUES)[below].max()
        fits.append(lowest <= (high - multiplier * VALUES)[above].min())
    wanted = [False] * 3 + [True] * (len(fits) - 6) + [False] * 3
    assert fits == wanted if least <= most else not any(fits)
