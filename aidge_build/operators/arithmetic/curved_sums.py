# SPDX-License-Identifier: MIT
"""A function of few levels of float32-scaled integer sums, computed without comparing floats.

The float of each channel's sum becomes a fixed-point number, which rises with the sum. If, in every channel, this number
separates all sums below a step from all others, the steps of the function are integers that the channels share
(carried_steps.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.carried_steps import CarriedSteps, carried_steps, fraction_bits
from aidge_build.operators.arithmetic.float_thresholds import number_of

_INT32 = (-(1 << 31), (1 << 31) - 1)


@dataclass(frozen=True, eq=False)
class ScaledSums:
    """float32(sum) * factor + bias, each rounded to float32, limited to `minimum`..`maximum`. Each channel has a factor above 0,
    a bias, and a lowest and highest sum."""

    factors: numpy.ndarray
    biases: numpy.ndarray
    low: numpy.ndarray
    high: numpy.ndarray
    minimum: float
    maximum: float

    def numbers(self, sums: numpy.ndarray) -> numpy.ndarray:
        """Returns float32 of sums, int64 [channels, any], before the limits."""
        return sums.astype(numpy.float32) * self.factors[:, None] + self.biases[:, None]

    def first_at(self, number: numpy.ndarray) -> numpy.ndarray:
        """Returns the smallest sums of each channel that reach these float32 numbers, int64 [channels, numbers]; high + 1 if none
        does."""
        below = numpy.repeat(self.low[:, None] - 1, len(number), axis=1)
        above = numpy.repeat(self.high[:, None] + 1, len(number), axis=1)
        while (above - below > 1).any():
            middle = (below + above) // 2
            reached = self.numbers(middle) >= number
            below, above = numpy.where(reached, below, middle), numpy.where(reached, middle, above)
        return above


@dataclass(frozen=True, eq=False)
class CurvedSums:
    """`steps` of the sums' floats as fixed-point numbers with `bits` fraction bits, converted as the FPU does: towards 0,
    saturated."""

    bits: int
    steps: CarriedSteps


@dataclass(frozen=True, eq=False)
class StepsOfSums:
    """The steps of a function that some sums reach and some do not: their float32 `numbers`, the smallest sums of each channel
    that reach them (`firsts`, int64 [channels, steps]), whether a sum of the channel is at or above the step (`reached`) or below
    it (`left`), and the levels, one more than steps."""

    numbers: numpy.ndarray
    firsts: numpy.ndarray
    reached: numpy.ndarray
    left: numpy.ndarray
    levels: numpy.ndarray


def steps_of_sums(sums: ScaledSums, keys: numpy.ndarray, levels: numpy.ndarray) -> StepsOfSums | None:
    """Returns the steps of a function that is `levels[n]` for numbers that have reached n of the rising `keys` (`staircase.py`);
    None if there are no steps."""
    numbers = number_of(keys)
    kept = (numbers > sums.minimum) & (numbers <= sums.maximum)
    begun = int((numbers <= sums.minimum).sum())
    numbers, levels = numbers[kept], levels[begun : begun + int(kept.sum()) + 1]
    firsts = sums.first_at(numbers)
    reached, left = firsts <= sums.high[:, None], firsts > sums.low[:, None]  # by some sum; not by every sum
    some = reached.any(axis=0) & left.any(axis=0)
    passed = int((~left.any(axis=0)).sum())
    levels = levels[passed : passed + int(some.sum()) + 1]
    return StepsOfSums(numbers[some], firsts[:, some], reached[:, some], left[:, some], levels) if some.any() else None


def curved_sums(sums: ScaledSums, found: StepsOfSums, most_cells: int) -> CurvedSums | None:
    """Returns the form of the function with these steps; None if no fixed-point format separates the sums at a step, or if more
    cells are needed."""
    bits = fraction_bits(float(found.numbers[0]), float(found.numbers[-1]))
    if bits < 1:
        return None
    at, below = (fixed(sums.numbers(end), bits) for end in (found.firsts, found.firsts - 1))
    steps = numpy.where(found.reached, at, _INT32[1]).min(axis=0)
    if (steps <= numpy.where(found.left, below, _INT32[0]).max(axis=0)).any():
        return None
    own, levels = changes(steps, found.levels)
    carried = carried_steps(steps[own], levels, most_cells)
    return None if carried is None else CurvedSums(bits, carried)


def changes(steps: numpy.ndarray, levels: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the indices of steps and their levels, without steps to levels that no number has and without steps that change
    nothing."""
    (places,) = numpy.nonzero(numpy.append(numpy.diff(steps) > 0, True))
    levels = numpy.append(levels[:1], levels[1:][places])
    is_change = numpy.diff(levels) != 0
    return places[is_change], numpy.append(levels[:1], levels[1:][is_change])


def fixed(numbers: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Returns fixed-point numbers with so many fraction bits, rounded towards 0; int64, saturated to int32."""
    return numpy.clip(numpy.trunc(numbers.astype(numpy.float64) * 2.0**bits), *_INT32).astype(numpy.int64)
