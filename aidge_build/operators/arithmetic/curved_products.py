# SPDX-License-Identifier: MIT
"""Integer sums that are scaled to float32 and then go through a function of few levels, without a float.

The sum of a channel, shifted to the left, times a multiplier of the channel, the upper half of 64 bits, and a constant make a
number that rises with the sum. Where the numbers of all channels lie on the right side of the same steps, those are the steps of
the function. That is asked of the two sums beside each step, in each channel: the float rises with the sum as the number does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.curved_sums import ScaledSums, StepsOfSums, changes
from aidge_build.operators.arithmetic.sloped_cells import SlopedCells, sloped_cells

_HIGHEST = (1 << 31) - 1
_UNITS = 16  # of the numbers that are tried, from the finest one on
_BEYOND = 1 << 40
_FEWEST_BITS = 6  # of the cells' numbers


@dataclass(frozen=True, eq=False)
class CurvedProducts:
    """The level of channel c's sum is that of ((sum << left) * multipliers[c] >> 32) + constants[c] in `cells`."""

    left: int
    multipliers: numpy.ndarray
    constants: numpy.ndarray
    cells: SlopedCells

    def numbers(self, sums: numpy.ndarray) -> numpy.ndarray:
        """int64 of int64 [channels, any]."""
        return _numbers(sums, self.left, self.multipliers, self.constants)


def curved_products(sums: ScaledSums, steps: StepsOfSums, most_cells: int) -> CurvedProducts | None:
    """Of the function with these steps; None where no such numbers were found, or `most_cells` are too few."""
    left = _bits_left(sums)
    if left < 1:
        return None
    factors, biases = sums.factors.astype(numpy.float64), sums.biases.astype(numpy.float64)
    lowest, highest = float(steps.numbers[0]), float(steps.numbers[-1])
    ends = numpy.stack([sums.low, sums.high]) * factors + biases - lowest
    finest = min(_HIGHEST * 2.0 ** (left - 32) / factors.max(), _HIGHEST / numpy.abs(ends).max()) * (1 - 2.0**-6)
    for bits in range(_FEWEST_BITS, most_cells.bit_length()):
        for unit in finest * numpy.linspace(1, 0.75, _UNITS):
            shift = max(1, math.ceil(math.log2(max((highest - lowest) * unit, 1) / ((1 << bits) - 4))))
            multipliers = numpy.rint(factors * unit * 2.0 ** (32 - left)).astype(numpy.int64)
            constants = numpy.rint((biases - lowest) * unit).astype(numpy.int64) + (1 << shift)
            cells = _cells(sums, steps, left, (multipliers, constants), (shift, bits))
            if cells:
                return CurvedProducts(left, multipliers, constants, cells)
    return None


def _bits_left(sums: ScaledSums) -> int:
    """How far to the left every sum may go."""
    return 31 - int(max(-sums.low.min(), sums.high.max(), 1)).bit_length()


def _numbers(sums: numpy.ndarray, left: int, multipliers: numpy.ndarray, constants: numpy.ndarray) -> numpy.ndarray:
    return ((sums << left) * multipliers[:, None] >> 32) + constants[:, None]


def _cells(
    sums: ScaledSums, steps: StepsOfSums, left: int, scale: tuple[numpy.ndarray, numpy.ndarray], size: tuple[int, int]
) -> SlopedCells | None:
    ends = _numbers(numpy.stack([sums.low, sums.high], axis=1), left, *scale)
    if (numpy.abs(ends) > _HIGHEST).any() or (numpy.abs(scale[1]) > _HIGHEST).any():
        return None
    at = numpy.where(steps.reached, _numbers(steps.firsts, left, *scale), _BEYOND).min(axis=0)
    below = numpy.where(steps.left, _numbers(steps.firsts - 1, left, *scale), -_BEYOND).max(axis=0)
    if (at <= below).any():
        return None
    own, levels = changes(at, steps.levels)
    if not len(levels) > 1 or (numpy.abs(numpy.diff(levels)) != 1).any():
        return None
    return sloped_cells(below[own], at[own], levels, *size)
