# SPDX-License-Identifier: MIT
"""Rounding by the addition of a large number, which holds the zero point too.

Between 2^23 and 2^24 floats are integers, so that adding 2^23 + n * 2^16 + zero point rounds half to even; the low 16 bits of the
sum are then the level. The zero point must be even: ties go to even sums. It saves the conversion's narrowing and the addition of
the zero point, as long as no level leaves 16 bits.

Or by one fused multiplication, with the form of arithmetic/fused.py, for channels of which it is proved: bias and offset are one
number then, and the multiplier of the second channel of a pair is negative where another pair follows. The first one is negative
in each such pair, which tells it from others. The numbers of a negative channel are those of a positive one with both signs
changed.
"""

from __future__ import annotations

from typing import Protocol

import numpy

from aidge_build.arithmetic.fused import CONSTANT_BITS, FLOAT_BITS, FusedForm, fused_form
from aidge_build.arithmetic.thresholds import staircase
from aidge_build.kernel_kit.linear import LinearConstants

SMALLEST = 0x4B000000  # the bits of 2^23
GOES_ON, ENDS = 0x60, 0x20  # what stands in bits 16 to 22: bit 22 says whether another pair of channels follows
MOST_LEVELS = 2**15 - 256


def rounds_by_addition(numbers: LinearConstants, bits: int = 0) -> bool:
    """Whether the zero point is even and every level that a sum, shifted by so many bits, can give fits 16 bits."""
    if numbers.zero_point % 2:
        return False
    rows = numbers.weights.reshape(len(numbers.weights), -1).astype(numpy.int64)
    largest = (128 * numpy.abs(rows).sum(axis=1) << bits) + numpy.abs(numbers.bias)
    return bool((largest * numbers.multipliers.astype(numpy.float64) < MOST_LEVELS).all())


def large_number(zero_point: int, mark: int = GOES_ON) -> int:
    """Its bits: they take the place of the zero point, and have it in their low 16 bits."""
    return SMALLEST + (mark << 16) + zero_point


def zero_point_word(numbers: LinearConstants, bits: int = 0) -> int:
    """What a layer's head holds as zero point."""
    return large_number(numbers.zero_point) if rounds_by_addition(numbers, bits) else numbers.zero_point


class Rounded(Protocol):
    """A form of a kernel that says how levels are rounded: by one fused multiplication, `mixed` not for all channels."""

    @property
    def adds(self) -> bool: ...
    @property
    def fused(self) -> bool: ...
    @property
    def mixed(self) -> bool: ...


def way_of(form: Rounded) -> str:
    """The part of a function's name that says how it rounds."""
    return "_mixed" if form.mixed else "_fused" if form.fused else "_adding" if form.adds else ""


def fused_numbers(numbers: LinearConstants, bits: int = 0) -> FusedForm:
    """The form for all sums, shifted by so many bits, with their bias."""
    taps = numbers.weights.reshape(len(numbers.weights), -1).astype(numpy.int64)
    ends = (numpy.minimum(-128 * taps, 127 * taps), numpy.maximum(-128 * taps, 127 * taps))
    low, high = ((end.sum(axis=1) << bits) + numbers.bias for end in ends)
    return fused_form(staircase(numbers.requantization, numbers.zero_point, low, high))


def fused_words(form: FusedForm, numbers: LinearConstants, channel: int, is_negative: bool) -> tuple[int, int, int]:
    """(bias with offset, multiplier, constant) of a channel as 32-bit patterns; the last has 16 bits."""
    sign = 1 << 31 if is_negative else 0
    base = (FLOAT_BITS + int(form.offsets[channel]) + int(numbers.bias[channel])) & 0xFFFFFFFF ^ sign
    return base, int(form.multipliers[channel : channel + 1].view("<u4")[0]) ^ sign, int(form.constants[channel])


__all__ = [
    "CONSTANT_BITS",
    "FusedForm",
    "Rounded",
    "fused_numbers",
    "fused_words",
    "large_number",
    "rounds_by_addition",
    "way_of",
    "zero_point_word",
]
