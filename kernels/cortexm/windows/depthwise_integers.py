# SPDX-License-Identifier: MIT
"""The integer requantization of a depthwise layer, as far as it is proved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import HIGH_SHIFT, INT8, Linear, best_form, fits_fraction, integer_forms
from aidge_build.operators.arithmetic.ties_to_even import even_form

from ..core.limits import Limits, limits_of

MOST_FREE = 0.3  # of the channels that no clamp changes, where all of them are limited


@dataclass(frozen=True, eq=False)
class Integers:
    """Per channel a multiplier (0: the sums are shifted alone), and what is added to the sums, where it `is_proved`.

    `shift` is HIGH_SHIFT less than what sums are shifted by. `scales` (None: as `channel_scales` says) make weights larger.
    `has_ends`: levels must be limited by more than the saturation of `limits`.
    """

    shift: int
    is_proved: numpy.ndarray
    multipliers: numpy.ndarray
    offsets: numpy.ndarray
    limits: Limits
    has_ends: bool
    scales: numpy.ndarray | None = None

    @property
    def is_even(self) -> bool:
        """Whether halves go to even."""
        return self.scales is not None

    def without(self) -> Integers:
        """With nothing proved."""
        return replace(self, is_proved=numpy.zeros_like(self.is_proved), has_ends=False)


def integers_of(linear: Linear, has_fpu: bool) -> Integers:
    """The form that proves most. Limits that no saturation has wait in registers of the FPU."""
    limits, free = limits_of(linear.clamp), linear.free_of_clamp
    has_ends = limits.is_more and has_fpu and bool(free.mean() < MOST_FREE) and not linear.is_any
    if has_ends or not limits.is_more:
        linear = replace(linear, clamp=INT8)
    scale = weights_scale(linear)
    form = best_form(
        integer_forms(linear, low=False, scale=scale),
        lambda candidate: int((candidate.high.multipliers > 0).sum()),
        len(linear.rows),
    )
    found = Integers(form.shift, form.high.multipliers > 0, form.high.multipliers, form.high.offsets, limits, has_ends)
    is_whole = linear.unit == 1 and not linear.fractions.any()
    if linear.is_any or found.is_proved.all() or not is_whole or (limits.is_more and not (has_ends or free.all())):
        return found
    even = even_form(linear.requantization, linear.zero_point, linear.largest, scale)
    if even is None or even.shift < HIGH_SHIFT:
        return found
    nothing = numpy.zeros_like(found.multipliers)
    every = numpy.ones_like(found.is_proved)
    return Integers(even.shift - HIGH_SHIFT, every, nothing, nothing + even.offset, limits, has_ends, even.scales)


def weights_scale(linear: Linear) -> int:
    """By what weights are multiplied so that sums carry as many fraction bits as int16 weights allow."""
    widest = max(int(linear.rows.max(initial=0)), -int(linear.rows.min(initial=0)) - 1)
    return next(scale for scale in (256, 128, 64, 32, 16, 8, 4, 2, 1) if widest * scale < 1 << 15 or scale == 1)


def channel_scales(linear: Linear, integers: Integers, in_float: bool, is_doubled: bool = False) -> numpy.ndarray:
    """By what the weights of each channel are multiplied; `in_float`: those that are not proved go through the FPU."""
    if integers.scales is not None:
        return integers.scales
    scale = weights_scale(linear)
    return numpy.where(fits_fraction(linear, scale) & (integers.is_proved | in_float), scale, 2 if is_doubled else linear.unit)
