# SPDX-License-Identifier: MIT
"""What the generator knows of an int8 convolution or fully connected layer: folded bias, ranges, multipliers, constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy

from aidge_build.arithmetic.requantize import requantize
from aidge_build.arithmetic.thresholds import HighForm, LowForm, Staircase, high_form, low_form, staircase
from aidge_build.contract.node import KernelNode
from aidge_build.kernel_kit.linear import linear_constants

INT8 = (-128, 127)
SHIFTS = (4, 6, 2, 8)  # of the integer form, in order of preference: few, so that few texts differ
HIGH_SHIFT = 8  # what accumulators that carry 8 fraction bits are shifted more
SMALLEST_DIVIDED = 2.0**-100
CONSTANT_STEPS = 1024  # accumulator steps per output step in a channel that is constant


@dataclass(frozen=True, eq=False)
class Linear:
    """Per output channel: `rows` [channels, taps], `bias` with the input's zero point folded in, the range of the accumulator."""

    rows: numpy.ndarray
    bias: numpy.ndarray
    factors: numpy.ndarray
    low: numpy.ndarray
    high: numpy.ndarray
    zero_point: int  # of the output
    input_zero_point: int
    clamp: tuple[int, int]

    @property
    def is_clamped(self) -> bool:
        """Whether the output is limited to less than int8."""
        return self.clamp != INT8

    @property
    def largest(self) -> numpy.ndarray:
        """Of |accumulator|."""
        return numpy.maximum(numpy.abs(self.low), numpy.abs(self.high))

    def levels(self, accumulators: numpy.ndarray) -> numpy.ndarray:
        """The stored values of one accumulator per channel."""
        return requantize(accumulators, self.factors, self.zero_point, *self.clamp)

    @property
    def free_of_clamp(self) -> numpy.ndarray:
        """Channels whose accumulators reach no value that the clamp would change beyond int8."""
        ends = [
            requantize(numpy.clip(end, -(1 << 31), (1 << 31) - 1), self.factors, self.zero_point, *INT8)
            for end in (self.low, self.high)
        ]
        return (ends[0] >= self.clamp[0]) & (ends[1] <= self.clamp[1]) | (not self.is_clamped)

    def staircase(self) -> Staircase:
        """The accumulators of each channel at which the output changes, before the clamp."""
        return staircase(self.factors, self.zero_point, self.low, self.high)


class LinearNode(KernelNode):
    """A layer of int32 sums that are requantized per channel."""

    def linear(self, rows: numpy.ndarray) -> Linear:
        """The layer with these weights [channels, taps]; AidgeError when an accumulator could leave int32."""
        numbers, rows = linear_constants(self.operator, self.inputs, self.outputs[0], rows), rows.astype(numpy.int64)
        products = [rows * end for end in self.inputs[0].dtype.range]
        low, high = (numbers.bias + ends.sum(axis=1) for ends in (numpy.minimum(*products), numpy.maximum(*products)))
        clamp = (numbers.low, numbers.high)
        return without_constants(
            Linear(rows, numbers.bias, numbers.multipliers, low, high, numbers.zero_point, numbers.input_zero_point, clamp)
        )


def without_constants(linear: Linear) -> Linear:
    """Channels that give one value for every input get weights 0: their biases are often too large for cheap arithmetic."""
    lowest, highest = linear.levels(linear.low), linear.levels(linear.high)
    constant = lowest == highest
    bias = numpy.where(constant, (lowest - linear.zero_point) * CONSTANT_STEPS, linear.bias)
    factors = numpy.where(constant, numpy.float32(1 / CONSTANT_STEPS), linear.factors).astype(numpy.float32)
    return replace(
        linear,
        rows=numpy.where(constant[:, None], 0, linear.rows),
        bias=bias,
        factors=factors,
        low=numpy.where(constant, bias, linear.low),
        high=numpy.where(constant, bias, linear.high),
    )


def fits_fraction(linear: Linear) -> numpy.ndarray:
    """Channels whose sums fit a word with 8 fraction bits, and whose multiplier can be divided by 256 exactly."""
    return (256 * linear.largest < (1 << 31) - 1) & ((linear.factors == 0) | (linear.factors > SMALLEST_DIVIDED))


@dataclass(frozen=True, eq=False)
class IntegerForm:
    """The integer requantization at one shift, as far as it is proved (multiplier 0: not proved): `low` for accumulators as
    they are, `high` for accumulators with 8 fraction bits."""

    shift: int
    low: LowForm
    high: HighForm


def integer_forms(linear: Linear, low: bool = True, high: bool = True, is_tuned: bool = True) -> Iterator[IntegerForm]:
    """One candidate for each shift; `is_tuned` as in `low_form`."""
    stairs, free = linear.staircase(), linear.free_of_clamp
    nothing = numpy.zeros(len(free), numpy.int64)
    for shift in SHIFTS:
        lows = low_form(stairs, shift, is_tuned) if low else LowForm(nothing, nothing, nothing)
        highs = high_form(stairs, shift + HIGH_SHIFT) if high else HighForm(nothing, nothing)
        yield IntegerForm(
            shift,
            replace(lows, multipliers=numpy.where(free, lows.multipliers, 0)),
            replace(highs, multipliers=numpy.where(free, highs.multipliers, 0)),
        )


def best_form(forms: Iterator[IntegerForm], proved: Callable[[IntegerForm], int], most: int) -> IntegerForm:
    """The first form that proves everything, or else the one that proves most."""
    found = []
    for form in forms:
        found.append((proved(form), form))
        if found[-1][0] == most:
            break
    return max(found, key=lambda entry: entry[0])[1]
