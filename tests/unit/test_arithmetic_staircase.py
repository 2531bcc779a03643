# SPDX-License-Identifier: MIT
"""Functions from float32 to few integers as steps: where they are, and the cells in which kernels look for them."""

from __future__ import annotations

import functools

import numpy
import pytest

from aidge_build.operators.arithmetic.float_thresholds import number_of
from aidge_build.operators.arithmetic.staircase import (
    LARGEST_KEY,
    MOST_STEPS,
    Cells,
    floor_cells,
    floor_scale,
    keys_of,
    pattern_cells,
    pattern_shift,
    steps_of,
    truncated_cells,
)

F = numpy.float32


def stored(values, scale, zero_point=0):
    values = numpy.clip(values, -1e6, 1e6)
    return numpy.clip(numpy.rint(values / F(scale)) + zero_point, -128, 127).astype(numpy.int64)


def hard_swish(numbers):
    return stored(numbers * numpy.clip(numbers / F(6) + F(0.5), 0, 1).astype(F), 0.02, -100)


FUNCTIONS = {
    "HardSwish": hard_swish,
    "SiLU": lambda x: stored(x / (1 + numpy.exp(-x.astype(numpy.float64))), 0.03, -110),
    "linear": lambda x: stored(x, 0.05, 3),
    "falling": lambda x: stored(-x, 1.7, 3),
    "sign": lambda x: numpy.sign(x).astype(numpy.int64),
    "far": lambda x: (x >= F(3e38)).astype(numpy.int64),
    "one step below": lambda x: (x >= F(-1000)).astype(numpy.int64),
    "tiny": lambda x: (x > F(1e-44)).astype(numpy.int64) - (x < F(-1e-44)),
    "logarithm": lambda x: stored(numpy.log(numpy.maximum(x, F(1e-30))).astype(F), 0.5),
}


@functools.cache
def found_steps(name):
    with numpy.errstate(all="ignore"):
        return steps_of(FUNCTIONS[name])


def test_keys_are_the_order_of_numbers():
    numbers = F([-numpy.inf, -3.4028235e38, -1, -1e-45, -0.0, 0, 1e-45, 1, 3.4028235e38, numpy.inf])
    keys = keys_of(numbers)
    assert (numpy.diff(keys) > 0).all() and (number_of(keys) == numbers).all()
    assert keys[1] == -1 - LARGEST_KEY and keys[-2] == LARGEST_KEY and keys[4] == -1 and keys[5] == 0
    assert keys_of(F(-0.0)).shape == () and keys_of(numbers[::2]).tolist() == keys[::2].tolist()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_steps_are_the_first_numbers_with_another_result(name):
    function = FUNCTIONS[name]
    with numpy.errstate(all="ignore"):
        keys, results = found_steps(name)
        assert (numpy.diff(keys) > 0).all() and (numpy.diff(results) != 0).all() and len(results) == len(keys) + 1
        assert (function(number_of(keys)) == results[1:]).all() and (function(number_of(keys - 1)) == results[:-1]).all()
        random = numpy.random.default_rng(3)
        anywhere = random.integers(-1 - LARGEST_KEY, LARGEST_KEY + 1, 20000)
        usual = keys_of(random.normal(0, 3, 20000).astype(F))
        ends = numpy.array([-1 - LARGEST_KEY, -1, 0, LARGEST_KEY])
        for numbers in (anywhere, usual, ends):
            assert (function(number_of(numbers)) == results[numpy.searchsorted(keys, numbers, "right")]).all()


def test_two_steps_between_two_samples_are_both_found():
    steps = keys_of(F([1.0001, 1.0001001, 1.0001003]))
    keys, results = steps_of(lambda numbers: numpy.searchsorted(steps, keys_of(numbers), "right") * 5)
    assert keys.tolist() == steps.tolist() and results.tolist() == [0, 5, 10, 15]


def test_constants_and_functions_with_too_many_steps_have_none():
    assert steps_of(lambda numbers: numpy.zeros(len(numbers), numpy.int64)) is None

    def has_steps(count):
        return steps_of(lambda numbers: numpy.floor(numpy.clip(numbers, 0, count / 8) * 8).astype(numpy.int64)) is not None

    assert [has_steps(count) for count in (MOST_STEPS, MOST_STEPS + 1, 9 * MOST_STEPS)] == [True, False, False]


def places(keys, cells, cell_of, numbers):
    """As the kernels find them."""
    found = numpy.clip(cell_of(numbers) - cells.low, 0, len(cells.firsts) - 1)
    place, count = numpy.array(cells.firsts)[found], 0
    steps = numpy.append(keys, LARGEST_KEY + 2)
    while (numbers >= steps[place]).any():
        place, count = place + (numbers >= steps[place]), count + 1
    return place, count


@pytest.mark.parametrize("count", [4, 512])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", ["pattern", "floor", "truncated"])
def test_cells_lead_to_the_step_of_every_number(name, count, kind):
    keys, _ = found_steps(name)
    shift, scale = pattern_shift(keys, count), floor_scale(keys, count)
    ways = {
        "pattern": lambda found: pattern_cells(found, shift),
        "floor": lambda found: floor_cells(found, scale),
        "truncated": lambda found: truncated_cells(found, int(numpy.log2(scale))),
    }
    cells = Cells.of(keys, ways[kind], count)
    assert len(cells.firsts) == count and cells.firsts[0] == 0
    random = numpy.random.default_rng(count)
    near = (keys[:, None] + numpy.array([-1, 0, 1])).ravel()
    infinities = numpy.array([-2 - LARGEST_KEY, LARGEST_KEY + 1])
    octaves = numpy.arange(-254, 255)[:, None] * (1 << 23) + numpy.array([-1, 0, 1])
    numbers = numpy.concatenate([near, octaves.ravel(), random.integers(-1 - LARGEST_KEY, LARGEST_KEY + 1, 5000), infinities])
    numbers = numbers[(numbers >= -2 - LARGEST_KEY) & (numbers <= LARGEST_KEY + 1)]
    found, compared = places(keys, cells, ways[kind], numbers)
    assert (found == numpy.searchsorted(keys, numbers, "right")).all()
    assert compared <= cells.most_left


def test_cells_are_the_narrowest_that_suffice():
    keys, _ = found_steps("linear")
    ends = keys[[0, -1]]
    for count in (4, 64, 512):
        shift, scale = pattern_shift(keys, count), floor_scale(keys, count)
        assert numpy.ptp(pattern_cells(ends, shift)) < count <= numpy.ptp(pattern_cells(ends, shift - 1))
        assert numpy.ptp(floor_cells(ends, scale)) < count <= numpy.ptp(floor_cells(ends, scale * 2))
    many = Cells.of(keys, lambda found: pattern_cells(found, pattern_shift(keys, 512)), 512)
    assert many.most_left == 1 < Cells.of(keys, lambda found: pattern_cells(found, pattern_shift(keys, 64)), 64).most_left
