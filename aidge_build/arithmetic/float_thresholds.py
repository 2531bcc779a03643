# SPDX-License-Identifier: MIT
"""QuantizeLinear as comparisons of integers: for cores on which a division of floats is a function of hundreds of instructions.

Read as an integer with a sign, the pattern of a float32 is its order among all others, once the bits below the sign of negative
ones are inverted. A division by a positive scale, rounding and saturation never fall as the number rises, so the stored value is
the number of steps that a number has reached, and each step is the key of one float.
"""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.requantize import quantize
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization

_BELOW_SIGN = 0x7FFFFFFF
_INFINITY = 0x7F800000  # the key of +inf; -inf has -1 - _INFINITY


def number_of(keys: numpy.ndarray) -> numpy.ndarray:
    """The float32 of each key, int64."""
    patterns = numpy.where(keys < 0, keys ^ _BELOW_SIGN, keys).astype(numpy.int32)
    return patterns.view(numpy.float32)


def quantize_keys(quantization: Quantization, dtype: DType) -> numpy.ndarray:
    """For each stored value but the lowest one the key of the smallest number that becomes it or a higher one, int32, rising.

    `quantization` has one scale. Found by bisection on `quantize`, the meaning of QuantizeLinear.
    """
    low, high = dtype.range
    levels = numpy.arange(low + 1, high + 1)
    below = numpy.full(len(levels), -1 - _INFINITY)  # -inf has reached no level
    above = numpy.full(len(levels), _INFINITY)  # and +inf all of them
    while (above - below > 1).any():
        middle = (below + above) // 2
        with numpy.errstate(over="ignore"):
            reached = quantize(number_of(middle), quantization, dtype).astype(numpy.int64) >= levels
        below, above = numpy.where(reached, below, middle), numpy.where(reached, middle, above)
    return above.astype(numpy.int32)
