# SPDX-License-Identifier: MIT
"""Any function from float32 to few integers as comparisons of integers: the keys of floats at which its result changes.

The key of a float32 is an integer with the order of the floats (float_thresholds.py). Between two steps the result is one level,
so the core needs none of the function's own arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.float_thresholds import number_of

MOST_STEPS = 1024
LARGEST_KEY = 0x7F7FFFFF  # of finite numbers; the smallest key is -1 - LARGEST_KEY
_BELOW_SIGN = 0x7FFFFFFF
_COARSE = 1 << 16  # keys between two samples; an octave has 2^23 keys
_FINE = 1 << 11  # in octaves near which the result changes
_OCTAVE = 1 << 23


def keys_of(numbers: numpy.ndarray) -> numpy.ndarray:
    """Returns the key of each float32, int64; keys of NaN are beyond the keys of the infinities."""
    patterns = numpy.asarray(numbers, numpy.float32).view(numpy.int32).astype(numpy.int64)
    return numpy.where(patterns < 0, patterns ^ _BELOW_SIGN, patterns)


def steps_of(function: Callable[[numpy.ndarray], numpy.ndarray]) -> tuple[numpy.ndarray, numpy.ndarray] | None:
    """Returns the keys of the smallest finite numbers with another result than the number before, int64, rising, and the results
    from the lowest number on, one more. Returns None if there is no step, or if there are more than MOST_STEPS.

    `function` maps float32 numbers to integers. Steps are found by bisection between samples: 128 in each octave, and 4,096 in
    octaves with a change of the result and in their neighbours. A result that appears and disappears between two samples is not
    found.
    """
    samples = numpy.arange(-1 - LARGEST_KEY, LARGEST_KEY + 1, _COARSE)
    samples = numpy.append(samples, LARGEST_KEY)
    results = function(number_of(samples))
    octaves = numpy.unique(samples[:-1][numpy.diff(results) != 0] // _OCTAVE)
    near = numpy.unique(numpy.concatenate([octaves - 1, octaves, octaves + 1])) * _OCTAVE
    fine = (near[:, None] + numpy.arange(0, _OCTAVE, _FINE)).ravel()
    samples = numpy.unique(numpy.concatenate([samples, fine[(fine >= -1 - LARGEST_KEY) & (fine <= LARGEST_KEY)]]))
    results = function(number_of(samples))
    changes = numpy.flatnonzero(numpy.diff(results))
    below, above = samples[changes], samples[changes + 1]
    results_below, results_above = results[changes], results[changes + 1]
    while len(below) and (above - below > 1).any():
        if len(below) > MOST_STEPS:
            return None
        middle = (below + above) // 2  # `below` if they are neighbours
        between = function(number_of(middle))
        ends = [(below, middle, results_below, between), (middle, above, between, results_above)]
        below, above, results_below, results_above = (
            numpy.concatenate(columns) for columns in zip(*(_differing(*end) for end in ends))
        )
    order = numpy.argsort(above)
    if not len(order) or len(order) > MOST_STEPS:
        return None
    return above[order], numpy.append(results_below[order], results_above[order][-1])


def _differing(below, above, results_below, results_above) -> tuple[numpy.ndarray, ...]:
    kept = results_below != results_above
    return below[kept], above[kept], results_below[kept], results_above[kept]


CellOf = Callable[[numpy.ndarray], numpy.ndarray]  # from keys to cells, int64: it never falls as keys rise


@dataclass(frozen=True)
class Cells:
    """Cells of numbers, in the order of their keys, for a fast search of the steps that a number has reached.

    `firsts[cell - low]` is the count of steps that the lowest number of the cell has reached: only the steps of the cell, at most
    `most_left`, remain to be compared. Numbers below all cells belong to the first cell, numbers above all cells to the last
    cell.
    """

    low: int
    firsts: tuple[int, ...]
    most_left: int

    @classmethod
    def of(cls, keys: numpy.ndarray, cell_of: CellOf, count: int) -> Cells:
        """Returns `count` cells, which contain all of these steps."""
        low = int(cell_of(keys[:1])[0])
        lowest = _lowest_keys(numpy.arange(low, low + count), cell_of)
        firsts = numpy.searchsorted(keys, lowest, "right")
        firsts[0] = 0  # smaller numbers are in this cell, too
        return cls(low, tuple(firsts.tolist()), int(numpy.diff(numpy.append(firsts, len(keys))).max()))


def _lowest_keys(cells: numpy.ndarray, cell_of: CellOf) -> numpy.ndarray:
    """Returns the lowest key of all finite numbers that are in each cell, or in a cell above it."""
    below, above = numpy.full(len(cells), -2 - LARGEST_KEY), numpy.full(len(cells), LARGEST_KEY)
    while (above - below > 1).any():
        middle = (below + above) // 2
        reached = cell_of(middle) >= cells
        below, above = numpy.where(reached, below, middle), numpy.where(reached, middle, above)
    return above


def pattern_cells(keys: numpy.ndarray, shift: int) -> numpy.ndarray:
    """Returns cells by the bits of a number: its mantissa with the leading bit is shifted right by `shift` less its exponent, 0
    to 31 bits; for negative numbers all bits are inverted."""
    magnitudes = numpy.where(keys < 0, ~keys, keys)
    right = numpy.clip(shift - (magnitudes >> 23), 0, 31)
    values = (magnitudes & _OCTAVE - 1 | _OCTAVE) >> right
    return numpy.where(keys < 0, ~values, values)


def pattern_shift(keys: numpy.ndarray, count: int) -> int:
    """Returns the shift of the narrowest cells with which `count` cells, at least 4, contain all of these steps.

    It is at least 2 larger than all exponents of the steps: numbers that would need a shift to the left are then above all cells
    with steps.
    """
    ends = keys[[0, -1]]
    least = int((numpy.where(ends < 0, ~ends, ends) >> 23).max()) + 2
    shift = least + 21  # with it all steps are in cells -2 to 1
    while shift > least and numpy.ptp(pattern_cells(ends, shift - 1)) < count:
        shift -= 1
    return shift


def floor_cells(keys: numpy.ndarray, scale: float) -> numpy.ndarray:
    """Returns cells by the number: floor(x * scale), saturated to int32; `scale` is a power of two."""
    products = numpy.floor(number_of(keys).astype(numpy.float64) * scale)
    return numpy.clip(products, -(2.0**31), 2.0**31 - 1).astype(numpy.int64)


def truncated_cells(keys: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Returns cells by the whole part of x * 2^bits, saturated to int32. With scales of `floor_scale` they contain all steps,
    too."""
    products = numpy.trunc(number_of(keys).astype(numpy.float64) * 2.0**bits)
    return numpy.clip(products, -(2.0**31), 2.0**31 - 1).astype(numpy.int64)


def floor_scale(keys: numpy.ndarray, count: int) -> float:
    """Returns the scale of the narrowest cells with which `count` cells, at least 3, contain all of these steps; float32 can
    count these cells."""
    largest = max(float(numpy.abs(number_of(keys[[0, -1]])).max()), 2.0**-126)
    scale = 2.0 ** math.floor(-math.log2(largest))
    while numpy.ptp(floor_cells(keys[[0, -1]], scale * 2)) < count and largest * scale < 2.0**22:
        scale *= 2
    return scale
