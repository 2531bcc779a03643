# SPDX-License-Identifier: MIT
"""float32 operations as a core takes them, one after the other, in numpy: for the values of a kernel to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy

Values = numpy.ndarray | numpy.float32
_SMALLEST = numpy.finfo(numpy.float32).tiny


def fused(a: Values, b: Values, c: Values) -> numpy.ndarray:
    """Returns a * b + c of float32 values, rounded once to float32.

    The product is exact in float64. The sum is rounded to odd there: with the 29 bits more that float64 has, the second rounding
    then gives what one rounding of the real number would give (Boldo and Melquiond, Emulation of FMA, 2008).
    """
    product, addend = numpy.multiply(a, b, dtype=numpy.float64), numpy.asarray(c, numpy.float64)
    total = numpy.asarray(product + addend)
    part = total - product
    rest = (product - (total - part)) + (addend - part)
    is_inexact = numpy.isfinite(total) & (rest != 0)
    is_even = (total.view(numpy.int64) & 1) == 0
    odd = numpy.nextafter(total, numpy.copysign(numpy.inf, rest))
    return numpy.where(is_inexact & is_even, odd, total).astype(numpy.float32)


def _rounded_twice(a: Values, b: Values, c: Values) -> numpy.ndarray:
    return numpy.multiply(a, b, dtype=numpy.float32) + numpy.asarray(c, numpy.float32)


@dataclass(frozen=True)
class FloatUnit:
    """A unit that multiplies and adds with one rounding or two, and may flush results too small for a normal float to 0."""

    fuses: bool
    flushes: bool = False

    def multiply_add(self, a: Values, b: Values, c: Values) -> numpy.ndarray:
        """Returns a * b + c."""
        return self.kept((fused if self.fuses else _rounded_twice)(a, b, c))

    def kept(self, values: numpy.ndarray) -> numpy.ndarray:
        """Returns a result as the unit hands it on."""
        if not self.flushes:
            return values
        return numpy.where(numpy.abs(values) < _SMALLEST, numpy.copysign(numpy.float32(0), values), values)

    def polynomial(self, coefficients: numpy.ndarray, x: numpy.ndarray, start: numpy.ndarray | None = None) -> numpy.ndarray:
        """Returns the polynomial of x with these coefficients, from the highest power on, by Horner's rule; `start` is the
        value with the first of them."""
        first, *others = coefficients
        result = numpy.full_like(x, first) if start is None else start
        for coefficient in others:
            result = self.multiply_add(result, x, coefficient)
        return result

    def in_lanes(self, lanes: int, count: int, add: Callable[[numpy.ndarray, int], numpy.ndarray]) -> numpy.ndarray:
        """Returns `count` terms added up in so many lanes, and then the lanes in pairs: `add(sum, place)` returns the sum with
        the term of this place; the sum begins with 0."""
        sums = [numpy.zeros((), numpy.float32)] * lanes
        for place in range(count):
            sums[place % lanes] = add(sums[place % lanes], place)
        while len(sums) > 1:
            sums = [first + second for first, second in zip(sums[::2], sums[1::2])]
        return sums[0]


PORTABLE = FloatUnit(fuses=False)  # C without an instruction for a * b + c
FPU = FloatUnit(fuses=True)  # of Arm's cores and of RISC-V
VECTORS = FloatUnit(fuses=True, flushes=True)  # of MVE


def unit_of(features: frozenset[str]) -> FloatUnit:
    """Returns the unit that kit/multiply_add.h has on a core with these features."""
    return FPU if "fpu" in features else PORTABLE
