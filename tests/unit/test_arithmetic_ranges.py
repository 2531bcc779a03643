# SPDX-License-Identifier: MIT
"""Bounds of accumulators."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.ranges import largest_accumulators


def test_the_bound_is_reached_by_the_worst_input():
    weights, bias = numpy.array([[100, -50, 3], [-128, -128, -128]], numpy.int8), numpy.array([7, -9], numpy.int32)
    bounds = largest_accumulators(weights, bias, 10, -128, 127)
    worst = numpy.where(weights > 0, -128, 127).astype(int), numpy.where(weights < 0, -128, 127).astype(int)
    reached = [[abs(((inputs[row] - 10) * weights[row].astype(int)).sum()) for inputs in worst] for row in (0, 1)]
    assert max(reached[1]) + 9 == bounds[1]
    assert max(reached[0]) <= bounds[0] == 153 * 138 + 7
