# SPDX-License-Identifier: MIT
"""Requantization in a linear integer form of 64 bits, used if it is proved equal to the formula of the contract.

y = sat8(((acc * m + start) >> 32) >> shift): one long multiply-accumulate onto `start`. For a given m, each threshold
(arithmetic/thresholds.py) bounds `start` from below and from above, so the possible starts are an interval: its ends are a
maximum and a minimum over the thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.thresholds import LEVELS, MOST_MULTIPLIER, Staircase

MOST_START = 1 << 61  # so that neither the start nor a sum with a product leaves 64 bits
_BESIDE = (numpy.rint, numpy.floor, numpy.ceil)


@dataclass(frozen=True, eq=False)
class Line:
    """Per channel `multipliers` (0: not proved) and `starts`, int64."""

    multipliers: numpy.ndarray
    starts: numpy.ndarray

    def apply(self, channel: int, accumulators: numpy.ndarray, shift: int) -> numpy.ndarray:
        """Returns the result of the formula for int64 accumulators of one channel."""
        sums = accumulators * int(self.multipliers[channel]) + int(self.starts[channel])
        return numpy.clip(sums >> (32 + shift), -128, 127)


def line(stairs: Staircase, shift: int) -> Line:
    """Returns the form with the multiplier nearest to the real factor, else next to the slope with most room; the start is the
    middle of its interval."""
    count = len(stairs.low)
    multipliers, starts = numpy.zeros(count, numpy.int64), numpy.zeros(count, numpy.int64)
    scale, in_int32 = 2.0 ** (32 + shift), _in_int32(stairs)
    exact = stairs.slopes
    open_channels = numpy.flatnonzero(in_int32 & (exact * scale <= MOST_MULTIPLIER))
    for slopes, rounded in ((lambda: exact, numpy.rint), *((lambda: stairs.roomiest_slope, way) for way in _BESIDE)):
        if not len(open_channels):
            break
        tried = rounded(numpy.minimum(slopes()[open_channels] * scale, MOST_MULTIPLIER)).astype(numpy.int64)
        lowest, highest = _starts(tried, stairs.of(open_channels), shift)
        found = (lowest <= highest) & (tried > 0)
        chosen = open_channels[found]
        multipliers[chosen], starts[chosen] = tried[found], (lowest + (highest - lowest) // 2)[found]
        open_channels = open_channels[~found]
    return Line(multipliers, starts)


def _in_int32(stairs: Staircase) -> numpy.ndarray:
    return numpy.maximum(numpy.abs(stairs.low), numpy.abs(stairs.high)) < 1 << 31


def _starts(slopes: numpy.ndarray, stairs: Staircase, shift: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the least and the greatest start with which each level is reached at its threshold and not before it."""
    bounds = LEVELS << (32 + shift)
    at = bounds - stairs.steps * slopes[:, None]
    is_reached, is_missed = stairs.steps <= stairs.high[:, None], stairs.steps > stairs.low[:, None]
    lowest = numpy.where(is_reached, at, -MOST_START).max(axis=1)
    highest = numpy.where(is_missed, at + slopes[:, None] - 1, MOST_START).min(axis=1)
    return numpy.maximum(lowest, -MOST_START), numpy.minimum(highest, MOST_START)
