# SPDX-License-Identifier: MIT
"""Functions of one int8 value that are a limited straight line: two numbers in place of 256.

y = sat8((x * multiplier + start) >> SHIFT). The line passes between the ends of every level, so that every two values bound its
slope. What is found is tried for all 256 values, and taken only where it gives each of them.
"""

from __future__ import annotations

import numpy

SHIFT = 20
MOST_SLOPE = (
    7.0  # levels for a value: 128 times as many, and as much again as a start, fit int32 in units of 2 to the power of -20
)
_VALUES = numpy.arange(-128, 128)


def straight_numbers(table: numpy.ndarray) -> tuple[int, int] | None:
    """Multiplier and start that give the `table` [256] of int8 results for values -128..127; None where no line does."""
    levels = table.astype(numpy.float64)
    low, high = numpy.where(levels == -128, -numpy.inf, levels), numpy.where(levels == 127, numpy.inf, levels + 1)
    apart = (_VALUES[None, :] - _VALUES[:, None]).astype(numpy.float64)  # second less first
    first, second = numpy.nonzero(apart > 0)
    distances = apart[first, second]
    flattest = max(float(((low[second] - high[first]) / distances).max()), -MOST_SLOPE)
    steepest = min(float(((high[second] - low[first]) / distances).min()), MOST_SLOPE)
    if not flattest < steepest:
        return None
    multiplier = round((flattest + steepest) / 2 * (1 << SHIFT))
    products = _VALUES * multiplier / (1 << SHIFT)
    least, most = float((low - products).max()), float((high - products).min())
    start = round((max(least, -MOST_SLOPE * 128) + min(most, MOST_SLOPE * 128)) / 2 * (1 << SHIFT))
    found = numpy.clip((_VALUES.astype(numpy.int64) * multiplier + start) >> SHIFT, -128, 127)
    return (multiplier, start) if (found == table).all() else None
