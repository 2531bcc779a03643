# SPDX-License-Identifier: MIT
"""A linear integer form y = sat8((multiplier * x + start) >> shift) for each channel, proved on all 256 values of every channel.

Each x with an unsaturated result bounds multiplier * x + start from below and from above. Eliminating the start leaves bounds of
the multiplier alone, one for each pair of values (Fourier and Motzkin): the search finds a multiplier if one exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

SHIFTS = (20, 16, 12)  # tried in this order
VALUES = numpy.arange(-128, 128, dtype=numpy.int64)
_LOWEST, _HIGHEST = -128, 127
_DISTANCE = VALUES[:, None] - VALUES[None, :]  # from the value that bounds from below to the one that bounds from above
_NEAR = 1 << 30  # multipliers and starts are smaller


@dataclass(frozen=True, eq=False)
class ChannelLines:
    """Per channel a multiplier and a start, int64; products, sums and starts fit int32."""

    multipliers: numpy.ndarray
    starts: numpy.ndarray
    shift: int

    def apply(self) -> numpy.ndarray:
        """Returns the results [channels, 256] for every value."""
        sums = self.multipliers[:, None] * VALUES + self.starts[:, None]
        return numpy.clip(sums >> self.shift, _LOWEST, _HIGHEST)


def two_sided_lines(results: numpy.ndarray, bend: int) -> tuple[ChannelLines, ChannelLines] | None:
    """Returns two forms with the same shift, for values below `bend` and for the others, that give `results` [channels, 256]."""
    below = bend > VALUES
    for shift in SHIFTS:
        first, second = (channel_lines(results, side, (shift,)) for side in (below, ~below))
        if first is not None and second is not None:
            return first, second
    return None


def channel_lines(
    results: numpy.ndarray, counted: numpy.ndarray = VALUES > -129, shifts: Sequence[int] = SHIFTS
) -> ChannelLines | None:
    """Returns forms that give `results` [channels, 256], the stored results of -128..127, at the values that are `counted` [256].
    Returns None if a channel has no form."""
    for shift in shifts:
        found = [_line(levels.astype(numpy.int64), shift, counted) for levels in results]
        lines = [line for line in found if line is not None]
        if len(lines) < len(found):
            continue
        multipliers, starts = numpy.array(lines, numpy.int64).T
        made = ChannelLines(multipliers, starts, shift)
        if numpy.array_equal(made.apply()[:, counted], results[:, counted]):
            return made
    return None


def _line(levels: numpy.ndarray, shift: int, counted: numpy.ndarray) -> tuple[int, int] | None:
    """Returns the multiplier and the start in the middle of their ranges for these results; None if there are none."""
    low, high = levels << shift, (levels + 1 << shift) - 1
    from_below, from_above = counted & (levels > _LOWEST), counted & (levels < _HIGHEST)
    lowest, highest = _multipliers(low, high, from_below[None, :] & from_above[:, None])
    if lowest > highest:
        return None
    multiplier = lowest + (highest - lowest) // 2
    least = int((low - multiplier * VALUES)[from_below].max(initial=-_NEAR))
    most = int((high - multiplier * VALUES)[from_above].min(initial=_NEAR))
    start = least + (most - least) // 2
    ends = [multiplier * int(x) + start for x in (VALUES[0], VALUES[-1])]
    return (multiplier, start) if least <= most and max(map(abs, (start, *ends))) < 1 << 31 else None


def _multipliers(low: numpy.ndarray, high: numpy.ndarray, pairs: numpy.ndarray) -> tuple[int, int]:
    """Returns the least and the greatest multiplier; `pairs` [above, below] are the pairs of values that bound it."""
    room = high[:, None] - low[None, :]
    ahead, behind = pairs & (_DISTANCE > 0), pairs & (_DISTANCE < 0)
    highest = int((room[ahead] // _DISTANCE[ahead]).min(initial=_NEAR))
    lowest = int((-(room[behind] // -_DISTANCE[behind])).max(initial=-_NEAR))
    return lowest, highest
