# SPDX-License-Identifier: MIT
"""A piecewise linear approximation of a function from integers to few levels, by one load and one product.

Numbers are limited to a range of cells of 2^shift. A cell has at most one step, up or down by 1. Each cell has one word w, and w
+ (w * n >> 32) holds the level in the byte above its 16 lowest bits: w is both offset and slope of a linear piece. In a cell
without a step the piece stays between two multiples of 2^16; in a cell with a step it crosses one multiple, upwards or, if w is
negative, downwards. The bits above the level are free, so there are many candidates for w, and one of them crosses between the
two numbers that the step must separate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

LARGEST_SHIFT = 22  # up to it the piece of a cell without a step stays in the middle half of its level
MOST_BITS = 31  # of a number
_LINES = 63  # words that are tried for a step: levels + 256 * 1, 2...
_BESIDE = numpy.arange(-1, 3)  # and their neighbours


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """The level of n is the byte above the 16 lowest bits of w + (w * m >> 32), where m is n limited to `shift` + `bits` unsigned
    bits and w (int32) is `words[m >> shift]`."""

    shift: int
    bits: int
    words: numpy.ndarray

    def levels(self, numbers: numpy.ndarray) -> numpy.ndarray:
        """Returns the int8 level of each int32."""
        limited = numpy.clip(numpy.asarray(numbers, numpy.int64), 0, (1 << self.shift + self.bits) - 1)
        return (_line(self.words[limited >> self.shift], limited) >> 16 & 0xFF).astype(numpy.uint8).view(numpy.int8)


def _line(words: numpy.ndarray, numbers: numpy.ndarray) -> numpy.ndarray:
    return words + (words * numbers >> 32)


def piecewise_linear(
    below: numpy.ndarray, at: numpy.ndarray, levels: numpy.ndarray, shift: int, bits: int
) -> PiecewiseLinear | None:
    """Returns the form for rising steps, each between the numbers `below` and `at` (numbers in between do not occur), at which
    `levels` change by 1. Returns None if one of the 2^bits cells of 2^shift has two steps, if a step is outside of the cells, or
    if no word fits."""
    cells, count = at >> shift, 1 << bits
    if not 0 < shift <= min(LARGEST_SHIFT, MOST_BITS - bits) or below[0] < 0 or cells[-1] >= count:
        return None
    is_inside = cells << shift <= below  # else a cell begins between both numbers
    if (numpy.diff(cells[is_inside]) == 0).any():
        return None
    firsts = numpy.where(is_inside, cells + 1, cells)  # cells that begin with the next level
    own = levels[numpy.searchsorted(firsts, numpy.arange(count), "right")] & 0xFF
    middles = (2 * numpy.arange(count) + 1) << shift - 1
    words = numpy.rint((2 * own + 1 << 15) / (1 + middles * 2.0**-32)).astype(numpy.int64)
    found = _words_of_steps(below[is_inside], at[is_inside], numpy.stack([levels[:-1], levels[1:]])[:, is_inside], shift)
    if found is None:
        return None
    words[cells[is_inside]] = found
    return PiecewiseLinear(shift, bits, words)


def _words_of_steps(below: numpy.ndarray, at: numpy.ndarray, levels: numpy.ndarray, shift: int) -> numpy.ndarray | None:
    """Returns the words of cells with one step each; `levels` [2, steps], before and after the step."""
    first = at >> shift << shift
    rises = (levels[1] > levels[0])[:, None]
    multiples = (levels.max(axis=0) & 0xFF)[:, None] + 256 * numpy.where(rises, 1, -1) * numpy.arange(_LINES, 0, -1)
    tried = numpy.rint((multiples << 16) / (1 + at[:, None] * 2.0**-32)).astype(numpy.int64)
    words = (tried[:, :, None] + _BESIDE).reshape(len(at), -1)
    passed = numpy.repeat(multiples << 16, len(_BESIDE), axis=1)
    at_low, at_high = _line(words, below[:, None]), _line(words, at[:, None])
    ends = _line(words, first[:, None]), _line(words, first[:, None] + (1 << shift) - 1)
    fits = numpy.where(rises, (at_low < passed) & (passed <= at_high), (at_high < passed) & (passed <= at_low))
    fits &= (numpy.minimum(*ends) >= passed - (1 << 16)) & (numpy.maximum(*ends) < passed + (1 << 16))
    place = fits.argmax(axis=1)[:, None]
    return numpy.take_along_axis(words, place, 1)[:, 0] if fits.any(axis=1).all() else None
