# SPDX-License-Identifier: MIT
"""Rounding by the addition of a large number, which holds the zero point too.

Between 2^23 and 2^24 floats are integers, so that adding 2^23 + n * 2^16 + zero point rounds half to even; the low 16 bits of the
sum are then the level. The zero point must be even: ties go to even sums. It saves the conversion's narrowing and the addition of
the zero point, as long as no level leaves 16 bits.

Or by one fused multiplication, with the form of arithmetic/fused.py, for channels of which it is proved: bias and offset are one
number then, and the multiplier of the second channel of a pair is negative where another pair follows. The first one is negative
in each such pair, which tells it from others. The numbers of a negative channel are those of a positive one with both signs
changed.

Or by the high word of a product with an integer, which is shifted and rounded once, for channels of which that is proved
(arithmetic/thresholds.py, the form with neither extra nor constant of its own).

Factors of the contract `double` are multiplied and shifted in the lanes as arithmetic/fixed_multiplier.py says: that is exact for
every sum, and nothing needs a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants
from aidge_build.operators.arithmetic.contracts import FixedFactors
from aidge_build.operators.arithmetic.fused import CONSTANT_BITS, FLOAT_BITS, FusedForm, fused_form
from aidge_build.operators.arithmetic.thresholds import Staircase, low_form, staircase

from .assembly import Assembler

SMALLEST = 0x4B000000  # the bits of 2^23
GOES_ON, ENDS = 0x60, 0x20  # what stands in bits 16 to 22: bit 22 says whether another pair of channels follows
BY_SHIFT = 1 << 23  # a bit of no large number: of numbers of an integer multiplication
SHIFTS = (6, 3)  # behind these: the first one with which all multipliers are less than 2^31
MOST_LEVELS = 2**15 - 256


def rounds_by_addition(numbers: LinearConstants, bits: int = 0) -> bool:
    """Whether the zero point is even and every level that a sum, shifted by so many bits, can give fits 16 bits."""
    is_float = not isinstance(numbers.requantization, FixedFactors)
    return is_float and numbers.zero_point % 2 == 0 and _fits_16_bits(numbers, bits)


def _fits_16_bits(numbers: LinearConstants, bits: int) -> bool:
    rows = numbers.weights.reshape(len(numbers.weights), -1).astype(numpy.int64)
    largest = (128 * numpy.abs(rows).sum(axis=1) << bits) + numpy.abs(numbers.bias)
    return bool((largest * numbers.requantization.slopes < MOST_LEVELS).all())


def large_number(zero_point: int, mark: int = GOES_ON) -> int:
    """Its bits: they take the place of the zero point, and have it in their low 16 bits."""
    return SMALLEST + (mark << 16) + zero_point


def zero_point_word(numbers: LinearConstants, bits: int = 0) -> int:
    """The zero point in a layer's head."""
    return large_number(numbers.zero_point) if rounds_by_addition(numbers, bits) else numbers.zero_point


class Rounded(Protocol):
    """A form of a kernel that says how levels are rounded: by one fused multiplication, `mixed` not for all channels."""

    @property
    def adds(self) -> bool: ...
    @property
    def fused(self) -> bool: ...
    @property
    def mixed(self) -> bool: ...
    @property
    def fixed(self) -> Fixed | None: ...


def way_of(form: Rounded) -> str:
    """The part of a function's name that says how it rounds."""
    if form.mixed or form.fused:
        return "_mixed" if form.mixed else "_fused"
    return "_adding" if form.adds else form.fixed.way if form.fixed else ""


def fixed_words(numbers: LinearConstants) -> numpy.ndarray:
    """For each channel the shift of its fixed-point factor above the zero point, as int32; none for float factors."""
    return (shift_words(numbers).astype(numpy.int64) << 16 | numbers.zero_point & 0xFFFF).astype("<u4").view("<i4")


def emit_levels_of_8(emit: Assembler, fixed: Fixed, even: str, odd: str, target: str, zero_point: str) -> None:
    """Shifted high words of both registers become levels with the zero point in 16 bits."""
    if fixed.is_short:
        emit(f"vmovnt.i32 {even}, {odd}", f"vqadd.s16 {target}, {even}, {zero_point}")
    else:
        emit(f"vqmovnb.s32 {target}, {even}", f"vqmovnt.s32 {target}, {odd}", f"vqadd.s16 {target}, {target}, {zero_point}")


@dataclass(frozen=True)
class Fixed:
    """How fixed-point factors round: products `once`, or high words and these once more. `has_below`: values below the zero point
    are stored, where halves go the other way. `is_short`: every level fits 16 bits."""

    once: bool
    has_below: bool
    is_short: bool

    @property
    def way(self) -> str:
        """The part of a function's name that says how it rounds."""
        return f"{'_once' if self.once else '_twice' if self.has_below else '_above'}{'_short' * self.is_short}"


