# SPDX-License-Identifier: MIT
"""Requantization of the sums of a linear layer, by the numerical contract of the build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.operators.arithmetic.fixed_multiplier import fixed_multipliers, scaled, scaled_once
from aidge_build.operators.arithmetic.requantize import multipliers, requantize

ONCE = 64  # above every shift
HALFWORD_BITS = 15  # of multipliers of int16 layers


class Requantization(Protocol):
    """The factors of one layer: one for all channels, or one for each channel."""

    @property
    def is_finite(self) -> bool:
        """Whether every factor is a number."""

    @property
    def numbers(self) -> numpy.ndarray:
        """The factors as kernels get them: float32 [channels or 1], or int32 [channels or 1, 2]."""

    @property
    def slopes(self) -> numpy.ndarray:
        """The real factors, approximately: float64 [channels or 1]."""

    def levels(self, sums: numpy.ndarray, axis: int, zero_point: int, low: int, high: int) -> numpy.ndarray:
        """Returns clamp(rounded(sum * factor) + zero_point, low, high) as int64; `axis` is the channel axis of `sums`. The result
        never falls as a sum rises."""

    def of(self, channels: numpy.ndarray) -> Requantization:
        """Returns the requantization with the factors of these channels, in this order."""

    def replaced(self, channels: numpy.ndarray, factor: float) -> Requantization:
        """Returns the requantization with this factor, a power of two, for channels with a true mask."""


def each_channel(requantization: Requantization, count: int) -> Requantization:
    """Returns the requantization with a factor for each of `count` channels."""
    return requantization.of(numpy.arange(count) % len(requantization.numbers))


@dataclass(frozen=True, eq=False)
class FloatFactors(Requantization):
    """The contract `onnx`: float32 factors, two roundings to float32 and one to an integer."""

    factors: numpy.ndarray  # float32 [channels] or [1]

    @property
    def is_finite(self) -> bool:
        return bool(numpy.isfinite(self.factors).all())

    @property
    def numbers(self) -> numpy.ndarray:
        return self.factors

    @property
    def slopes(self) -> numpy.ndarray:
        return self.factors.astype(numpy.float64)

    def levels(self, sums: numpy.ndarray, axis: int, zero_point: int, low: int, high: int) -> numpy.ndarray:
        return requantize(sums, _along(self.factors, sums.ndim, axis), zero_point, low, high)

    def of(self, channels: numpy.ndarray) -> FloatFactors:
        return FloatFactors(self.factors[channels])

    def replaced(self, channels: numpy.ndarray, factor: float) -> FloatFactors:
        return FloatFactors(numpy.where(channels, numpy.float32(factor), self.factors))


@dataclass(frozen=True, eq=False)
class FixedFactors(Requantization):
    """The contract `double`: 31-bit multipliers and shifts. `once`: the 64-bit product is rounded once; otherwise its high word
    is rounded, and then the shifted high word."""

    factors: numpy.ndarray  # int64 [channels or 1, 2]: multiplier, shift
    once: bool = False

    @property
    def is_finite(self) -> bool:
        return True

    @property
    def numbers(self) -> numpy.ndarray:
        """Multiplier and shift; for products that are rounded once, ONCE + the shift of the product to the right."""
        multiplier, shift = self.factors.T
        return numpy.stack([multiplier, ONCE + 31 - shift if self.once else shift], axis=1).astype(numpy.int32)

    @property
    def slopes(self) -> numpy.ndarray:
        multiplier, shift = self.factors.T
        return multiplier * 2.0 ** (shift - 31)

    def levels(self, sums: numpy.ndarray, axis: int, zero_point: int, low: int, high: int) -> numpy.ndarray:
        multiplier, shift = (_along(column, sums.ndim, axis) for column in self.factors.T)
        rounded = scaled_once if self.once else scaled
        return numpy.clip(rounded(sums, multiplier, shift) + zero_point, low, high)

    def of(self, channels: numpy.ndarray) -> FixedFactors:
        return replace(self, factors=self.factors[channels])

    def replaced(self, channels: numpy.ndarray, factor: float) -> FixedFactors:
        return replace(self, factors=numpy.where(channels[:, None], fixed_multipliers([factor]), self.factors))


@dataclass(frozen=True, eq=False)
class HalfwordFactors(FixedFactors):
    """The contract `double` of int16 data: sums of 64 bits times 15 bits of the multiplier, rounded once, ties upwards."""

    @property
    def is_finite(self) -> bool:
        return bool((self.factors[:, 1] < HALFWORD_BITS).all())

    @property
    def numbers(self) -> numpy.ndarray:
        """The multiplier of 15 bits, and the shift of its product to the right."""
        multiplier, shift = self.factors.T
        short = numpy.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
        return numpy.stack([short, HALFWORD_BITS - shift], axis=1).astype(numpy.int32)

    def levels(self, sums: numpy.ndarray, axis: int, zero_point: int, low: int, high: int) -> numpy.ndarray:
        short, right = (_along(column, sums.ndim, axis) for column in self.numbers.astype(numpy.int64).T)
        rounded = (numpy.asarray(sums, numpy.int64) * short + (numpy.int64(1) << (right - 1))) >> right
        return numpy.clip(rounded + zero_point, low, high)


def _along(values: numpy.ndarray, rank: int, axis: int) -> numpy.ndarray:
    return values.reshape([-1 if index == axis else 1 for index in range(rank)])


class Contract(Protocol):
    """The requantization that a contract defines for layers with real factors sx * sw / sy, with one sw for all channels or for
    each."""

    def of_convolution(self, input_scale: float, weight_scales: Sequence[float], output_scale: float) -> Requantization:
        """Returns the requantization of sums over windows."""

    def of_product(self, input_scale: float, weight_scales: Sequence[float], output_scale: float) -> Requantization:
        """Returns the requantization of fully connected layers."""

    def of_halfwords(self, input_scale: float, weight_scales: Sequence[float], output_scale: float) -> Requantization:
        """Returns the requantization of sums over windows of int16 data."""


class _Onnx(Contract):
    def of_convolution(self, input_scale: float, weight_scales: Sequence[float], output_scale: float) -> Requantization:
        return FloatFactors(multipliers(numpy.float32(input_scale), weight_scales, numpy.float32(output_scale)))

    of_product = of_halfwords = of_convolution


class _Double(Contract):
    def of_convolution(self, input_scale: float, weight_scales: Sequence[float], output_scale: float) -> Requantization:
        """Real factors in float64."""
        return FixedFactors(fixed_multipliers(float(input_scale) * scale / float(output_scale) for scale in weight_scales))

    def of_product(self, input_scale: float, weight_scales: Sequence[float], output_scale: float) -> Requantization:
        """Real factors in float64; with one scale for all weights, from the float32 product of both scales. Rounded once."""
        scales = (
            [float(numpy.float32(input_scale) * numpy.float32(weight_scales[0]))]
            if len(weight_scales) == 1
            else [float(input_scale) * scale for scale in weight_scales]
        )
        return FixedFactors(fixed_multipliers(scale / float(output_scale) for scale in scales), once=True)

    def of_halfwords(self, input_scale: float, weight_scales: Sequence[float], output_scale: float) -> Requantization:
        """Real factors in float64."""
        return HalfwordFactors(fixed_multipliers(float(input_scale) * scale / float(output_scale) for scale in weight_scales))


CONTRACTS: dict[str, Contract] = {"double": _Double(), "onnx": _Onnx()}


def contract(rounding: str) -> Contract:
    """Returns the contract of this name; AidgeError if there is none."""
    if rounding not in CONTRACTS:
        raise AidgeError(f"there is no contract '{rounding}'", code="ROUNDING", hint=f"contracts: {', '.join(CONTRACTS)}")
    return CONTRACTS[rounding]
