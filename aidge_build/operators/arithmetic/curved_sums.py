# SPDX-License-Identifier: MIT
"""Integer sums that are scaled to float32 and then go through a function of few levels, without a comparison of floats.

The float of each channel's sum becomes a number in fixed point, which rises with the sum. Where that tells all sums below a step
from all others, in every channel, the steps of the function are integers that the channels share (carried_steps.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.carried_steps import CarriedSteps, carried_steps, fraction_bits
from aidge_build.operators.arithmetic.float_thresholds import number_of

_INT32 = (-(1 << 31), (1 << 31) - 1)


@dataclass(frozen=True, eq=False)
class ScaledSums:
    """float32(sum) * factor + bias, each rounded to float32, limited to `minimum`..`maximum`: of each channel the factor, more
    than 0, the bias, and the lowest and highest sum."""

    factors: numpy.ndarray
    biases: numpy.ndarray
    low: numpy.ndarray
    high: numpy.ndarray
    minimum: float
    maximum: float

    def numbers(self, sums: numpy.ndarray) -> numpy.ndarray:
        """float32 of int64 [channels, any], before the limits."""
        return sums.astype(numpy.float32) * self.factors[:, None] + self.biases[:, None]

    def first_at(self, number: numpy.ndarray) -> numpy.ndarray:
        """The smallest sums of each channel that are at least these float32 numbers, int64 [channels, numbers]; high + 1 where
        none is."""
        below = numpy.repeat(self.low[:, None] - 1, len(number), axis=1)
        above = numpy.repeat(self.high[:, None] + 1, len(number), axis=1)
        while (above - below > 1).any():
            middle = (below + above) // 2
            reached = self.numbers(middle) >= number
            below, above = numpy.where(reached, below, middle), numpy.where(reached, middle, above)
        return above


@dataclass(frozen=True, eq=False)
class CurvedSums:
    """`steps` of the sums' floats with `bits` behind the point, as the FPU converts them: towards 0, saturated."""

    bits: int
    steps: CarriedSteps


@dataclass(frozen=True, eq=False)
class StepsOfSums:
    """The steps of a function that some sum has reached and some has not: their float32 `numbers`; of each channel the smallest
    sums that have reached them (int64 [channels, steps]), and whether any does, and any does not; the levels, one more."""

    numbers: numpy.ndarray
    firsts: numpy.ndarray
    reached: numpy.ndarray
    left: numpy.ndarray
    levels: numpy.ndarray


def steps_of_sums(sums: ScaledSums, keys: numpy.ndarray, levels: numpy.ndarray) -> StepsOfSums | None:
    """Of a function that has `levels[n]` where a number has reached n of the rising `keys` (staircase.py); None without any."""
    numbers = number_of(keys)
    kept = (numbers > sums.minimum) & (numbers <= sums.maximum)
    begun = int((numbers <= sums.minimum).sum())
    numbers, levels = numbers[kept], levels[begun : begun + int(kept.sum()) + 1]
    firsts = sums.first_at(numbers)
    reached, left = firsts <= sums.high[:, None], firsts > sums.low[:, None]  # by some sum, not by every one
    some = reached.any(axis=0) & left.any(axis=0)
    passed = int((~left.any(axis=0)).sum())
    levels = levels[passed : passed + int(some.sum()) + 1]
    return StepsOfSums(numbers[some], firsts[:, some], reached[:, some], left[:, some], levels) if some.any() else None


def curved_sums(sums: ScaledSums, found: StepsOfSums, most_cells: int) -> CurvedSums | None:
    """Of the function with these steps; None where no fixed point tells the sums of a step apart, or it needs more cells."""
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
    """The places of steps without those to levels that no number has, and then without those that change nothing; and their
    levels."""
    (places,) = numpy.nonzero(numpy.append(numpy.diff(steps) > 0, True))
    levels = numpy.append(levels[:1], levels[1:][places])
    is_change = numpy.diff(levels) != 0
    return places[is_change], numpy.append(levels[:1], levels[1:][is_change])


def fixed(numbers: numpy.ndarray, bits: int) -> numpy.ndarray:
    """int64, within int32."""
    return numpy.clip(numpy.trunc(numbers.astype(numpy.float64) * 2.0**bits), *_INT32).astype(numpy.int64)
