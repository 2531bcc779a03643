# SPDX-License-Identifier: MIT
"""QuantizeLinear as comparisons of integers: for cores on which a division of floats is a function of hundreds of instructions.

The key of a float32 is its bits read as a signed integer, with the bits below the sign inverted for negative numbers: keys have
the order of the floats. Division by a positive scale, rounding and saturation are monotone, so the stored value is the count of
steps that a number has reached, and each step is the key of a float.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.arithmetic.requantize import quantize

_BELOW_SIGN = 0x7FFFFFFF
_INFINITY = 0x7F800000  # the key of +inf; -inf has -1 - _INFINITY
VALUE_BITS = 17  # the most bits of a multiplied number
GUESS_BITS = 22  # fraction bits of its product
MOST_GUESSED = 254  # so that each guess has a next step


def number_of(keys: numpy.ndarray) -> numpy.ndarray:
    """Returns the float32 of each key, int64."""
    patterns = numpy.where(keys < 0, keys ^ _BELOW_SIGN, keys).astype(numpy.int32)
    return patterns.view(numpy.float32)


def quantize_keys(quantization: Quantization, dtype: DType) -> numpy.ndarray:
    """Returns for each stored value but the lowest the key of the smallest number that is quantized to it or to a higher value,
    int32, rising.

    `quantization` has one scale. Found by bisection on `quantize`, the meaning of QuantizeLinear.
    """
    low, high = dtype.range
    levels = numpy.arange(low + 1, high + 1)
    below = numpy.full(len(levels), -1 - _INFINITY)  # -inf has reached no level
    above = numpy.full(len(levels), _INFINITY)  # +inf has reached all levels
    while (above - below > 1).any():
        middle = (below + above) // 2
        with numpy.errstate(over="ignore"):
            reached = quantize(number_of(middle), quantization, dtype).astype(numpy.int64) >= levels
        below, above = numpy.where(reached, below, middle), numpy.where(reached, middle, above)
    return above.astype(numpy.int32)


@dataclass(frozen=True)
class KeyGuess:
    """The count of steps that a number has reached, or one less, from one product of 32 bits, for int8.

    With m the bits of the number shifted left by 1, without the sign, it holds for first <= m < first + span. Smaller numbers
    have reached `zero` steps, as NaN is taken to have; larger numbers have reached no step or all steps.
    """

    first: int
    span: int
    shift: int
    multiplier: int
    start: int
    zero: int

    def steps(self, keys: numpy.ndarray, most: int = MOST_GUESSED) -> numpy.ndarray:
        """Returns the result of the formula, as in C, for int64 keys of such numbers: at most `most` steps."""
        signs = -(keys < 0).astype(numpy.int64)
        patterns = numpy.where(keys < 0, keys ^ _BELOW_SIGN, keys) & 0xFFFFFFFF
        leading = ((patterns << 8) & 0xFFFFFFFF) | 0x80000000
        values = leading >> (self.shift - ((patterns << 1 & 0xFFFFFFFF) >> 24))
        levels = (values * self.multiplier + self.start) >> GUESS_BITS
        return numpy.clip(self.zero + (levels ^ signs), 0, most)


def key_guess(quantization: Quantization, keys: numpy.ndarray, most: int = MOST_GUESSED) -> KeyGuess | None:
    """Returns the guess for the `quantize_keys` of int8, of at most `most` steps, proved at both ends of every step; None if it
    does not hold.

    Both parts of the product are rounded down, and the middle between two levels is set a little too high, so that for either
    sign the guess never counts a step that the number has not reached.
    """
    mantissa, exponent = math.frexp(256 * float(quantization.scale))
    exponent -= mantissa == 0.5  # now 2^exponent is the first power of two at which both signs saturate
    last = exponent + 126  # as floats store the exponent of the numbers below it
    zero = quantization.zero_point + 128
    start = (1 << GUESS_BITS - 1) - (1 << GUESS_BITS - 8)
    multiplier = math.floor(math.ldexp(1.0, exponent + GUESS_BITS - VALUE_BITS) / float(quantization.scale))
    least = last - (VALUE_BITS - 1)
    if not 1 <= least < last <= 254:
        return None
    found = KeyGuess(least << 24, VALUE_BITS << 24, 32 - VALUE_BITS + last, multiplier, start, zero)
    steps, smallest, limit = keys.astype(numpy.int64), least << 23, last + 1 << 23
    outside = numpy.array([smallest - 1, -smallest, limit, -1 - limit])
    if numpy.searchsorted(steps, outside, "right").tolist() != [zero, zero, 255, 0]:
        return None
    # The formula always holds before the first step of a sign and after its last step.
    points = numpy.concatenate([steps[steps < limit], steps[steps >= -limit] - 1])
    missing = numpy.searchsorted(steps, points, "right") - found.steps(points, most)
    return found if ((missing == 0) | (missing == 1)).all() else None
