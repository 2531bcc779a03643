# SPDX-License-Identifier: MIT
"""Softmax on quantized values in integers: a table of exponentials, their sum, and one exact rounded quotient.

With k = (largest stored value of the row) - q >= 0 the real input is smaller than the largest one by k * s_x, so

    T[k] = rint(e^(-k * s_x) * 2^F)                                    for k = 0 .. 255
    S    = sum of T[k] over the row                                    exact
    y    = saturate(rint_half_even(T[k] / (S * s_y)) + zero point)     exact

The output scale is a float32, hence s_y = m * 2^e with integers m < 2^24 and e; so T / (S * s_y) is the quotient of the
two integers (T << shift) and S * factor, and the rounding is exact. `SoftmaxTable` chooses F so that both fit 64 unsigned
bits, and C with `uint64_t` gives the same bytes as Python. e^x is evaluated in decimal arithmetic with 40 digits, rounded
once to an integer: the table is the same on every machine. The error against real numbers is below
(1 + n * y) * 2^-F / s_y output steps for a row of n elements.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

import numpy

from aidge_build.base.errors import AidgeError

MOST_FRACTION_BITS = 30  # T[0] = 2^30 fits int32
LEAST_FRACTION_BITS = 16
STEP = 16  # between the first factors of exponentials
_LIMIT = 1 << 63  # one bit is left, so that twice a remainder fits uint64


@dataclass(frozen=True)
class SoftmaxTable:
    """`exponentials` T[0..255]; y = round((T << shift) / (S * factor)), all within uint64."""

    exponentials: tuple[int, ...]
    fraction_bits: int
    shift: int
    factor: int


def softmax_table(input_scale: float, output_scale: float, length: int, entries: int = 256) -> SoftmaxTable:
    """The table for rows of `length` elements; AidgeError when no table is exact in 64 bits."""
    factor, shift = _as_fraction(float(numpy.float32(output_scale)))
    for bits in range(MOST_FRACTION_BITS, LEAST_FRACTION_BITS - 1, -1):
        if (1 << bits) << shift < _LIMIT and length * (factor << bits) < _LIMIT:
            return SoftmaxTable(exponentials(float(numpy.float32(input_scale)), bits, entries), bits, shift, factor)
    raise AidgeError(
        f"Softmax over {length} elements with the output scale {output_scale} does not fit 64-bit integers",
        code="SOFTMAX",
        hint="use the output scale 1/256",
    )


def _as_fraction(scale: float) -> tuple[int, int]:
    """Returns (factor, shift) with scale = factor * 2^-shift in lowest terms; a scale above 1 has shift 0."""
    numerator, denominator = scale.as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def factored(table: SoftmaxTable, input_scale: float) -> tuple[int, ...]:
    """The 256 exponentials of a table in 40 words: 16 factors H of e^(-16 * i * s_x), 16 factors L of e^(-j * s_x), and a bit for
    each, the first one lowest: T[16 * i + j] = (H[i] * L[j] + 2^31 >> 32) + bit.

    H is cut off from 2^31 times the real number, L from 2^(F + 1) times. So the product over 2^32 is at most the real T, and less
    than 1/2 + 1/2 below it: rounded, it is T or T - 1.
    """
    scale = float(numpy.float32(input_scale))
    high = exponentials(STEP * scale, 31, len(table.exponentials) // STEP, ROUND_FLOOR)
    low = exponentials(scale, table.fraction_bits + 1, STEP, ROUND_FLOOR)
    products = numpy.multiply.outer(numpy.array(high, numpy.uint64), numpy.array(low, numpy.uint64)).ravel()
    more = numpy.array(table.exponentials, numpy.int64) - ((products + (1 << 31)) >> 32).astype(numpy.int64)
    return (*high, *low, *numpy.packbits(more.astype(numpy.uint8), bitorder="little").view("<u4").tolist())


@functools.cache
def exponentials(input_scale: float, fraction_bits: int, entries: int, rounding: str = ROUND_HALF_EVEN) -> tuple[int, ...]:
    """Returns e^(-k * input_scale) * 2^fraction_bits for k = 0 .. entries - 1, rounded as `decimal` calls it."""
    context = Context(prec=40, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)
    one = Decimal(1 << fraction_bits)
    reals = (context.multiply(context.exp(context.multiply(Decimal(-k), Decimal(input_scale))), one) for k in range(entries))
    return tuple(int(real.to_integral_value(rounding)) for real in reals)


def quantized_softmax(levels: numpy.ndarray, table: SoftmaxTable, zero_point: int, low: int, high: int) -> numpy.ndarray:
    """The formula above over the last axis of the stored values; the result is int64 within low..high."""
    below = levels.max(axis=-1, keepdims=True).astype(numpy.int64) - levels
    terms = numpy.array(table.exponentials, numpy.uint64)[below]
    divisor = terms.sum(axis=-1, keepdims=True) * numpy.uint64(table.factor)
    quotient, rest = numpy.divmod(terms << numpy.uint64(table.shift), divisor)
    above = rest > divisor - rest
    tie_to_odd = (rest == divisor - rest) & (quotient & numpy.uint64(1)).astype(bool)
    rounded = numpy.minimum(quotient + (above | tie_to_odd), numpy.uint64(1 << 32)).astype(numpy.int64)
    return numpy.clip(rounded + zero_point, low, high)
