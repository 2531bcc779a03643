# SPDX-License-Identifier: MIT
"""The constants of an int8 convolution or fully connected layer: folded bias, ranges of accumulators, requantization."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy

from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS
from aidge_build.contract.kernel_kit.linear import linear_constants
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.arithmetic.contracts import FixedFactors, Requantization
from aidge_build.operators.arithmetic.fixed_form import FixedForm, fixed_form
from aidge_build.operators.arithmetic.thresholds import HighForm, LowForm, Staircase, high_form, low_form, staircase

INT8 = (-128, 127)
SHIFTS = (4, 6, 2, 8)  # of the linear integer form, in order of preference: few, so that few texts differ
ABOVE = 128  # makes quantized values unsigned
HIGH_SHIFT = 8  # accumulators that carry 8 fraction bits are shifted by this many bits more
SMALLEST_DIVIDED = 2.0**-100
MOST_UNIT = 128  # of weights that are multiples of it
LARGEST_FIXED = 0.5  # factors below it have a form in arithmetic/fixed_form.py
CONSTANT_STEPS = 1024  # accumulator steps per output step in a channel that is constant


@dataclass(frozen=True, eq=False)
class Linear:
    """Per output channel: `rows` [channels, taps], `bias` with the input's zero point folded in, the range of the accumulator.

    `fractions` are integers in 0..unit - 1: the bias is `bias` + fraction / unit, in units of the sums. `requantization` scales
    `unit` times the sum, with a factor for each channel. `is_any`: other weights must get the same code. `bits`: a weight shall
    take so many in flash, 1 (for -1 and 1 alone), 2 or 4 (in two's complement), or 8.
    """

    rows: numpy.ndarray
    bias: numpy.ndarray
    requantization: Requantization
    low: numpy.ndarray
    high: numpy.ndarray
    zero_point: int  # of the output
    input_zero_point: int
    clamp: tuple[int, int]
    fractions: numpy.ndarray
    unit: int = 1  # a power of two
    is_any: bool = False
    bits: int = 8

    @property
    def factors(self) -> numpy.ndarray:
        """The factor of each channel's sums, float32: exact under the contract `onnx`, else near the exact factor."""
        return self.requantization.slopes.astype(numpy.float32) * numpy.float32(self.unit)

    @property
    def is_clamped(self) -> bool:
        """Whether the output is limited to less than int8."""
        return self.clamp != INT8

    @property
    def largest(self) -> numpy.ndarray:
        """The largest |accumulator| of each channel."""
        return numpy.maximum(numpy.abs(self.low), numpy.abs(self.high))

    def levels(self, accumulators: numpy.ndarray) -> numpy.ndarray:
        """Returns the quantized values for one accumulator per channel."""
        return self._levels(accumulators, self.clamp)

    def _levels(self, accumulators: numpy.ndarray, clamp: tuple[int, int]) -> numpy.ndarray:
        sums = accumulators * self.unit + self.fractions
        return self.requantization.levels(sums, 0, self.zero_point, *clamp)

    @property
    def free_of_clamp(self) -> numpy.ndarray:
        """Whether, for each channel, the clamp changes no output that int8 alone would not change."""
        ends = [self._levels(numpy.clip(end, -(1 << 31), (1 << 31) - 1), INT8) for end in (self.low, self.high)]
        return (ends[0] >= self.clamp[0]) & (ends[1] <= self.clamp[1]) | (not self.is_clamped)

    def staircase(self) -> Staircase:
        """Returns the accumulators of each channel at which the output changes, before the clamp."""
        return self._staircase

    @cached_property
    def _staircase(self) -> Staircase:
        return staircase(self.requantization, self.zero_point, self.low, self.high, self.fractions, self.unit)

    def of(self, channels: numpy.ndarray) -> Linear:
        """Returns the layer with these channels, in this order."""
        fields = {field: getattr(self, field)[channels] for field in ("rows", "bias", "low", "high", "fractions")}
        return replace(self, requantization=self.requantization.of(channels), **fields)

    def fixed_form(self, added: int = 0) -> FixedForm | None:
        """Returns the form that computes quantized value + `added` before the clamp; None if the contract has no fixed-point
        factors."""
        if not isinstance(self.requantization, FixedFactors):
            return None
        return fixed_form(self.requantization, self.zero_point + added, self.low, self.high)

    def in_fine_units(self) -> Linear:
        """Returns the same layer with weights `unit` times as large, and without fractions."""
        finer = {field: self.unit * getattr(self, field) + self.fractions for field in ("bias", "low", "high")}
        return replace(
            self,
            rows=self.rows * self.unit,
            fractions=numpy.zeros_like(self.fractions),
            unit=1,
            **finer,
        )


class LinearNode(KernelNode):
    """A layer of int32 sums that are requantized per channel."""

    def linear(self, rows: numpy.ndarray) -> Linear:
        """Returns the layer with these weights [channels, taps]; AidgeError if an accumulator could leave int32."""
        numbers, rows = linear_constants(self.operator, self.inputs, self.outputs[0], rows), rows.astype(numpy.int64)
        products = [rows * end for end in self.inputs[0].dtype.range]
        low, high = (numbers.bias + ends.sum(axis=1) for ends in (numpy.minimum(*products), numpy.maximum(*products)))
        clamp, nothing = (numbers.low, numbers.high), numpy.zeros(len(rows), numpy.int64)
        points = numbers.zero_point, numbers.input_zero_point
        found = Linear(
            rows, numbers.bias, numbers.requantization, low, high, *points, clamp, nothing, is_any=self.view.any_weights
        )
        is_coarse = self.inputs[1].dtype is DType.int16 and not isinstance(numbers.requantization, FixedFactors)
        found = without_constants(_in_coarse_units(found) if is_coarse else found)
        return replace(found, bits=fewest_bits(found.rows)) if self.view.packs_weights else found


def fewest_bits(rows: numpy.ndarray) -> int:
    """Returns the fewest bits that hold every weight, of 1 (-1 and 1 alone), 2, 4 and 8."""
    low, high = int(rows.min(initial=0)), int(rows.max(initial=0))
    if (abs(rows) == 1).all():
        return 1
    return next((bits for bits in (2, 4) if -(1 << bits - 1) <= low and high < 1 << bits - 1), 8)


def _no_fixed_form(view: NodeView) -> str:
    (output,) = view.outputs
    if output.quantization.rounding == Quantization.rounding:  # the default: quick, as every layer is asked this
        return ""
    factors = view.operator.requantization(view.inputs, output)
    if not isinstance(factors, FixedFactors):
        return ""
    weights = view.inputs[1].data
    fits = factors.slopes < LARGEST_FIXED
    if fits.all():
        fits = LinearNode(view).linear(weights.reshape(len(weights), -1)).fixed_form(ABOVE).fits
    return "" if fits.all() else f"output channel {int(numpy.argmin(fits))} has a factor of 0.5 or more, or sums of over 30 bits"


FIXED_FORM = Predicate("under the contract double factors below 0.5, sums of 30 bits", _no_fixed_form)


def quantized_spec(
    form: DFormat,
    *predicates: Predicate,
    data: DType = DType.int8,
    features: frozenset[str] = frozenset(),
    rounding: str = ImplSpec.rounding,
) -> ImplSpec:
    """Returns the spec of a layer with `data` in and out, symmetric weights of any type, int32 bias."""
    return ImplSpec(
        inputs=(IOSpec(data, form), IOSpec(DType.any, ANY), IOSpec(DType.int32, ANY)),
        outputs=(IOSpec(data, form),),
        features=features,
        predicates=(CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS, *predicates),
        rounding=rounding,
    )


def _in_coarse_units(linear: Linear) -> Linear:
    """Divides weights that are multiples of a power of two by it; the rest of the bias becomes its fraction."""
    every = int(numpy.bitwise_or.reduce(linear.rows, axis=None))
    unit = min(every & -every, MOST_UNIT) if every else 1
    coarser = {field: getattr(linear, field) // unit for field in ("bias", "low", "high")}
    return replace(
        linear,
        rows=linear.rows // unit,
        fractions=linear.bias % unit,
        unit=unit,
        **coarser,
    )


def without_constants(linear: Linear) -> Linear:
    """Sets the weights of channels that give one value for every input to 0, as their biases are often too large for cheap
    arithmetic."""
    lowest, highest = linear.levels(linear.low), linear.levels(linear.high)
    constant = lowest == highest
    bias = numpy.where(constant, (lowest - linear.zero_point) * CONSTANT_STEPS, linear.bias)
    return replace(
        linear,
        rows=numpy.where(constant[:, None], 0, linear.rows),
        bias=bias,
        requantization=linear.requantization.replaced(constant, 1 / (CONSTANT_STEPS * linear.unit)),
        low=numpy.where(constant, bias, linear.low),
        high=numpy.where(constant, bias, linear.high),
        fractions=numpy.where(constant, 0, linear.fractions),
    )


def fits_fraction(linear: Linear, scale: int = 256) -> numpy.ndarray:
    """Whether, for each channel, the sums fit a word with 8 fraction bits (`scale`) and the multiplier can be divided by 256
    exactly."""
    return (scale * linear.largest < (1 << 31) - scale) & ((linear.factors == 0) | (linear.factors > SMALLEST_DIVIDED))


@dataclass(frozen=True, eq=False)
class IntegerForm:
    """The linear integer form at one shift, where it is proved (multiplier 0: not proved). `low` is for plain accumulators,
    `high` for accumulators with 8 fraction bits (from `word_forms` also for plain ones)."""

    shift: int
    low: LowForm
    high: LowForm | HighForm


def integer_forms(
    linear: Linear, low: bool = True, high: bool = True, is_tuned: bool = True, scale: int = 256
) -> Iterator[IntegerForm]:
    """Yields one candidate for each shift, with unchanged weights; `is_tuned` as in `low_form`, `scale` as in `high_form`."""
    stairs, free = linear.staircase(), linear.free_of_clamp
    nothing = numpy.zeros(len(free), numpy.int64)
    for shift in shifts_of(linear):
        lows = low_form(stairs, shift, is_tuned) if low else LowForm(nothing, nothing, nothing)
        highs = high_form(stairs, shift + HIGH_SHIFT, scale) if high else HighForm(nothing, nothing)
        yield IntegerForm(
            shift,
            replace(lows, multipliers=numpy.where(free, lows.multipliers, 0)),
            replace(highs, multipliers=numpy.where(free, highs.multipliers, 0)),
        )


def shifts_of(linear: Linear) -> tuple[int, ...]:
    """Returns the shifts for which a form is searched. The shift that proves most channels depends on the weights."""
    return SHIFTS[:1] if linear.is_any else SHIFTS


def word_forms(linear: Linear, is_packed: bool) -> Iterator[IntegerForm]:
    """Yields one candidate for each shift, for outputs in halves of words, which hold y + ABOVE before the limits of int8. `low`,
    at shift 0, is for the lower halves; `high` is for the upper halves, with accumulators that have 8 fraction bits if
    `is_packed`. Only channels whose values stay within 16 bits have a form."""
    stairs, free = linear.staircase(), linear.free_of_clamp
    lower = _in_halves(linear, low_form(stairs, 0), 0, free)
    for shift in shifts_of(linear):
        upper: LowForm | HighForm = low_form(stairs, shift)
        if is_packed:
            upper = high_form(stairs, shift + HIGH_SHIFT, added=ABOVE)
        yield IntegerForm(shift, lower, _in_halves(linear, upper, shift + HIGH_SHIFT * is_packed, free))


def _in_halves(linear: Linear, form: LowForm | HighForm, shift: int, free: numpy.ndarray):
    """Returns the form of y + ABOVE, for channels whose values fit 16 bits at both ends of the range; in between they rise."""
    if isinstance(form, LowForm):
        form = replace(form, constants=form.constants + (ABOVE << shift))
        ends = [((end + form.extras) * form.multipliers >> 32) + form.constants for end in (linear.low, linear.high)]
    else:
        ends = [(256 * end + form.offsets) * form.multipliers >> 32 for end in (linear.low, linear.high)]
    fits = (ends[0] >> shift >= -(1 << 15)) & (ends[1] >> shift < 1 << 15)
    return replace(form, multipliers=numpy.where(fits & free, form.multipliers, 0))


def fine_form(linear: Linear) -> IntegerForm:
    """Returns the best form without constants for the sums of `in_fine_units`, which carry fraction bits in every channel."""
    stairs, count, free = linear.staircase(), len(linear.rows), linear.free_of_clamp
    highs = [(shift, high_form(stairs, shift, linear.unit)) for shift in (shift + HIGH_SHIFT for shift in shifts_of(linear))]
    shift, high = max(highs, key=lambda found: int((found[1].multipliers > 0).sum()))
    multipliers = numpy.where(free, high.multipliers, 0)
    extras = high.offsets - numpy.where(multipliers > 0, linear.fractions, 0)  # the bias holds the fraction already
    return IntegerForm(shift, LowForm(multipliers, extras, numpy.zeros(count, numpy.int64)), high)


def best_form(forms: Iterator[IntegerForm], proved: Callable[[IntegerForm], int], most: int) -> IntegerForm:
    """Returns the first form that proves everything, else the form that proves most."""
    found = []
    for form in forms:
        found.append((proved(form), form))
        if found[-1][0] == most:
            break
    return max(found, key=lambda entry: entry[0])[1]
