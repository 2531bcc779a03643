# SPDX-License-Identifier: MIT
"""Any function from float32 to few integers as comparisons of integers: the keys of floats at which its result changes.

Read as an integer with a sign, the pattern of a float32 is its order among all others (float_thresholds.py): its key. Between two
steps the result is one level, whatever arithmetic the function takes, so that no core needs that arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.float_thresholds import number_of

MOST_STEPS = 1024
LARGEST_KEY = 0x7F7FFFFF  # of finite numbers; the smallest is -1 - this
_BELOW_SIGN = 0x7FFFFFFF
_COARSE = 1 << 16  # keys between two samples, of which an octave has 2^23
_FINE = 1 << 11  # in octaves near which the result changes
_OCTAVE = 1 << 23


def keys_of(numbers: numpy.ndarray) -> numpy.ndarray:
    """The key of each float32, int64; those of NaN lie beyond those of the infinities."""
    patterns = numpy.asarray(numbers, numpy.float32).view(numpy.int32).astype(numpy.int64)
    return numpy.where(patterns < 0, patterns ^ _BELOW_SIGN, patterns)


def steps_of(function: Callable[[numpy.ndarray], numpy.ndarray]) -> tuple[numpy.ndarray, numpy.ndarray] | None:
    """The keys of the smallest finite numbers with another result than the number before, int64, rising, and the results from the
    lowest number on, one more. None where there is no step, or more than MOST_STEPS.

    `function` maps float32 numbers to integers. Found by bisection between samples: 128 in each octave, and 4,096 in octaves in
    which or beside which the result changes. A result that comes and goes between two of those is not seen.
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
        middle = (below + above) // 2  # `below` where they are neighbours
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
    """Where to look for the step of a number: numbers lie in cells, in the order of their keys.

    `firsts[cell - low]` is how many steps the lowest number of the cell has reached: what is left to compare are the steps of the
    cell, `most_left` at most. Numbers below and above all cells count to the first and to the last one.
    """

    low: int
    firsts: tuple[int, ...]
    most_left: int

    @classmethod
    def of(cls, keys: numpy.ndarray, cell_of: CellOf, count: int) -> Cells:
        """`count` cells, which hold all of these steps."""
        low = int(cell_of(keys[:1])[0])
        lowest = _lowest_keys(numpy.arange(low, low + count), cell_of)
        firsts = numpy.searchsorted(keys, lowest, "right")
        firsts[0] = 0  # numbers below are in this one, too
        return cls(low, tuple(firsts.tolist()), int(numpy.diff(numpy.append(firsts, len(keys))).max()))


def _lowest_keys(cells: numpy.ndarray, cell_of: CellOf) -> numpy.ndarray:
    """Of all finite numbers in each cell, or in one above."""
    below, above = numpy.full(len(cells), -2 - LARGEST_KEY), numpy.full(len(cells), LARGEST_KEY)
    while (above - below > 1).any():
        middle = (below + above) // 2
        reached = cell_of(middle) >= cells
        below, above = numpy.where(reached, below, middle), numpy.where(reached, middle, above)
    return above


def pattern_cells(keys: numpy.ndarray, shift: int) -> numpy.ndarray:
    """Cells by the pattern of a number: its fraction with the leading bit goes to the right by `shift` less its exponent, 0 to 31
    bits; of negative numbers all bits are inverted."""
    magnitudes = numpy.where(keys < 0, ~keys, keys)
    right = numpy.clip(shift - (magnitudes >> 23), 0, 31)
    values = (magnitudes & _OCTAVE - 1 | _OCTAVE) >> right
    return numpy.where(keys < 0, ~values, values)


def pattern_shift(keys: numpy.ndarray, count: int) -> int:
    """The shift of the narrowest cells of which `count`, 4 at least, hold all of these steps.

    It is 2 larger than all of their exponents: numbers that would go to the left are above all cells with steps then.
    """
    ends = keys[[0, -1]]
    least = int((numpy.where(ends < 0, ~ends, ends) >> 23).max()) + 2
    shift = least + 21  # where all of them are in cells -2 to 1
    while shift > least and numpy.ptp(pattern_cells(ends, shift - 1)) < count:
        shift -= 1
    return shift


def floor_cells(keys: numpy.ndarray, scale: float) -> numpy.ndarray:
    """Cells by the number: floor(x * scale), limited to int32; `scale` is a power of two."""
    products = numpy.floor(number_of(keys).astype(numpy.float64) * scale)
    return numpy.clip(products, -(2.0**31), 2.0**31 - 1).astype(numpy.int64)


def truncated_cells(keys: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Cells by the whole part of x * 2^bits, limited to int32. Scales of `floor_scale` hold all steps here, too."""
    products = numpy.trunc(number_of(keys).astype(numpy.float64) * 2.0**bits)
    return numpy.clip(products, -(2.0**31), 2.0**31 - 1).astype(numpy.int64)


def floor_scale(keys: numpy.ndarray, count: int) -> float:
    """The scale of the narrowest cells of which `count`, 3 at least, hold all of these steps, and which float32 counts."""
    largest = max(float(numpy.abs(number_of(keys[[0, -1]])).max()), 2.0**-126)
    scale = 2.0 ** math.floor(-math.log2(largest))
    while numpy.ptp(floor_cells(keys[[0, -1]], scale * 2)) < count and largest * scale < 2.0**22:
        scale *= 2
    return scale
