# SPDX-License-Identifier: MIT
"""Rescaling of exact integers by integers: a multiplier and a shift, or a quotient; rounded half to even, and proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy

from aidge_build.base.errors import AidgeError

WIDE_BITS = 62  # of products in int64: one bit stays free for rounding
MOST_SHIFT = 56


@dataclass(frozen=True)
class Rescale:
    """y = rint_half_even(x * multiplier / divisor), or with divisor 0 rint_half_even(x * multiplier / 2^shift)."""

    multiplier: int
    shift: int
    divisor: int

    def apply(self, values: numpy.ndarray) -> numpy.ndarray:
        """The formula, in int64 as in C."""
        products = values.astype(numpy.int64) * numpy.int64(self.multiplier)
        return divide_half_even(products, self.divisor) if self.divisor else shift_half_even(products, self.shift)

    def __str__(self) -> str:
        return f"{self.multiplier} / {self.divisor}" if self.divisor else f"{self.multiplier} / 2^{self.shift}"


def shift_half_even(values: numpy.ndarray, shift: int) -> numpy.ndarray:
    """Returns rint_half_even(values / 2^shift) of integers; shift >= 1."""
    return (values + ((1 << (shift - 1)) - 1) + ((values >> shift) & 1)) >> shift


def divide_half_even(values: numpy.ndarray, divisor: int) -> numpy.ndarray:
    """Returns rint_half_even(values / divisor) of integers; divisor > 0."""
    quotient, rest = numpy.divmod(values, divisor)
    return quotient + ((rest > divisor - rest) | ((rest == divisor - rest) & ((quotient & 1) == 1)))


def exact_ratio(numerator: float | numpy.floating, *divisors: float | numpy.floating) -> Fraction:
    """The quotient of float32 numbers (or integers) as a fraction."""
    ratio = Fraction(float(numerator))
    for divisor in divisors:
        ratio /= Fraction(float(divisor))
    return ratio


def rescales(ratio: Fraction, largest: int) -> Iterator[Rescale]:
    """Yields candidates for y = x * ratio with |x| <= largest that stay within int64: shifts first, then the quotient itself.

    The shift errs by less than 2^-20 output steps, so it is wrong only for exact ties; if ties exist, the reduced divisor is at
    most 2 * largest, so the quotient fits.
    """
    room = WIDE_BITS - max(1, largest.bit_length())
    shift = min(MOST_SHIFT, room - (ratio.numerator.bit_length() - ratio.denominator.bit_length() + 1))
    if shift >= 1:
        yield Rescale(round(ratio * (1 << shift)), shift, 0)
    if largest * ratio.numerator < 1 << WIDE_BITS and ratio.denominator < 1 << WIDE_BITS:
        yield Rescale(ratio.numerator, 0, ratio.denominator)


def proved_rescale(ratio: Fraction, largest: int, is_exact: Callable[[Rescale], bool], what: str) -> Rescale:
    """The first candidate that `is_exact` accepts; AidgeError when there is none."""
    for candidate in rescales(ratio, largest):
        if is_exact(candidate):
            return candidate
    raise AidgeError(
        f"no integer arithmetic is proved equal to {what}",
        code="RANGE",
        hint="choose scales that are closer to each other, or powers of two",
    )
