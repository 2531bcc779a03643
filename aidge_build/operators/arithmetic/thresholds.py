# SPDX-License-Identifier: MIT
"""Requantization in two integer instructions, used if it is proved equal to the formula of the contract.

y = clamp(rounded(acc * M) + zero point) is a step function of acc with at most 255 thresholds, however the contract rounds. A
linear integer form with multiplier m (and an offset) gives the same y for every accumulator of the range if it crosses each level
between the same two neighbouring accumulators. This is the whole proof, and the search for m is an intersection of intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy

from aidge_build.operators.arithmetic.contracts import Requantization

LEVELS = numpy.arange(-127, 128, dtype=numpy.int64)  # the steps: y >= level
MOST_MULTIPLIER = (1 << 31) - 1
MOST_CUTS = 64  # of the search for the slope with most room; half a dozen are usual
MOST_EXTRA = 1 << 20  # accumulator steps that, with a constant, make a fraction of a step
MOST_CONSTANT = 1 << 30
MOST_ACCUMULATOR = (1 << 31) - 1
# Thresholds in the cache: the bands of a layer, and boards that are compiled for together, share them.
MOST_KNOWN = 32
_FAR = 1 << 61  # the bound of a move that no step bounds
_NONE = 0


Form = TypeVar("Form")


@dataclass(frozen=True, eq=False)
class Staircase:
    """Per channel the smallest accumulator with y >= level, within low..high + 1; int64 [channels, 255]."""

    steps: numpy.ndarray
    low: numpy.ndarray
    high: numpy.ndarray
    slopes: numpy.ndarray  # float64
    zero_point: int
    _forms: dict[tuple, object] = field(default_factory=dict, init=False, repr=False)

    def once(self, asked: tuple, made: Callable[[], Form]) -> Form:
        """Returns the form named `asked`, which is `made` on the first call; its arrays are read-only."""
        if asked not in self._forms:
            self._forms[asked] = made()
            for values in vars(self._forms[asked]).values():
                values.setflags(write=False)
        return self._forms[asked]  # type: ignore[return-value]

    @cached_property
    def counts_at(self) -> numpy.ndarray:
        """Whether the accumulator of a step is in the range; bool [channels, 255]."""
        return self.steps <= self.high[:, None]

    @cached_property
    def counts_before(self) -> numpy.ndarray:
        """Whether the accumulator before a step is in the range; bool [channels, 255]."""
        return self.steps > self.low[:, None]

    @cached_property
    def roomiest_slope(self) -> numpy.ndarray:
        """Per channel the slope, from 0 to 4 times the real slope, with which acc * slope + move allows the longest interval of
        moves; float64.

        At a slope, `move` must be at least max(level - acc * slope) over the accumulators at steps, and less than the minimum of
        level - acc * slope over the accumulators before steps. The difference is concave and piecewise linear. The next slope is
        the intersection of the pieces at two slopes on either side of the maximum (Kelley's cutting planes), until no piece is
        new.
        """
        at, before = self.steps.astype(numpy.float64), self.steps - 1.0
        rows = numpy.arange(len(at))

        def piece(slope: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
            lowest = numpy.where(self.counts_at, LEVELS - at * slope[:, None], -numpy.inf).argmax(axis=1)
            highest = numpy.where(self.counts_before, LEVELS - before * slope[:, None], numpy.inf).argmin(axis=1)
            rise = at[rows, lowest] - before[rows, highest]
            return rise, (LEVELS[highest] - LEVELS[lowest]).astype(numpy.float64)

        most = 4 * self.slopes
        (left_rise, left_room), (right_rise, right_room) = piece(numpy.zeros(len(at))), piece(most)
        slope = most
        for _ in range(MOST_CUTS):
            with numpy.errstate(divide="ignore", invalid="ignore"):
                meeting = (right_room - left_room) / (left_rise - right_rise)
            is_between = (left_rise > 0) & (right_rise < 0)
            slope = numpy.where(is_between, meeting, numpy.where(right_rise < 0, 0, most))
            rise, room = piece(slope)
            is_new = is_between & (((rise > 0) & (rise != left_rise)) | ((rise <= 0) & (rise != right_rise)))
            if not is_new.any():
                break
            is_left = is_new & (rise > 0)
            left_rise, left_room = numpy.where(is_left, rise, left_rise), numpy.where(is_left, room, left_room)
            is_right = is_new & (rise <= 0)
            right_rise, right_room = numpy.where(is_right, rise, right_rise), numpy.where(is_right, room, right_room)
        return slope

    def of(self, channels) -> Staircase:
        """Returns the thresholds of these channels."""
        return Staircase(self.steps[channels], self.low[channels], self.high[channels], self.slopes[channels], self.zero_point)


def staircase(
    requantization: Requantization,
    zero_point: int,
    low: numpy.ndarray,
    high: numpy.ndarray,
    fractions: numpy.ndarray | int = 0,
    unit: int = 1,
) -> Staircase:
    """Returns the thresholds of the exact formula for accumulators low..high of each channel, by bisection (the formula is
    monotone).

    `fractions` [channels] are integers in 0..unit - 1, `unit` is a power of two: the factor of each channel scales unit *
    accumulator + fraction.
    """
    fractions = numpy.broadcast_to(fractions, low.shape)
    numbers = requantization.numbers, requantization.slopes, low, high, fractions
    content = tuple((each.dtype.str, each.shape, each.tobytes()) for each in numbers)
    return _staircase(_Asked((type(requantization), zero_point, unit, content), requantization, low, high, fractions))


@dataclass(frozen=True)
class _Asked:
    """The inputs of `staircase`; equal if their `content` is equal."""

    content: tuple
    requantization: Requantization = field(compare=False)
    low: numpy.ndarray = field(compare=False)
    high: numpy.ndarray = field(compare=False)
    fractions: numpy.ndarray = field(compare=False)


@lru_cache(MOST_KNOWN)
def _staircase(asked: _Asked) -> Staircase:
    requantization, low, high = asked.requantization, asked.low, asked.high
    _, zero_point, unit, _ = asked.content
    added = asked.fractions[:, None]

    def reached(accumulators: numpy.ndarray) -> numpy.ndarray:
        return requantization.levels(accumulators * unit + added, 0, zero_point, -128, 127) >= LEVELS

    return Staircase(first_reaching(reached, low, high, len(LEVELS)), low, high, unit * requantization.slopes, zero_point)


def first_reaching(
    reached: Callable[[numpy.ndarray], numpy.ndarray], low: numpy.ndarray, high: numpy.ndarray, levels: int
) -> numpy.ndarray:
    """Returns per channel and level the smallest sum within low..high that reaches the level, high + 1 if none does, by
    bisection.

    `reached` returns for sums [channels, levels] whether each reaches the level of its column; it is monotone.
    """
    below = numpy.repeat(low[:, None] - 1, levels, 1)
    above = numpy.repeat(high[:, None] + 1, levels, 1)
    while (above - below > 1).any():  # below does not reach it (or is under the range), above does (or is over it)
        middle = (below + above + 1) >> 1  # `above` if it is found
        hit = reached(middle)
        above, below = numpy.where(hit, middle, above), numpy.where(hit, below, middle)
    return above


@dataclass(frozen=True, eq=False)
class LowForm:
    """Per channel: y = sat8((hi32((acc + extra) * multiplier) + constant) >> shift) over the whole range; multiplier 0: not
    proved."""

    multipliers: numpy.ndarray
    extras: numpy.ndarray
    constants: numpy.ndarray

    def apply(self, channel: int, accumulators: numpy.ndarray, shift: int) -> numpy.ndarray:
        """The formula, for int64 accumulators of one channel."""
        products = (accumulators + int(self.extras[channel])) * int(self.multipliers[channel])
        return numpy.clip(((products >> 32) + int(self.constants[channel])) >> shift, -128, 127)


@dataclass(frozen=True, eq=False)
class HighForm:
    """Per channel: y = sat8(hi32((scale * acc + offset) * multiplier) >> shift) over the whole range; multiplier 0: not
    proved."""

    multipliers: numpy.ndarray
    offsets: numpy.ndarray

    def apply(self, channel: int, accumulators: numpy.ndarray, shift: int, scale: int = 256) -> numpy.ndarray:
        """The formula, for int64 accumulators of one channel."""
        products = (scale * accumulators + int(self.offsets[channel])) * int(self.multipliers[channel])
        return numpy.clip((products >> 32) >> shift, -128, 127)


def low_form(stairs: Staircase, shift: int, is_tuned: bool = True) -> LowForm:
    """Returns multipliers for plain accumulators.

    The first candidate crosses the ties exactly: extra 0, `rounding_constant`. If float rounding to even has moved a step, such a
    form need not exist: `is_tuned` then takes the slope with most room, and an extra and a constant within the room.
    """
    return stairs.once(("low", shift, is_tuned), lambda: _low_form(stairs, shift, is_tuned))


def _low_form(stairs: Staircase, shift: int, is_tuned: bool) -> LowForm:
    count = len(stairs.low)
    extras = numpy.zeros(count, numpy.int64)
    constants = numpy.full(count, rounding_constant(stairs.zero_point, shift), numpy.int64)
    found = _multipliers(stairs.steps, stairs.steps - 1, ((LEVELS << shift) - constants[:, None]) << 32, stairs)
    open_channels = numpy.flatnonzero((found == _NONE) & is_tuned)
    if len(open_channels):
        for channel, multiplier, lowest, highest in zip(open_channels, *_room(stairs, open_channels, 1, shift)):
            extra = first_multiple_within(int(multiplier), 1 << 32, int(lowest), int(highest)) if lowest <= highest else None
            if extra is None or extra > min(MOST_EXTRA, MOST_ACCUMULATOR - stairs.high[channel]):
                continue
            constant = -((extra * int(multiplier) - int(lowest)) >> 32)
            if abs(constant) <= MOST_CONSTANT:
                found[channel], extras[channel], constants[channel] = multiplier, extra, constant
    return LowForm(found, extras, constants)


def first_multiple_within(factor: int, modulus: int, low: int, high: int) -> int | None:
    """Returns the smallest n >= 0 with n * factor, modulo `modulus` > 0, in low..high modulo `modulus`; None if there is none.

    As in Euclid's algorithm: in n * factor = turns * modulus + rest the turns solve the same problem modulo `factor`.
    """
    if high - low >= modulus - 1 or low % modulus > high % modulus:  # 0 is within
        return 0
    low, high, factor = low % modulus, high % modulus, factor % modulus
    if low == 0:
        return 0
    if factor == 0:
        return None
    if 2 * factor > modulus:
        return first_multiple_within(modulus - factor, modulus, modulus - high, modulus - low)
    first = -(-low // factor)
    if first * factor <= high:
        return first
    turns = first_multiple_within(-modulus, factor, low, high)
    return None if turns is None else -(-(low + turns * modulus) // factor)


def rounding_constant(zero_point: int, shift: int) -> int:
    """Returns the zero point and one half."""
    return (zero_point << shift) + (1 << shift >> 1)


def high_form(stairs: Staircase, shift: int, scale: int = 256, added: int = 0) -> HighForm:
    """Returns multipliers for accumulators with fraction bits, so that the offset moves the result by a fraction of a step. The
    form gives y + `added`, for y before the limits of int8."""
    return stairs.once(("high", shift, scale, added), lambda: _high_form(stairs, shift, scale, added))


def _high_form(stairs: Staircase, shift: int, scale: int, added: int) -> HighForm:
    count = len(stairs.low)
    found, offsets = numpy.zeros(count, numpy.int64), numpy.zeros(count, numpy.int64)
    with numpy.errstate(divide="ignore", over="ignore"):
        exact = (stairs.zero_point + added + 0.5) / stairs.slopes * scale
    near = numpy.flatnonzero(numpy.abs(exact) < 1 << 31)
    part = stairs.of(near)
    offsets[near] = numpy.rint(exact[near]).astype(numpy.int64)
    scaled = scale * part.steps + offsets[near, None]
    found[near] = _multipliers(scaled, scaled - scale, (LEVELS + added << shift) << 32, part)
    open_channels = near[found[near] == _NONE]
    if len(open_channels):
        multipliers, lowest, highest = _room(stairs, open_channels, scale, shift, added)
        first, last = -(-lowest // multipliers), highest // multipliers
        is_hit = (lowest <= highest) & (first <= last)
        found[open_channels[is_hit]], offsets[open_channels[is_hit]] = multipliers[is_hit], ((first + last) >> 1)[is_hit]
    fits = numpy.maximum(numpy.abs(scale * stairs.low + offsets), numpy.abs(scale * stairs.high + offsets)) < 1 << 31
    found = numpy.where(fits, found, _NONE)
    return HighForm(found, numpy.where(found == _NONE, 0, offsets))


def _room(
    stairs: Staircase, channels: numpy.ndarray, scale: int, shift: int, added: int = 0
) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Returns (m, lowest, highest) for each of `channels`: scale * acc * m + move is right for moves from lowest to highest.

    m is the multiplier with most room, next to `roomiest_slope`; lowest > highest if no move is right.
    """
    wanted = numpy.floor(stairs.roomiest_slope[channels] * 2.0 ** (32 + shift) / scale)
    part = stairs.of(channels)
    rooms = []
    for more in (0, 1):
        multipliers = numpy.clip(wanted + more, 1, MOST_MULTIPLIER).astype(numpy.int64)
        bounds, slopes = (LEVELS + added << shift) << 32, scale * multipliers[:, None]
        lowest = numpy.where(part.counts_at, bounds - part.steps * slopes, -_FAR).max(axis=1)
        highest = numpy.where(part.counts_before, bounds - (part.steps - 1) * slopes, _FAR).min(axis=1) - 1
        rooms.append((multipliers, lowest, highest))
    is_second = rooms[1][2] - rooms[1][1] > rooms[0][2] - rooms[0][1]
    return tuple(numpy.where(is_second, second, first) for first, second in zip(*rooms))


def _multipliers(at: numpy.ndarray, before: numpy.ndarray, bounds: numpy.ndarray, stairs: Staircase) -> numpy.ndarray:
    """Returns m in 1..2^31-1 with at * m >= bounds and before * m < bounds at every step inside the range; 0 if there is none."""
    bounds = numpy.broadcast_to(bounds, at.shape)
    counts_at, counts_before = stairs.counts_at, stairs.counts_before
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
