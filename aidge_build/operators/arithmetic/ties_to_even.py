# SPDX-License-Identifier: MIT
"""Integer division by powers of two, ties to even: the contract `onnx` if every scale is a power of two.

rint(acc / 2^n) + zero point = (s + ((s >> shift) & 1)) >> shift with s = 2^(shift - n) * acc + offset and offset = (zero point <<
shift) + half - 1 for half = 1 << (shift - 1): below a tie the added bit does not carry, at a tie it carries if the lower level is
odd, and above a tie the offset alone reaches the level. An even zero point keeps the lowest bit of the level. No linear integer
form (arithmetic/thresholds.py) has these steps, as every second step is one sum later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.contracts import FloatFactors, Requantization

EXACT = 1 << 24  # below it float32 holds every integer
_LIMIT = 1 << 31
_MOST_SHIFT = 31


@dataclass(frozen=True, eq=False)
class EvenForm:
    """One shift and offset for the sums of all channels; weights and biases are multiplied by `scales` [channels]."""

    shift: int
    scales: numpy.ndarray
    offset: int

    def apply(self, channel: int, accumulators: numpy.ndarray) -> numpy.ndarray:
        """Returns the result of the formula for int64 accumulators of one channel, before the clamp."""
        sums = int(self.scales[channel]) * accumulators + self.offset
        return (sums + ((sums >> self.shift) & 1)) >> self.shift


def even_form(requantization: Requantization, zero_point: int, largest: numpy.ndarray, most_scale: int) -> EvenForm | None:
    """Returns the form for sums of at most `largest` [channels] in magnitude, with scales of 1 to `most_scale`, as large as int32
    allows. Returns None if a factor is no power of two of at most 1, or if the form does not fit."""
    if not isinstance(requantization, FloatFactors) or zero_point % 2:
        return None
    mantissas, exponents = numpy.frexp(requantization.factors.astype(numpy.float64))
    divided = 1 - exponents.astype(numpy.int64)
    if (mantissas != 0.5).any() or divided.min() < 0 or largest.max() >= EXACT:
        return None
    first = int(divided.min()) + most_scale.bit_length() - 1
    for shift in range(min(first, _MOST_SHIFT), max(int(divided.max()), 1) - 1, -1):
        scales = numpy.int64(1) << (shift - divided)
        offset = (zero_point << shift) + (1 << (shift - 1)) - 1
        if (scales * largest).max() + abs(offset) + 1 < _LIMIT:
            return EvenForm(shift, scales, offset)
    return None
