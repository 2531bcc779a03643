# SPDX-License-Identifier: MIT
"""Bounds of accumulators."""

from __future__ import annotations

import numpy

from aidge_build.operators.arithmetic.ranges import fits_int32, largest_accumulators


def test_the_bound_holds_for_the_worst_input_with_the_zero_point_inside_or_beforehand():
    weights, bias = numpy.array([[100, -50, 3], [-128, -128, -128]], numpy.int8), numpy.array([7, -9], numpy.int32)
    for zero_point in (10, -128, 127):
        bounds = largest_accumulators(weights, bias, zero_point, -128, 127)
        for row in (0, 1):
            taps = weights[row].astype(int)
            for inputs in (numpy.where(taps > 0, -128, 127), numpy.where(taps > 0, 127, -128)):
                centred = bias[row] + numpy.cumsum((inputs - zero_point) * taps)
                folded = bias[row] - zero_point * taps.sum() + numpy.cumsum(inputs * taps)
                assert max(abs(centred).max(), abs(folded).max()) <= bounds[row]


def test_the_bound_is_tight_where_the_zero_point_lies_opposite_to_the_worst_input():
    bounds = largest_accumulators(numpy.array([[2, 3]], numpy.int8), numpy.array([-1], numpy.int32), 10, -128, 127)
    assert bounds.tolist() == [5 * 138 + 1]


def test_int32_holds_sums_below_its_end_of_the_largest_row():
    weights = numpy.array([[[1, -1]], [[1 << 15, -(1 << 15)]]], numpy.int64)
    assert fits_int32(weights, (1 << 15) - 1) and not fits_int32(weights, 1 << 15)
