# SPDX-License-Identifier: MIT
"""Two numbers give every level of a limited straight line, and are offered for nothing else."""

from __future__ import annotations

import numpy

from aidge_build.operators.arithmetic.straight_levels import SHIFT, straight_numbers

VALUES = numpy.arange(-128, 128)


def rounded(slope: float, middle: float) -> numpy.ndarray:
    return numpy.clip(numpy.rint(VALUES * slope + middle), -128, 127).astype(numpy.int8)


def test_rounded_lines_of_any_slope_are_found_and_fit_32_bits():
    random = numpy.random.default_rng(0)
    for slope, middle in zip(random.uniform(-6, 6, 300), random.uniform(-400, 400, 300)):
        table = rounded(slope, middle)
        multiplier, start = straight_numbers(table)
        sums = VALUES * multiplier + start
        assert abs(sums).max() < 1 << 31
        assert numpy.array_equal(numpy.clip(sums >> SHIFT, -128, 127), table)


def test_a_level_beside_the_line_is_no_line():
    for value in (0, 100, 255):
        table = rounded(0.5, 3.0)
        table[value] += 2
        assert straight_numbers(table) is None


def test_bends_are_no_lines_but_limits_are():
    assert straight_numbers(numpy.abs(rounded(1, 0))) is None
    assert straight_numbers(numpy.maximum(rounded(1, 0), 0)) is None
    assert straight_numbers(rounded(2, 50)) is not None
    assert straight_numbers(numpy.full(256, -128, numpy.int8)) is not None
