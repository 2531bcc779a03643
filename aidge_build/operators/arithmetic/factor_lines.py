# SPDX-License-Identifier: MIT
"""Products of two stored values: a linear integer form for each factor, in 32 bits, proved on all 65,536 pairs.

With a factor f the product of data x and f is y = sat8((x * slope + start) >> shift), slope = (f * multiplier + offset) >> 8 and
start = slope * minus_zero + first: a channel that is multiplied by one factor has one slope and one start.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy

SLOPE_BITS = 8  # the bits of the multiplier that a slope drops
LARGEST_SHIFT = 30
_BESIDE = (0.0, 1e-7, -1e-7, 1e-6, -1e-6, 4e-6, -4e-6)  # relative changes of the ratio, tried in this order
VALUES = numpy.arange(-128, 128, dtype=numpy.int64)
_LOWEST, _HIGHEST = -128, 127
_LIMIT = 1 << 31


@dataclass(frozen=True)
class FactorLines:
    """The constants of the formula; products, sums, slopes and starts fit int32."""

    multiplier: int
    offset: int
    minus_zero: int
    first: int
    shift: int

    def apply(self) -> numpy.ndarray:
        """Returns the stored result, int64 [256, 256], of every data value and every factor."""
        return numpy.clip(self._sums() >> self.shift, _LOWEST, _HIGHEST)

    def fits(self) -> bool:
        """Whether nothing leaves int32."""
        slopes = self._slopes()
        parts = (VALUES * self.multiplier + self.offset, slopes * self.minus_zero + self.first, self._sums())
        products = VALUES[:, None] * slopes, numpy.array([self.multiplier, self.offset, self.first])
        return all(int(abs(part).max()) < _LIMIT for part in (*parts, *products))

    def _slopes(self) -> numpy.ndarray:
        return (VALUES * self.multiplier + self.offset) >> SLOPE_BITS

    def _sums(self) -> numpy.ndarray:
        slopes = self._slopes()
        return VALUES[:, None] * slopes + (slopes * self.minus_zero + self.first)


def factor_lines(results: numpy.ndarray, ratio: Fraction, data_zero: int, factor_zero: int) -> FactorLines | None:
    """Returns forms that give `results` [256 data values, 256 factors]; None if none are found.

    `ratio`: the real factor of a product of values less their zero points.
    """
    from_below, from_above = results > _LOWEST, results < _HIGHEST
    for shift in range(LARGEST_SHIFT, 7, -1):
        for beside in _BESIDE:
            multiplier = round(float(ratio) * (1 + beside) * 2.0 ** (shift + SLOPE_BITS))
            if not 0 < multiplier * 256 < _LIMIT:
                break
            offset = (1 << SLOPE_BITS - 1) - factor_zero * multiplier
            sums = FactorLines(multiplier, offset, -data_zero, 0, shift)._sums()
            least = int(((results << shift) - sums)[from_below].max(initial=-_LIMIT))
            most = int(((results + 1 << shift) - 1 - sums)[from_above].min(initial=_LIMIT))
            found = FactorLines(multiplier, offset, -data_zero, least + (most - least) // 2, shift)
            if least <= most and found.fits() and numpy.array_equal(found.apply(), results):
                return found
    return None
