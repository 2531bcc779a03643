# SPDX-License-Identifier: MIT
"""Weights of a Resize as whole numbers over one denominator, so that 8-bit values are weighted in integers, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy

MOST_SHARES = 2048  # the largest denominator that is tried for an axis
NEAR = 2.0**-17  # the most that a weight may differ from such a fraction: float32 places are not more precise
BITS = range(15, 10, -1)  # of a power of two that replaces a denominator, the finest first
LARGEST_VALUE = 255  # of |stored value - zero point| of 8 bits
INT32 = 1 << 31


@dataclass(frozen=True, eq=False)
class Shares:
    """The weights of one axis: for each output index the input indices (-1 in the first column: outside) and their `shares` of
    `whole`."""

    indices: numpy.ndarray
    shares: numpy.ndarray
    whole: int

    @property
    def largest(self) -> int:
        """The largest sum of |shares| of an output index."""
        return int(numpy.abs(self.shares).sum(axis=1).max())


@lru_cache(64)
def shares_of(operator, dims: tuple[int, ...]) -> tuple[Shares, ...] | None:
    """Returns the weights of each axis of data with these dims, in whole numbers that keep every sum of 8-bit values within
    int32.

    Weights of an axis are exact if they are fractions over one number of at most `MOST_SHARES`; else they are rounded to the
    finest power of two that int32 allows. Returns None if it allows none.
    """
    taps = [operator.taps(axis, size) for axis, size in enumerate(dims)]
    wholes = [_denominator(weights) for _, weights in taps]
    for bits in BITS:
        full = tuple(_over(indices, weights, whole or 1 << bits) for (indices, weights), whole in zip(taps, wholes))
        if LARGEST_VALUE * math.prod(one.largest for one in full) < INT32:
            return full
    return None


def multiplier(shares: Sequence[Shares], input_scale: float, output_scale: float) -> numpy.float32:
    """Returns float32(input scale / (output scale * wholes)), which scales sums of shares times values to steps of the output."""
    return numpy.float32(float(input_scale) / (float(output_scale) * math.prod(one.whole for one in shares)))


def weighted_sums(values: numpy.ndarray, shares: Sequence[Shares]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the sums of shares times values in int64, and a mask of the sums that are outside of the data."""
    sums, outside = values.astype(numpy.int64), numpy.zeros((1,) * values.ndim, bool)
    for axis, one in enumerate(shares):
        along = [1] * values.ndim
        along[axis] = -1
        outside = outside | (one.indices[:, 0] < 0).reshape(along)
        picked = numpy.take(sums, numpy.maximum(one.indices, 0), axis)
        sums = (picked * one.shares.reshape(*along[:axis], *one.shares.shape, *along[axis + 1 :])).sum(axis + 1)
    return sums, numpy.broadcast_to(outside, sums.shape)


def _denominator(weights: numpy.ndarray) -> int | None:
    distinct = numpy.unique(weights)
    for whole in range(1, MOST_SHARES + 1):
        scaled = distinct * whole
        if (numpy.abs(scaled - numpy.rint(scaled)) <= whole * NEAR).all():
            return whole
    return None


def _over(indices: numpy.ndarray, weights: numpy.ndarray, whole: int) -> Shares:
    """Returns the rounded shares; the rounding error of a row is added to its largest share."""
    shares = numpy.rint(weights * whole).astype(numpy.int64)
    rows = numpy.arange(len(shares))
    shares[rows, numpy.abs(shares).argmax(axis=1)] += whole - shares.sum(axis=1)
    return Shares(indices, shares, whole)
