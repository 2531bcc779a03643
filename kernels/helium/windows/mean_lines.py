# SPDX-License-Identifier: MIT
"""Levels of the sums of int8 windows by one product, proved for every sum but those where float32's order of summation shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType

NARROWED = 16  # by which products are shifted before they are narrowed, the rest afterwards
DROPS = (6, 5, 4)  # tried in this order
MOST_SUSPECTS = 2
LOWEST, HIGHEST = DType.int8.range


@dataclass(frozen=True)
class Line:
    """level = ((sum * multiplier + start >> NARROWED) + half of 1 << drop) >> drop, but for the suspects."""

    multiplier: int
    start: int
    drop: int
    suspects: tuple[int, ...]


def line_through(sums: numpy.ndarray, wanted: numpy.ndarray, free: numpy.ndarray, slope: float, away: bool) -> Line | None:
    """Returns the line that gives the levels `wanted` of all sums but those that are `free`; None if there is none, or if too
    many are free. Saturated levels bound the line on one side.

    `away`: 1 is taken from negative sums first.
    """
    if free.sum() > MOST_SUSPECTS:
        return None
    points = sums - (sums < 0) if away else sums
    from_below, from_above = ~free & (wanted > LOWEST), ~free & (wanted < HIGHEST)
    for drop in DROPS:
        shift = NARROWED + drop
        middle = round(slope * (1 << shift))
        for multiplier in (middle, middle - 1, middle + 1):
            least = int(((wanted << shift) - points * multiplier)[from_below].max(initial=-(1 << 40)))
            most = int((((wanted + 1) << shift) - 1 - points * multiplier)[from_above].min(initial=1 << 40))
            start = (least + most) // 2 - (1 << (shift - 1))
            ends = [int(point) * multiplier + start for point in (points[0], points[-1])]
            if least <= most and max(map(abs, (start, *ends))) < 1 << 31:
                return Line(multiplier, start, drop, tuple(map(int, sums[free])))
    return None
