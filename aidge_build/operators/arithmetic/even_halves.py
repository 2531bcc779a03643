# SPDX-License-Identifier: MIT
"""Sums divided by powers of two, halves to even, in integers: the contract `onnx` where every scale is a power of two.

rint(acc / 2^n) + zero point = (s + ((s >> shift) & 1)) >> shift with s = 2^(shift - n) * acc + offset and
offset = (zero point << shift) + half - 1 for half = 1 << (shift - 1): below a half the added bit carries nothing, at a half it
carries if the level below is odd, above it the level is there already. An even zero point leaves the last bit as it is.
No line (arithmetic/thresholds.py) passes all these steps, as every other one is one sum later.
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
    """One shift and offset of the sums of all channels, whose weights and biases are `scales` [channels] times as large."""

    shift: int
    scales: numpy.ndarray
    offset: int

    def apply(self, channel: int, accumulators: numpy.ndarray) -> numpy.ndarray:
        """The formula, for int64 accumulators of one channel; before it is limited."""
        sums = int(self.scales[channel]) * accumulators + self.offset
        return (sums + ((sums >> self.shift) & 1)) >> self.shift


def even_form(requantization: Requantization, zero_point: int, largest: numpy.ndarray, most_scale: int) -> EvenForm | None:
    """The form of sums of which `largest` [channels] is the largest magnitude, with scales of 1 to `most_scale`, as large as
    int32 allows; None where a factor is no power of two of at most 1, or something does not fit."""
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
