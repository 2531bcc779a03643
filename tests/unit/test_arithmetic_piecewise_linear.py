# SPDX-License-Identifier: MIT
"""Functions by one load and one product: the numbers beside steps, those beyond, and sums that become such numbers."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.operators.arithmetic.curved_products import curved_products
from aidge_build.operators.arithmetic.curved_sums import ScaledSums, steps_of_sums
from aidge_build.operators.arithmetic.piecewise_linear import piecewise_linear
from aidge_build.operators.arithmetic.staircase import keys_of

ENDS = numpy.array([-(1 << 31), (1 << 31) - 1, 0, -1])


@pytest.mark.parametrize("seed", range(12))
def test_every_number_but_those_within_a_step_has_its_level(seed):
    random = numpy.random.default_rng(seed)
    shift, count = int(random.integers(8, 22)), int(random.choice([1, 2, 40, 255]))
    at = ((1 << shift) * numpy.cumsum(random.uniform(1.01, 1.6, count))).astype(numpy.int64)
    below = at - random.choice([1, 2, 50], count) * max(1, 1 << shift >> 16)  # nearer ones a line may not tell apart
    turns = numpy.where(numpy.arange(count) < count // random.integers(1, 9), -1, 1)
    levels = numpy.concatenate([[0], numpy.cumsum(turns)]) + random.integers(-128, 128)
    found = piecewise_linear(below, at, levels, shift, 9)
    starts = numpy.arange(len(found.words)) << shift
    numbers = numpy.concatenate([ENDS, below, at, starts, starts - 1])
    numbers = numbers[((numbers <= below[:, None]) | (numbers >= at[:, None])).all(axis=0)]
    assert (found.levels(numbers) == levels[numpy.searchsorted(at, numbers, "right")].astype(numpy.int8)).all()


def test_two_steps_of_a_cell_and_steps_beyond_the_cells_have_no_words():
    assert piecewise_linear(numpy.array([300, 340]), numpy.array([310, 350]), numpy.arange(3), 8, 4) is None
    # a cell begins between 500 and 520
    assert piecewise_linear(numpy.array([300, 500]), numpy.array([310, 520]), numpy.arange(3), 8, 4) is not None
    assert piecewise_linear(numpy.array([4000]), numpy.array([4100]), numpy.arange(2), 8, 4) is None
    assert piecewise_linear(numpy.array([-5]), numpy.array([20]), numpy.arange(2), 8, 4) is None


@pytest.mark.parametrize("seed", range(8))
def test_every_sum_of_every_channel_gets_the_level_of_its_float(seed):
    random = numpy.random.default_rng(seed)
    low, high = -random.integers(1, 3000, 5), random.integers(1, 3000, 5)
    numbers = [part.astype(numpy.float32) for part in (random.uniform(0.001, 0.01, 5), random.normal(0, 1, 5))]
    sums = ScaledSums(*numbers, low, high, *((-2.0, 3.0) if seed % 2 else (-1e9, 1e9)))
    thresholds = numpy.linspace(-4, 5, 61, dtype=numpy.float32) + numpy.float32(0.013 * seed)
    levels = numpy.abs(numpy.arange(62) - 9)
    found = curved_products(sums, steps_of_sums(sums, keys_of(thresholds), levels), 1024)
    every = numpy.arange(low.min(), high.max() + 1)[None]
    meant = levels[numpy.searchsorted(thresholds, numpy.clip(sums.numbers(every), sums.minimum, sums.maximum), "right")]
    is_sum = (every >= low[:, None]) & (every <= high[:, None])
    assert (found.cells.levels(found.numbers(every)) == meant)[is_sum].all()


def test_channels_between_whose_sums_a_step_lies_too_near_have_none():
    ends, step = numpy.full(2, 1 << 20), numpy.float32(0.1)
    biases = numpy.array([step, numpy.nextafter(step, numpy.float32(0))])
    sums = ScaledSums(numpy.full(2, 0.01, numpy.float32), biases, -ends, ends, -1e9, 1e9)
    assert curved_products(sums, steps_of_sums(sums, keys_of(numpy.array([step])), numpy.arange(2)), 1024) is None
