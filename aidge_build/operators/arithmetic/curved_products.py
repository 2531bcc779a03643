# SPDX-License-Identifier: MIT
"""A function of few levels of float32-scaled integer sums, computed without floats.

A channel's sum, shifted to the left, is multiplied by the channel's multiplier; the upper word of the product plus a constant is
a number that rises with the sum. All channels share the steps of the function if no channel's number is on the wrong side of a
step. It suffices to check the two sums next to each step in each channel, as float and number both rise with the sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.curved_sums import ScaledSums, StepsOfSums, changes
from aidge_build.operators.arithmetic.piecewise_linear import PiecewiseLinear, piecewise_linear

_HIGHEST = (1 << 31) - 1
_UNITS = 16  # units of the numbers that are tried, the finest first
_BEYOND = 1 << 40
_FEWEST_BITS = 6  # of the number of cells


@dataclass(frozen=True, eq=False)
class CurvedProducts:
    """`cells` maps ((sum << left) * multipliers[c] >> 32) + constants[c] to the level of channel c's sum."""

    left: int
    multipliers: numpy.ndarray
    constants: numpy.ndarray
    cells: PiecewiseLinear

    def numbers(self, sums: numpy.ndarray) -> numpy.ndarray:
        """Returns the numbers, int64, of sums, int64 [channels, any]."""
        return _numbers(sums, self.left, self.multipliers, self.constants)


def curved_products(sums: ScaledSums, steps: StepsOfSums, most_cells: int) -> CurvedProducts | None:
    """Returns the form of the function with these steps; None if no such numbers are found, or `most_cells` are too few."""
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
    """Returns the largest shift to the left that every sum allows, in bits."""
    return 31 - int(max(-sums.low.min(), sums.high.max(), 1)).bit_length()


def _numbers(sums: numpy.ndarray, left: int, multipliers: numpy.ndarray, constants: numpy.ndarray) -> numpy.ndarray:
    return ((sums << left) * multipliers[:, None] >> 32) + constants[:, None]


def _cells(
    sums: ScaledSums, steps: StepsOfSums, left: int, scale: tuple[numpy.ndarray, numpy.ndarray], size: tuple[int, int]
) -> PiecewiseLinear | None:
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
    return piecewise_linear(below[own], at[own], levels, *size)
