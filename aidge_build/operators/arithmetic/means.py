# SPDX-License-Identifier: MIT
"""The mean of 8-bit values as float32 gives it, added up in onnxruntime's order; in integers if the order does not matter.

If a mean is not near a tie, the exact integer sum decides its quantized value, whatever the order: `integer_mean` bounds the
error of float32. Only near a tie the values are added up one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache

import numpy

from aidge_build.graph.quantization import Quantization
from aidge_build.operators.arithmetic.fixed_point import exact_ratio

FRACTION_BITS = 32
UNIT = Fraction(1, 1 << 24)  # the largest relative error of one float32 operation
FACTOR = 8  # a step of the sum may be up to four output steps
LARGEST_LEVEL = 1024  # beyond it everything is saturated
EXPONENTS = (-100, 100)  # of scales: nothing overflows, nothing is subnormal


class Order(IntEnum):
    """The order in which the values of a window [rows, columns] are added up (MLAS, the kernels of onnxruntime on the CPU)."""

    TURN = 0  # row by row, one value after the other
    COLUMNS = 1  # the sum of each column, then the sum of these sums
    LANES = 2  # four lanes of every fourth value, (lane 0 + lane 2) + (lane 1 + lane 3), then the remaining values


def added_up(values: numpy.ndarray, order: Order) -> numpy.ndarray:
    """Returns the sums over the last two axes, in the type of the values; each addition is rounded to it."""
    if order is Order.COLUMNS:
        return _chain(_chain(numpy.moveaxis(values, -2, -1)))
    row = values.reshape(*values.shape[:-2], -1)
    if order is Order.TURN:
        return _chain(row)
    whole = row.shape[-1] // 4 * 4
    lanes = [_chain(row[..., lane:whole:4]) for lane in range(4)]
    total = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
    return _chain(numpy.concatenate([total[..., None], row[..., whole:]], axis=-1))


def _chain(values: numpy.ndarray) -> numpy.ndarray:
    """Returns the sum along the last axis, one value after the other: accumulate adds strictly in order, sum does not."""
    if values.shape[-1] == 0:
        return numpy.zeros(values.shape[:-1], values.dtype)
    return numpy.add.accumulate(values, axis=-1, dtype=values.dtype)[..., -1]


@dataclass(frozen=True)
class IntegerMean:
    """mean / output scale = sum * FACTOR * multiplier / 2^32, within `band` / 2^32 of what float32 gives in any order.

    The level is this value, rounded, unless its fraction is within the band around one half: then the order decides.
    """

    multiplier: int
    band: int

    @property
    def first(self) -> int:
        """The first fraction within the band."""
        return (1 << (FRACTION_BITS - 1)) - self.band

    def decided(self, sums: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Returns (levels without zero point and clamp, whether the order is free) for exact sums of values minus zero points."""
        products = sums.astype(numpy.int64) * (FACTOR * self.multiplier)
        fraction = products & ((1 << FRACTION_BITS) - 1)
        levels = (products >> FRACTION_BITS) + (fraction >> (FRACTION_BITS - 1))
        return levels, abs(fraction - (1 << (FRACTION_BITS - 1))) > self.band


@lru_cache(64)
def every_sum_decides(mean: IntegerMean, lowest: int, highest: int) -> bool:
    """Whether the order is free for each sum from `lowest` to `highest`."""
    _, decided = mean.decided(numpy.arange(lowest, highest + 1))
    return bool(decided.all())


@dataclass(frozen=True)
class MeanLine:
    """level + zero point = (sum * multiplier + start) >> bits, unless the lower bits are at most `unsure`: then the level may
    differ, or the order decides."""

    multiplier: int
    start: int
    unsure: int


def mean_line(mean: IntegerMean, bits: int, zero_point: int, low: int, high: int) -> MeanLine | None:
    """Returns the linear integer form with so many fraction bits for exact sums low..high, low <= 0 <= high, before the clamp.
    Returns None if the multiplier does not fit int16, if a product does not fit int32, or if everything is unsure."""
    dropped = FRACTION_BITS - bits
    product = FACTOR * mean.multiplier
    multiplier = (product + (1 << (dropped - 1))) >> dropped
    error = max(-low, high) * abs(product - (multiplier << dropped))
    band = ((error + mean.band) >> dropped) + 1
    start = (zero_point << bits) + (1 << (bits - 1)) + band
    fits = -(1 << 31) <= low * multiplier + start and high * multiplier + start < 1 << 31
    return MeanLine(multiplier, start, 2 * band) if fits and multiplier < 1 << 15 and 2 * band < 1 << bits else None


def integer_mean(count: int, data: Quantization, result: Quantization) -> IntegerMean | None:
    """Returns constants for means of up to `count` int8 values over `count`; None if 32 bits or float32 are too narrow."""
    scales = data.scale, result.scale
    if any(not 2.0 ** EXPONENTS[0] < float(scale) < 2.0 ** EXPONENTS[1] for scale in scales):
        return None
    ratio = exact_ratio(data.scale, count, result.scale)
    largest_value = max(128 + data.zero_point, 127 - data.zero_point)
    if ratio / FACTOR >= Fraction(1, 2) or count * largest_value * FACTOR >= 1 << 31:
        return None
    band = math.ceil(_most_error(count, largest_value, ratio) * (1 << FRACTION_BITS)) + 1
    multiplier = round(ratio / FACTOR * (1 << FRACTION_BITS))
    return IntegerMean(multiplier, band) if band < 1 << (FRACTION_BITS - 1) and multiplier < 1 << 31 else None


def _most_error(count: int, largest_value: int, ratio: Fraction) -> Fraction:
    """Returns the largest error, in levels, of the float32 mean in any order, of both its divisions, and of the integer
    multiplier.

    Products err by a unit of the largest product; an addition errs by a unit of its result, which after i values is at most i
    products. The other orders add fewer values to each partial sum, and a few partial sums.
    """
    additions = count * (count + 3) // 2 + 5 * count
    mean = (count + additions) * largest_value * ratio * UNIT
    quotients = 2 * UNIT * min(Fraction(LARGEST_LEVEL), largest_value * count * ratio)
    rounding = Fraction(count * largest_value * FACTOR, 2 << FRACTION_BITS)
    return (mean + quotients) * Fraction(101, 100) + rounding
