# SPDX-License-Identifier: MIT
"""Requantization in two integer instructions, used where it is proved equal to the float32 formula.

y = clamp(rint(float32(float32(acc) * M)) + zero point) is a staircase in acc with at most 255 steps. A multiplier m (and an
offset) whose straight line passes between the same neighbouring accumulators at every step gives the same y for every
accumulator of the range: that is the whole proof, and the search for m is an intersection of intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.arithmetic.requantize import requantize

LEVELS = numpy.arange(-127, 128, dtype=numpy.int64)  # the steps: y >= level
MOST_MULTIPLIER = (1 << 31) - 1
FRACTIONS = 512  # of an accumulator step, by which the line is moved
MOVES_TRIED = 40
EXTRAS = numpy.arange(1 << 13, dtype=numpy.int64)  # accumulator steps that, with a constant, make a fraction of a step
_NONE = 0


@dataclass(frozen=True, eq=False)
class Staircase:
    """Per channel the smallest accumulator with y >= level, within low..high + 1; int64 [channels, 255]."""

    steps: numpy.ndarray
    low: numpy.ndarray
    high: numpy.ndarray
    multipliers: numpy.ndarray
    zero_point: int

    def of(self, channels) -> Staircase:
        """Only these channels."""
        return Staircase(
            self.steps[channels], self.low[channels], self.high[channels], self.multipliers[channels], self.zero_point
        )


def staircase(multipliers: numpy.ndarray, zero_point: int, low: numpy.ndarray, high: numpy.ndarray) -> Staircase:
    """The steps of the exact formula for accumulators low..high of each channel, by bisection (the formula is monotone)."""
    factors = numpy.asarray(multipliers, numpy.float32)[:, None]

    def reached(accumulators: numpy.ndarray) -> numpy.ndarray:
        return requantize(accumulators, factors, zero_point, -128, 127) >= LEVELS

    below = numpy.repeat(low[:, None] - 1, len(LEVELS), 1)
    above = numpy.repeat(high[:, None] + 1, len(LEVELS), 1)
    while (above - below > 1).any():  # below is not reached (or under the range), above is (or over it)
        middle = (below + above + 1) >> 1  # above, where it is found
        hit = reached(middle)
        above, below = numpy.where(hit, middle, above), numpy.where(hit, below, middle)
    return Staircase(above, low, high, multipliers, zero_point)


@dataclass(frozen=True, eq=False)
class LowForm:
    """Per channel: y = sat8((hi32((acc + extra) * multiplier) + constant) >> shift) over the whole range; multiplier 0 where
    nothing is proved."""

    multipliers: numpy.ndarray
    extras: numpy.ndarray
    constants: numpy.ndarray

    def apply(self, channel: int, accumulators: numpy.ndarray, shift: int) -> numpy.ndarray:
        """The formula, for int64 accumulators of one channel."""
        products = (accumulators + int(self.extras[channel])) * int(self.multipliers[channel])
        return numpy.clip(((products >> 32) + int(self.constants[channel])) >> shift, -128, 127)


@dataclass(frozen=True, eq=False)
class HighForm:
    """Per channel: y = sat8(hi32((scale * acc + offset) * multiplier) >> shift) over the whole range; multiplier 0 where nothing
    is proved."""

    multipliers: numpy.ndarray
    offsets: numpy.ndarray

    def apply(self, channel: int, accumulators: numpy.ndarray, shift: int, scale: int = 256) -> numpy.ndarray:
        """The formula, for int64 accumulators of one channel."""
        products = (scale * accumulators + int(self.offsets[channel])) * int(self.multipliers[channel])
        return numpy.clip((products >> 32) >> shift, -128, 127)


def low_form(stairs: Staircase, shift: int, is_tuned: bool = True) -> LowForm:
    """Multipliers for accumulators as they are.

    The line first crosses the half steps exactly. Where float rounding to even has moved a step, the line must be moved by a
    fraction of an accumulator step: `is_tuned` finds an extra and a constant whose sum is near that fraction.
    """
    count = len(stairs.low)
    found, extras = numpy.zeros(count, numpy.int64), numpy.zeros(count, numpy.int64)
    constants = numpy.full(count, rounding_constant(stairs.zero_point, shift), numpy.int64)
    open_channels = numpy.arange(count)
    for fraction in (0, *_alternating(MOVES_TRIED)) if is_tuned else (0,):
        if not len(open_channels):
            break
        part = stairs.of(open_channels)
        slope = part.multipliers.astype(numpy.float64)
        if fraction:
            wanted = stairs.zero_point + 0.5 + fraction / FRACTIONS * slope
            candidates = numpy.rint((wanted[:, None] - EXTRAS * slope[:, None]) * 2.0**shift)
            best = numpy.abs(candidates * 2.0**-shift + EXTRAS * slope[:, None] - wanted[:, None]).argmin(axis=1)
            extra, constant = (
                EXTRAS[best],
                candidates[numpy.arange(len(best)), best].clip(-(1 << 30), 1 << 30).astype(numpy.int64),
            )
        else:
            extra, constant = extras[open_channels], constants[open_channels]
        scaled = part.steps + extra[:, None]
        multipliers = _multipliers(scaled, scaled - 1, ((LEVELS << shift) - constant[:, None]) << 32, part)
        found[open_channels], extras[open_channels], constants[open_channels] = multipliers, extra, constant
        open_channels = open_channels[multipliers == _NONE]
    return LowForm(found, extras, constants)


def rounding_constant(zero_point: int, shift: int) -> int:
    """The zero point and one half."""
    return (zero_point << shift) + (1 << shift >> 1)


def high_form(stairs: Staircase, shift: int, scale: int = 256) -> HighForm:
    """Multipliers for accumulators that carry fraction bits, so that the offset moves the line by a fraction of a step."""
    count = len(stairs.low)
    found, offsets = numpy.zeros(count, numpy.int64), numpy.zeros(count, numpy.int64)
    with numpy.errstate(divide="ignore", over="ignore"):
        exact = (stairs.zero_point + 0.5) / stairs.multipliers.astype(numpy.float64) * scale
    open_channels = numpy.flatnonzero(numpy.abs(exact) < 1 << 31)
    for nudge in (0, *_alternating(2 * MOVES_TRIED)):
        if not len(open_channels):
            break
        part = stairs.of(open_channels)
        offset = numpy.rint(exact[open_channels]).astype(numpy.int64) + nudge
        fits = numpy.maximum(numpy.abs(scale * part.low + offset), numpy.abs(scale * part.high + offset)) < 1 << 31
        scaled = scale * part.steps + offset[:, None]
        multipliers = numpy.where(fits, _multipliers(scaled, scaled - scale, (LEVELS << shift) << 32, part), _NONE)
        found[open_channels], offsets[open_channels] = multipliers, offset
        open_channels = open_channels[multipliers == _NONE]
    return HighForm(found, numpy.where(found == _NONE, 0, offsets))


def _alternating(most: int) -> list[int]:
    """1, -1, 2, -2, ...: steps lie close to each other, so that small moves find most."""
    return [sign * size for size in range(1, most) for sign in (1, -1)]


def _multipliers(at: numpy.ndarray, before: numpy.ndarray, bounds: numpy.ndarray, stairs: Staircase) -> numpy.ndarray:
    """m in 1..2^31-1 with at * m >= bounds and before * m < bounds at every step inside the range; 0 where there is none."""
    bounds = numpy.broadcast_to(bounds, at.shape)
    counts_at, counts_before = stairs.steps <= stairs.high[:, None], stairs.steps > stairs.low[:, None]
    safe_at, safe_before = numpy.where(at == 0, 1, at), numpy.where(before == 0, 1, before)
    floor_at, floor_before = bounds // safe_at, bounds // safe_before
    ceiling_at, ceiling_before = -(-bounds // safe_at), -(-bounds // safe_before)
    least = numpy.maximum(
        _most(numpy.where(counts_at & (at > 0), ceiling_at, 1)),
        _most(numpy.where(counts_before & (before < 0), floor_before + 1, 1)),
    )
    most = numpy.minimum(
        _least(numpy.where(counts_at & (at < 0), floor_at, MOST_MULTIPLIER)),
        _least(numpy.where(counts_before & (before > 0), ceiling_before - 1, MOST_MULTIPLIER)),
    )
    impossible = (counts_at & (at == 0) & (bounds > 0)) | (counts_before & (before == 0) & (bounds <= 0))
    least = numpy.maximum(least, 1)
    return numpy.where((least <= most) & ~impossible.any(1), (least + most) // 2, _NONE)


def _most(values: numpy.ndarray) -> numpy.ndarray:
    return values.max(axis=1)


def _least(values: numpy.ndarray) -> numpy.ndarray:
    return numpy.minimum(values.min(axis=1), MOST_MULTIPLIER)
