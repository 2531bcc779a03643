# SPDX-License-Identifier: MIT
"""The contract `double` in a few integer instructions, for sums without a cheaper proved form.

y = (high + constant) >> shift with high = hi32(2 * acc * m) and constant = (zero point + 1/2) << shift. If the contract rounds
twice, the high word is rounded to nearest, and for sums below zero it is decremented: ties of the shift then round away from
zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.arithmetic.contracts import FixedFactors

_WORD = 1 << 31


@dataclass(frozen=True, eq=False)
class FixedForm:
    """Per channel, int64. `once`: products are rounded once; `fits`: nothing leaves int32 and the shift is at least one."""

    multipliers: numpy.ndarray
    constants: numpy.ndarray
    shifts: numpy.ndarray
    fits: numpy.ndarray
    once: bool

    def apply(self, channel: int, accumulators: numpy.ndarray) -> numpy.ndarray:
        """Returns the result of the formula for int64 accumulators of one channel, before the clamp."""
        products = 2 * accumulators * int(self.multipliers[channel])
        high = products >> 32 if self.once else ((products + _WORD) >> 32) - (accumulators < 0)
        return (high + int(self.constants[channel])) >> int(self.shifts[channel])


def fixed_form(factors: FixedFactors, zero_point: int, low: numpy.ndarray, high: numpy.ndarray) -> FixedForm:
    """Returns the form for accumulators low..high of each channel."""
    multipliers, shifts = factors.factors.T
    right = numpy.maximum(-shifts, 1)
    constants = (2 * zero_point + 1) << (right - 1)
    doubled = 2 * numpy.maximum(numpy.abs(low), numpy.abs(high))
    within = (doubled < _WORD) & (doubled // 2 + numpy.abs(constants) + 2 < _WORD)
    return FixedForm(multipliers, constants, right, within & (shifts == -right), factors.once)
