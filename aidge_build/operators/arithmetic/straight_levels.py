# SPDX-License-Identifier: MIT
"""Functions of one stored value in linear integer form: two constants in place of 256 entries, three in place of 65,536.

y = sat8((x * multiplier + start) >> SHIFT). The form passes between the ends of every level, so every two values bound its slope.
It is taken only if it gives the right result for all values.
"""

from __future__ import annotations

import numpy

SHIFT = 20
WORD_BITS = 32
MOST_SLOPE = (
    7.0  # levels for a value: 128 times as many, and as much again as a start, fit int32 in units of 2 to the power of -20
)
_VALUES = numpy.arange(-128, 128)


def straight_numbers(table: numpy.ndarray) -> tuple[int, int] | None:
    """Returns the multiplier and the start that give the `table` [256] of int8 results for values -128..127; None if there are
    none."""
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


def shifted_line(
    values: numpy.ndarray, results: numpy.ndarray, lowest: int, highest: int, below: int = 0
) -> tuple[int, int, int] | None:
    """Returns multiplier, start and shift of clamp((values * multiplier + start) >> shift, lowest, highest) in int32, which gives
    the results for all `values` (int64, rising, of 16 bits), or up to `below` less; the slope is taken from the results between
    the bounds. Returns None if there is no such form."""
    results = results.astype(numpy.int64)
    (inside,) = numpy.nonzero((results > lowest) & (results < highest))
    if len(inside) < 2:
        return None
    slope = (results[inside[-1]] - results[inside[0]]) / (values[inside[-1]] - values[inside[0]])
    for shift in range(WORD_BITS - 1, 0, -1):
        multiplier = round(slope * (1 << shift))
        products = values * multiplier
        least = int((((results - below) << shift) - products)[results - below > lowest].max())
        most = int((((results + 1) << shift) - 1 - products)[results < highest].min())
        start = (least + most) // 2
        farthest = max(abs(int(end) + added) for end in products[[0, -1]] for added in (0, start))
        if least <= most and max(farthest, abs(start)) < 1 << WORD_BITS - 1:
            return multiplier, start, shift
    return None
