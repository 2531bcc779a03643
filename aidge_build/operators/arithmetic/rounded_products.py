# SPDX-License-Identifier: MIT
"""Requantization by a product and a shift that both round to even, as vectors of integers have them (RISC-V's `vsmul`, `vssra`).

The float32 formula rounds twice, too: rint(float32(sum * M)). Here

    y = rint(rint((sum << left) * multiplier / 2^31) / 2^right) + zero point, saturated

with all bits of M in the multiplier. The first rounding leaves `right` fraction bits, and float32 leaves more for small results,
so a few sums next to a tie may get the other level. They are known, as the formula is a step function with 255 steps
(`thresholds`): each is replaced by a neighbour that gets the right level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy

from aidge_build.operators.arithmetic.thresholds import LEVELS, Staircase

PRODUCT_BITS = 31  # that are shifted out of a product
MOST_REPLACED = 8  # sums of a channel
_EXACT = 8  # multipliers that hold all bits of a float32 number
_NUDGES = (64, -64, 128, -128)  # of the largest multiplier: half a unit of a float32 number, and one
_NEAR = numpy.arange(-4, 4)  # accumulators around a step
_NEXT = numpy.array([1, -1, 2, -2, 3, -3, 4, -4])


@dataclass(frozen=True, eq=False)
class RoundedForm:
    """Per channel, int64: y for every sum of the range, after the sums in `wrong` are replaced by the sums in `instead`, both
    [replaced, channels]. Channels with fewer have the same number in both."""

    left: int
    multipliers: numpy.ndarray
    rights: numpy.ndarray
    wrong: numpy.ndarray
    instead: numpy.ndarray

    def apply(self, channel: int, sums: numpy.ndarray, zero_point: int) -> numpy.ndarray:
        """Returns the stored values of int64 sums of one channel, as the kernels compute them."""
        for wrong, instead in zip(self.wrong[:, channel], self.instead[:, channel]):
            sums = numpy.where(sums == wrong, instead, sums)
        rounded = _rounded(sums, self.left, self.multipliers[channel], self.rights[channel])
        return numpy.clip(rounded + zero_point, -128, 127)


def rounded_form(stairs: Staircase, factors: numpy.ndarray, fractions: numpy.ndarray, unit: int) -> RoundedForm | None:
    """Returns the form for float32 `factors` [channels] of the sums unit * accumulator + fraction; None if a channel has none."""
    ends = [unit * end + fractions for end in (stairs.low, stairs.high)]
    left = PRODUCT_BITS - int(numpy.abs(ends).max(initial=1)).bit_length()
    multipliers, rights, faults = _best(stairs, factors, left, lambda steps: unit * steps + fractions[:, None])
    wrong: list[list[tuple[int, int]]] = [[] for _ in factors]
    for channel in numpy.flatnonzero(faults).tolist():
        fraction, numbers = int(fractions[channel]), (left, multipliers[channel], rights[channel])
        found = _replaced(stairs, channel, partial(_rounded_at, unit, fraction, *numbers))
        if found is None or len(found) > MOST_REPLACED:
            return None
        wrong[channel] = [(unit * each + fraction, unit * other + fraction) for each, other in found]
    pairs = numpy.zeros((max(map(len, wrong), default=0), len(factors), 2), numpy.int64)
    for channel, replaced in enumerate(wrong):
        pairs[: len(replaced), channel] = numpy.array(replaced, numpy.int64).reshape(-1, 2)
    return RoundedForm(left, multipliers, rights, pairs[..., 0], pairs[..., 1])


def _best(
    stairs: Staircase, factors: numpy.ndarray, left: int, sums: Callable[[numpy.ndarray], numpy.ndarray]
) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Returns multiplier and shift of each channel with the fewest steps at wrong accumulators, and the number of these."""
    mantissas, exponents = numpy.frexp(factors.astype(numpy.float64))
    exact, rights = (mantissas * 2.0**PRODUCT_BITS).astype(numpy.int64), left - exponents.astype(numpy.int64)
    candidates = [(exact >> drop, rights - drop) for drop in range(_EXACT)]
    candidates += [(numpy.clip(exact + nudge, 0, 2**PRODUCT_BITS - 1), rights) for nudge in _NUDGES]
    best, best_right, fewest = exact, numpy.zeros_like(rights), numpy.full(len(factors), 2 * len(LEVELS) + 1)
    at, before = (sums(numpy.clip(each, stairs.low[:, None], stairs.high[:, None])) for each in (stairs.steps, stairs.steps - 1))
    for multiplier, right in candidates:
        # A shift of 31 bits holds nothing of results below one half.
        multiplier, right = multiplier >> numpy.maximum(right - PRODUCT_BITS, 0), numpy.clip(right, 0, PRODUCT_BITS)
        reach = [_rounded(each, left, multiplier[:, None], right[:, None]) + stairs.zero_point >= LEVELS for each in (at, before)]
        faults = (~reach[0] & stairs.counts_at | reach[1] & stairs.counts_before).sum(axis=1)
        is_better = faults < fewest
        best, best_right = numpy.where(is_better, multiplier, best), numpy.where(is_better, right, best_right)
        fewest = numpy.minimum(faults, fewest)
        if not fewest.any():
            break
    return best, best_right, fewest


def _replaced(stairs: Staircase, channel: int, rounded: Callable[[numpy.ndarray], numpy.ndarray]) -> list[tuple[int, int]] | None:
    """Returns the accumulators with a wrong level, each with one that has its level; None if a step is too far away."""
    low, high, steps = stairs.low[channel], stairs.high[channel], stairs.steps[channel]
    near = numpy.clip(steps[:, None] + _NEAR, low, high)
    is_wrong = (rounded(near) + stairs.zero_point >= LEVELS[:, None]) != (near >= steps[:, None])
    if is_wrong[:, [0, -1]].any():
        return None
    pairs = []
    for wrong in numpy.unique(near[is_wrong]):
        others = numpy.unique(numpy.clip(wrong + _NEXT, low, high))
        levels = numpy.clip(rounded(others) + stairs.zero_point, -128, 127)
        fitting = others[levels == (steps <= wrong).sum() - 128]
        if not fitting.size:
            return None
        pairs.append((int(wrong), int(fitting[0])))
    return pairs


def _rounded_at(unit: int, fraction: int, left: int, multiplier: int, right: int, accumulators: numpy.ndarray) -> numpy.ndarray:
    return _rounded(unit * accumulators + fraction, left, multiplier, right)


def _rounded(sums: numpy.ndarray, left: int, multipliers, rights) -> numpy.ndarray:
    return _to_even(_to_even((sums << left) * multipliers, PRODUCT_BITS), rights)


def _to_even(values: numpy.ndarray, bits) -> numpy.ndarray:
    """Returns values / 2^bits, rounded to integers, ties to even."""
    half = numpy.left_shift(1, bits) >> 1
    return (values + half - (bits != 0) + (values >> bits & (bits != 0))) >> bits
