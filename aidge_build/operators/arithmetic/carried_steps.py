# SPDX-License-Identifier: MIT
"""A function from fixed-point numbers to few integers by one load and one carry.

Numbers are limited to the range of the steps and divided into cells of 2^shift. A cell has at most one step, up or down by 1. If
a number has reached the step of its cell, the sum of the number and the cell's entry carries into the level. The entry of a step
down has its highest bit set and is added to the inverted number. So a kernel reads one word for each number, and never compares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

LEVEL_BITS = 8
LARGEST_SHIFT = 31 - LEVEL_BITS  # above the level is the bit of a step down
MOST_FRACTION_BITS = 32  # of a number, in the instruction that converts it
OFFSET_BITS = 6  # 2^6 offsets of the first cell are tried, within its width
_HIGHEST = (1 << 31) - 1
_FALLS = 1 << 31


@dataclass(frozen=True, eq=False)
class CarriedSteps:
    """The level of n is the low byte of (entry + (n' ^ the sign of entry)) >> shift, where n' = n + `raised` - `lowered`, each
    saturated to int32, and `entries[(n' >> shift) + (2^31 >> shift)]` its entry (uint32)."""

    raised: int
    lowered: int
    shift: int
    entries: numpy.ndarray

    @property
    def rises(self) -> bool:
        """Whether no step goes down."""
        return bool((self.entries < _FALLS).all())

    @property
    def middle(self) -> int:
        """The index of the entry of n' = 0."""
        return 1 << 31 - self.shift

    def levels(self, numbers: numpy.ndarray) -> numpy.ndarray:
        """Returns the int8 level of each int32."""
        limited = numpy.minimum(numpy.asarray(numbers, numpy.int64) + self.raised, _HIGHEST)
        limited = numpy.maximum(limited - self.lowered, -1 - _HIGHEST)
        entries = self.entries[(limited >> self.shift) + self.middle].astype(numpy.int64)
        sums = entries + numpy.where(entries >= _FALLS, ~limited, limited)
        return (sums >> self.shift & 0xFF).astype(numpy.uint8).view(numpy.int8)


def fraction_bits(lowest: float, highest: float) -> int:
    """Returns the most fraction bits with which int32 holds both of these numbers; less than 1 if it cannot."""
    largest = max(-lowest, highest, 2.0**-MOST_FRACTION_BITS)
    return min(MOST_FRACTION_BITS, int(numpy.floor(numpy.log2(_HIGHEST / largest))))


def carried_steps(steps: numpy.ndarray, levels: numpy.ndarray, most: int) -> CarriedSteps | None:
    """Returns the form for rising int32 `steps`, the smallest numbers with the next of the `levels`. Returns None if it needs
    more than `most` cells, or if a step goes up or down by more than 1."""
    steps, levels = steps.astype(numpy.int64), levels.astype(numpy.int64)
    if not len(steps) or (numpy.abs(numpy.diff(levels)) != 1).any() or (numpy.diff(steps) <= 0).any():
        return None
    gaps = numpy.diff(steps)
    closest = int(steps[gaps.argmin() + 1]) if len(gaps) else int(steps[0])
    for shift in range(LARGEST_SHIFT, 0, -1):
        if int(steps[-1] - steps[0]) >> shift > most:
            return None
        rooms = [place << shift >> OFFSET_BITS for place in range(1 << OFFSET_BITS)]
        rooms += [sign * (closest - _moved(steps)[0]) % (1 << shift) for sign in (-1, 1)]  # a cell begins at this step
        for room in rooms:
            found = _at(steps, levels, shift, room)
            if found is not None and len(found.entries) <= most:
                return found
    return None


def _moved(steps: numpy.ndarray, room: int = 0) -> tuple[int, int, int]:
    """Returns `lowered` less `raised`, and both, with at least `room` above the last step or below the first step."""
    raised = max(0, _HIGHEST - int(steps[-1]) - room)
    lowered = min(_HIGHEST, int(steps[0]) + raised + _HIGHEST - room)
    return lowered - raised, raised, lowered


def _at(steps: numpy.ndarray, levels: numpy.ndarray, shift: int, room: int) -> CarriedSteps | None:
    """Returns the form with this `room`; None if a cell has two steps."""
    less, raised, lowered = _moved(steps, room)
    if lowered < 0 or raised > _HIGHEST:
        return None
    moved = steps - less
    highest = _HIGHEST - lowered
    if moved[0] <= -1 - _HIGHEST or moved[-1] > highest:
        return None
    cells = numpy.arange(-1 - _HIGHEST >> shift, (highest >> shift) + 1)
    own = numpy.searchsorted(cells, moved >> shift)
    if len(numpy.unique(own)) < len(own):
        return None
    before = numpy.searchsorted(moved, cells << shift, "left")  # steps below the cell
    entries = (levels[before] - cells) << shift  # of cells without a step
    up = numpy.diff(levels) > 0
    entries[own] = numpy.where(up, (levels[1:] << shift) - moved, (levels[:-1] << shift) + moved)
    entries &= _FALLS - 1
    entries[own[~up]] |= _FALLS
    return CarriedSteps(raised, lowered, shift, entries.astype(numpy.uint32))
