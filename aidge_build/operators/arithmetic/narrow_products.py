# SPDX-License-Identifier: MIT
"""Requantization by two products modulo 2^32, used if it is proved equal to the float32 formula.

y = clamp(rint(float32(float32(acc) * M)) + zero point) is a step function of acc (`thresholds`). Accumulators below its first
step and above its last step are clamped there; between them, v = acc - start counts from 0 to a width of at most 2^(32 - bits) -
1, and

    y = the top byte of v * (m >> bits) + ((v * (m & (2^bits - 1))) >> bits) + constant, modulo 2^32

is a linear integer form with 24 + bits fraction bits, rounded down. Cores with the upper half of a product take

    y = the low byte of ((v * m >> bits) + constant) >> level_bits, modulo 2^32

with widths up to 2^bits - 1, as v << (32 - bits) times m has v * m >> bits in its upper half. A form gives the same y for every
accumulator if it passes between the same neighbours at every step. The search finds the form with the widest margin, so it misses
none. Sums at or near a tie are rounded to the even level, which may exclude every form. Then a form may remain that is wrong for
a few accumulators, or for all with one remainder modulo a power of two (with a multiplier such as 3 / 256 every 512th sum is a
tie): these accumulators are known, and corrected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.thresholds import LEVELS, Staircase

LEVEL_BITS = 24  # fraction bits of the sum, below the byte that is stored
BITS = (16, 14, 12, 10, 8, 6, 4, 2, 0)
MOST_EXCEPTIONS = 130  # of a channel
MOST_SLOPE = 256  # levels in a step of the accumulator: beyond it no level has a step of its own
_WORD = 1 << 32


@dataclass(frozen=True)
class Correction:
    """If v is in 0..width and (v - value) << shift is 0 modulo 2^32, `delta` is added to the level of the form."""

    value: int
    shift: int
    delta: int

    def shifted(self, shift: int = 0) -> tuple[int, int, int]:
        """Returns value, shift and delta for v << shift, which must fit 32 bits."""
        return self.value << shift, max(self.shift - shift, 0), self.delta


@dataclass(frozen=True, eq=False)
class NarrowForm:
    """Per channel, int64: y = `apply`(acc) for every accumulator of its range, if `proved`.

    All accumulators below `starts` give the lowest level of the clamp, all above starts + widths give the highest level.
    """

    bits: int
    level_bits: int
    is_upper: bool  # made for the upper half of a product
    starts: numpy.ndarray
    widths: numpy.ndarray
    multipliers: numpy.ndarray
    constants: numpy.ndarray
    proved: numpy.ndarray
    corrections: tuple[tuple[Correction, ...], ...]  # of each channel
    clamp: tuple[int, int]

    def apply(self, channel: int, accumulators: numpy.ndarray) -> numpy.ndarray:
        """Returns the stored values of int64 accumulators of one channel, as the kernels compute them."""
        v = accumulators - self.starts[channel]
        multiplier = int(self.multipliers[channel])
        inside = numpy.clip(v, 0, self.widths[channel])
        total = ((inside * multiplier >> self.bits) + int(self.constants[channel])) % _WORD
        levels = total >> self.level_bits
        for each in self.corrections[channel]:
            levels = levels + each.delta * (((inside - each.value) << each.shift) % _WORD == 0)
        levels = ((levels & 255) ^ 128) - 128
        return numpy.where(v < 0, self.clamp[0], numpy.where(v > self.widths[channel], self.clamp[1], levels))


def narrow_form(stairs: Staircase, clamp: tuple[int, int], upper: tuple[int, ...] = ()) -> NarrowForm:
    """Returns the form of all channels, with the most fraction bits that hold the widest range of steps and the largest
    multiplier. `upper`: for a core with the upper half of a product, the bits to choose from, rising: the fewest that hold the
    widest range of steps."""
    low, high = stairs.low, stairs.high
    lowest, highest = (numpy.clip((stairs.steps <= end[:, None]).sum(axis=1) - 128, *clamp) for end in (low, high))
    rises = highest > lowest
    starts = numpy.where(rises & (lowest == clamp[0]), _step(stairs, lowest + 1) - 1, low)
    ends = numpy.where(highest == clamp[1], numpy.where(rises, _step(stairs, highest), low), high)
    widths = ends - starts
    slopes = stairs.slopes
    bits, level_bits, most = _fraction(widths.max(initial=0), slopes.max(initial=0), upper)
    is_level = (LEVELS > lowest[:, None]) & (LEVELS <= highest[:, None])
    unit = 1 << (level_bits + bits)
    # At points `at` the form has reached `bounds`; at `before` it is still below `limits`.
    at = numpy.where(is_level, stairs.steps - starts[:, None], 0)
    bounds = numpy.where(is_level, LEVELS, lowest[:, None]) * unit
    before = numpy.where(is_level, stairs.steps - starts[:, None] - 1, widths[:, None])
    limits = numpy.where(is_level, LEVELS, highest[:, None] + 1) * unit
    # Levels may be left out, the ends must hold.
    at, bounds = _with(at, 0), _with(bounds, lowest * unit)
    before, limits = _with(before, widths), _with(limits, (highest + 1) * unit)
    multipliers = _widest(at, bounds, before, limits, numpy.where(slopes < MOST_SLOPE, slopes, 0) * unit)
    least, beyond = _interval(at, bounds, before, limits, multipliers)
    constants = -(-least >> bits)  # rounded up
    possible = (multipliers < _WORD) & (widths < most)
    proved = (constants << bits < beyond) & possible
    corrections: list[tuple[Correction, ...]] = [()] * len(proved)
    for channel in numpy.flatnonzero(possible & ~proved & (multipliers > 0)).tolist():
        limits_of, found = (int(lowest[channel]), int(highest[channel])), []
        for multiplier in {int(multipliers[channel]), round(slopes[channel] * unit)}:
            constant = _fewest_faults(at, bounds, before, limits, channel, multiplier, bits)
            needed = _corrections(
                stairs.steps[channel] - starts[channel], int(widths[channel]), limits_of, multiplier, constant, unit
            )
            if needed is not None:
                found.append((len(needed), multiplier, constant, needed))
        if found:
            _, multipliers[channel], constant, corrections[channel] = min(found, key=lambda entry: entry[:2])
            constants[channel], proved[channel] = constant >> bits, True
    return NarrowForm(
        bits, level_bits, bool(upper), starts, widths, multipliers, constants % _WORD, proved, tuple(corrections), clamp
    )


def _fraction(width: int, slope: float, upper: tuple[int, ...]) -> tuple[int, int, int]:
    """Returns the bits and level bits of a form, and the width that is too much for it, for the largest width and slope."""
    if not upper:
        bits = next((bits for bits in BITS if width < 1 << (32 - bits) and slope < 2.0 ** (7 - bits)), 0)
        return bits, LEVEL_BITS, 1 << (32 - bits)
    bits = next((bits for bits in upper if width < 1 << bits), upper[-1])
    free = math.ceil(32 - bits - math.log2(min(slope, MOST_SLOPE))) - 1 if slope else LEVEL_BITS
    return bits, max(0, min(LEVEL_BITS, free)), 1 << bits


def _fewest_faults(at, bounds, before, limits, channel: int, multiplier: int, bits: int) -> int:
    """Returns the constant, a multiple of 2^bits, with which the form keeps most steps."""
    least = -(-(bounds[channel] - multiplier * at[channel]) >> bits)
    most = (limits[channel] - multiplier * before[channel] - 1) >> bits
    candidates = numpy.unique(numpy.concatenate([least, most]).clip(least[-1], max(least[-1], most[-1])))  # the ends must hold
    least.sort(), most.sort()
    faults = len(least) - numpy.searchsorted(least, candidates, "right") + numpy.searchsorted(most, candidates, "left")
    return int(candidates[faults.argmin()]) << bits


def _corrections(
    steps: numpy.ndarray, width: int, ends: tuple[int, int], multiplier: int, constant: int, unit: int
) -> tuple[Correction, ...] | None:
    """Returns all corrections of the form; None if there are too many.

    steps: the smallest v of each level; ends: the levels of 0 and width.
    """
    lowest, highest = ends
    if not lowest <= constant // unit or not (multiplier * width + constant) // unit <= highest:
        return None
    values: set[int] = set()
    for level in range(lowest + 1, highest + 1):
        here, there = int(steps[level - int(LEVELS[0])]), -((constant - level * unit) // multiplier)
        first, end = sorted((here, min(max(there, 0), width + 1)))
        if end - first > MOST_EXCEPTIONS:
            return None
        values.update(range(first, end))
    if len(values) > MOST_EXCEPTIONS:
        return None
    wrong = numpy.array(sorted(values), numpy.int64)
    levels = numpy.clip((steps[None, :] <= wrong[:, None]).sum(axis=1) - 128, lowest, highest)
    deltas = levels - (multiplier * wrong + constant) // unit
    return _as_remainder(wrong, deltas, width) or tuple(
        Correction(value, 0, delta) for value, delta in zip(wrong.tolist(), deltas.tolist())
    )


def _as_remainder(wrong: numpy.ndarray, deltas: numpy.ndarray, width: int) -> tuple[Correction, ...]:
    """Returns one correction if these are all v with one remainder modulo a power of two, else ()."""
    if len(wrong) < 2 or (deltas != deltas[0]).any():
        return ()
    step = int(numpy.gcd.reduce(numpy.diff(wrong)))
    step &= -step
    first = int(wrong[0]) % step
    if step == 1 or not numpy.array_equal(wrong, numpy.arange(first, width + 1, step)):
        return ()
    return (Correction(first, 33 - step.bit_length(), int(deltas[0])),)


def _step(stairs: Staircase, levels: numpy.ndarray) -> numpy.ndarray:
    places = numpy.clip(levels - int(LEVELS[0]), 0, len(LEVELS) - 1)
    return stairs.steps[numpy.arange(len(levels)), places]


def _with(columns: numpy.ndarray, more) -> numpy.ndarray:
    return numpy.concatenate([columns, numpy.broadcast_to(more, len(columns))[:, None]], axis=1)


def _interval(at, bounds, before, limits, multipliers) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the interval of constants (least, first beyond) for a form with this multiplier."""
    slope = multipliers[:, None]
    return (bounds - slope * at).max(axis=1), (limits - slope * before).min(axis=1)


def _widest(at, bounds, before, limits, around: numpy.ndarray) -> numpy.ndarray:
    """Returns the multiplier near `around` with the longest interval of constants; the length is concave in the multiplier."""
    below, above = numpy.floor(around / 2).astype(numpy.int64), numpy.ceil(around * 2).astype(numpy.int64)
    above = numpy.maximum(below, numpy.minimum(above, _WORD - 1))
    while (above > below).any():
        middle = (below + above) >> 1
        here, there = (
            beyond - least for least, beyond in (_interval(at, bounds, before, limits, each) for each in (middle, middle + 1))
        )
        rises = there > here
        below, above = numpy.where(rises, middle + 1, below), numpy.where(rises, above, middle)
        below = numpy.minimum(below, above)
    return below
