# SPDX-License-Identifier: MIT
"""Requantization in one addition and one fused multiply-add, used if it is proved equal to the exact formula.

Between 2^23 and 2^24 the float32 numbers are the integers. So the bits of the float 2^23 + offset, plus an accumulator added as
an integer, are the float 2^23 + offset + accumulator. This float times the multiplier plus a constant, rounded once, ties to
even, is an integer of the same range; its low 16 bits are the level. The offset moves the product by offset * multiplier: the
constant takes back the whole levels, and the search looks for an offset with a remaining fraction that is right at every step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from .thresholds import LEVELS, Staircase, first_multiple_within

INTEGERS = 1 << 23  # from here to twice this, floats are the integers
FLOAT_BITS = 0x4B000000  # of 2^23
CONSTANT_BITS = 0x4B010000  # of the constants: their low 16 bits are free
WORD = 1 << 16
MANTISSA_BITS = 24
FEWEST_FRACTION_BITS = 26  # of multipliers: products then leave room for the constant below 2^24
MOST_FRACTION_BITS = 46  # products with levels then fit 63 bits
MOST_LEVELS = (1 << 15) - 256


@dataclass(frozen=True, eq=False)
class FusedForm:
    """Per channel: y = sat8(low 16 bits of float(bits of 2^23 + offset + acc) * multiplier + constant), where `is_proved`.

    `constants` are the low 16 bits of floats; the upper bits come from `CONSTANT_BITS`.
    """

    offsets: numpy.ndarray
    multipliers: numpy.ndarray
    constants: numpy.ndarray
    is_proved: numpy.ndarray

    def apply(self, channel: int, accumulators: numpy.ndarray) -> numpy.ndarray:
        """Returns the result of the formula for int64 accumulators of one channel."""
        factor, bits = (int(part[0]) for part in integers_of(self.multipliers[[channel]]))
        products = (INTEGERS + int(self.offsets[channel]) + accumulators) * factor
        constant = CONSTANT_BITS - FLOAT_BITS + int(self.constants[channel])
        whole, rest, half = products >> bits, products & (1 << bits) - 1, 1 << bits - 1
        whole = whole + INTEGERS + constant
        rounded = whole + ((rest > half) | (rest == half) & (whole % 2 == 1))
        return numpy.clip((rounded + (WORD >> 1)) % WORD - (WORD >> 1), -128, 127)


def integers_of(multipliers: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns (factors, bits), int64, of float32 numbers that are factor / 2^bits."""
    mantissas, exponents = numpy.frexp(multipliers.astype(numpy.float64))
    return (mantissas * (1 << MANTISSA_BITS)).astype(numpy.int64), MANTISSA_BITS - exponents.astype(numpy.int64)


def fused_form(stairs: Staircase) -> FusedForm:
    """Returns offsets and constants for all channels: with the exact multiplier, else with the slope that leaves most room."""
    count = len(stairs.low)
    form = FusedForm(
        numpy.zeros(count, numpy.int64),
        stairs.slopes.astype(numpy.float32),
        numpy.zeros(count, numpy.int64),
        numpy.zeros(count, bool),
    )
    _search(stairs, form, numpy.arange(count))
    open_channels = numpy.flatnonzero(~form.is_proved)
    if len(open_channels):
        form.multipliers[open_channels] = stairs.roomiest_slope[open_channels]
        _search(stairs, form, open_channels)
    return form


def _search(stairs: Staircase, form: FusedForm, channels: numpy.ndarray) -> None:
    """Fills `form` for the `channels` that can be proved with its multipliers."""
    factors, bits = integers_of(form.multipliers[channels])
    is_usual = (factors != 0) & (bits >= FEWEST_FRACTION_BITS) & (bits <= MOST_FRACTION_BITS)
    channels, factors, bits = channels[is_usual], factors[is_usual], bits[is_usual]
    lowest, highest = _room(stairs.of(channels), factors, bits)
    for channel, factor, scale, least, most in zip(
        channels.tolist(), factors.tolist(), (1 << bits).tolist(), lowest.tolist(), highest.tolist()
    ):
        low, high = int(stairs.low[channel]), int(stairs.high[channel])
        if least > most or max(abs(low), abs(high)) * factor // scale > MOST_LEVELS:
            continue
        first = INTEGERS - low
        more = first_multiple_within(factor, scale, least - first * factor, most - first * factor)
        if more is None or first + more + high >= 2 * INTEGERS:
            continue
        product = (first + more) * factor
        whole = (product - least) // scale  # of the levels by which the line is moved
        constant = (stairs.zero_point - whole) % WORD
        form.offsets[channel], form.constants[channel], form.is_proved[channel] = first + more - INTEGERS, constant, True


def _room(stairs: Staircase, factors: numpy.ndarray, bits: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns (lowest, highest) fraction, in units of 2^-bits, by which acc * factor may be moved; lowest > highest if there is
    none.

    A level is reached above the tie below it, and at this tie if the level is even. The move never exceeds one level.
    """
    is_odd = LEVELS % 2
    halves = (2 * (LEVELS - stairs.zero_point) - 1) * (1 << bits - 1)[:, None]
    far = 1 << 61
    at = numpy.where(stairs.counts_at, halves + is_odd - stairs.steps * factors[:, None], -far)
    before = numpy.where(stairs.counts_before, halves - 1 + is_odd - (stairs.steps - 1) * factors[:, None], far)
    most = before.min(axis=1)
    lowest = numpy.maximum(at.max(axis=1), numpy.minimum(most, 0) - (1 << bits))
    return lowest, numpy.minimum(most, lowest + (1 << bits))