def fixed_of(numbers: LinearConstants, bits: int = 0) -> Fixed | None:
    """The fixed form of the layer's factors; None if they are floats."""
    factors = numbers.requantization
    if not isinstance(factors, FixedFactors):
        return None
    return Fixed(factors.once, numbers.low < numbers.zero_point, _fits_16_bits(numbers, bits))


def multiplier_words(numbers: LinearConstants) -> numpy.ndarray:
    """The multipliers of all channels, floats or fixed-point ones, as int32."""
    factors = numbers.requantization
    return factors.factors[:, 0].astype("<i4") if isinstance(factors, FixedFactors) else numbers.multipliers.view("<i4")


def shift_words(numbers: LinearConstants) -> numpy.ndarray:
    """The shifts of fixed-point factors, to the left, as int32; none of floats."""
    factors = numbers.requantization
    return factors.factors[:, 1].astype("<i4") if isinstance(factors, FixedFactors) else numpy.zeros(0, "<i4")


def high_words(fixed: Fixed) -> str:
    """The instruction that makes the high word of twice a product."""
    return "vqdmulh.s32" if fixed.once else "vqrdmulh.s32"


def emit_fixed(emit: Assembler, fixed: Fixed, sums: Sequence[str], multipliers: Sequence[str], spare: str) -> None:
    """Sums become the high words of twice their products, which are still to be shifted; `spare` is a vector or a number."""
    emit(*(f"{high_words(fixed)} {register}, {register}, {multiplier}" for register, multiplier in zip(sums, multipliers)))
    emit_fixed_halves(emit, fixed, sums, spare)


def emit_fixed_halves(emit: Assembler, fixed: Fixed, sums: Sequence[str], spare: str) -> None:
    """High words below zero become such that shifts round their halves the other way."""
    if not fixed.has_below or fixed.once:
        return
    if not spare.startswith(("q", "%q.")):
        emit(f"movs {spare}, #1", *(f"vqdmlah.s32 {register}, {register}, {spare}" for register in sums), why="halves below zero")
    else:
        for register in sums:
            emit(f"vshr.s32 {spare}, {register}, #31", f"vadd.i32 {register}, {register}, {spare}")


def fused_numbers(numbers: LinearConstants, bits: int = 0) -> FusedForm:
    """The form for all sums, shifted by so many bits, with their bias."""
    return fused_form(_stairs(numbers, bits))


def integer_multipliers(numbers: LinearConstants, bits: int) -> tuple[int, numpy.ndarray]:
    """The shift behind products of integers, 0 if none is right for all factors, and the multiplier of each channel, 0 where it
    is not proved; for all sums, shifted by so many bits. Other weights have the same shift."""
    largest = float(numbers.requantization.slopes.max(initial=0))
    shift = SHIFTS[0] if numbers.is_any else next((each for each in SHIFTS if largest < 2.0**-each), 0)
    none = numpy.zeros(len(numbers.bias), numpy.int64)
    return shift, low_form(_stairs(numbers, bits), shift - 1, False).multipliers if shift else none


def _stairs(numbers: LinearConstants, bits: int) -> Staircase:
    taps = numbers.weights.reshape(len(numbers.weights), -1).astype(numpy.int64)
    ends = (numpy.minimum(-128 * taps, 127 * taps), numpy.maximum(-128 * taps, 127 * taps))
    low, high = ((end.sum(axis=1) << bits) + numbers.bias for end in ends)
    return staircase(numbers.requantization, numbers.zero_point, low, high)


def fused_words(form: FusedForm, numbers: LinearConstants, channel: int, is_negative: bool) -> tuple[int, int, int]:
    """(bias with offset, multiplier, constant) of a channel as 32-bit patterns; the last has 16 bits."""
    sign = 1 << 31 if is_negative else 0
    base = (FLOAT_BITS + int(form.offsets[channel]) + int(numbers.bias[channel])) & 0xFFFFFFFF ^ sign
    return base, int(form.multipliers[channel : channel + 1].view("<u4")[0]) ^ sign, int(form.constants[channel])


__all__ = [
    "BY_SHIFT",
    "CONSTANT_BITS",
    "FusedForm",
    "Fixed",
    "Rounded",
    "emit_fixed",
    "emit_fixed_halves",
    "emit_levels_of_8",
    "fixed_of",
    "fixed_words",
    "fused_numbers",
    "fused_words",
    "high_words",
    "integer_multipliers",
    "large_number",
    "multiplier_words",
    "rounds_by_addition",
    "shift_words",
    "way_of",
    "zero_point_word",
]
