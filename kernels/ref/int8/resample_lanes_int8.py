# SPDX-License-Identifier: MIT
"""int8 Resize, linear along two neighbouring axes: two sums in a register, as halfwords without sign.

With x + 128 instead of x every sum of shares times values is below 2^16. Its quantized value is (sum * multiplier + start) >>
shift, computed for two halfwords at once if the multiplier is 1. The generator tries all possible sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Call, Struct, computed
from aidge_build.contract.kernel_kit.resample import resample_spec
from aidge_build.contract.kernel_kit.resample_lanes import Even, ResampleLanes, not_linear, sums_of
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.operators.arithmetic.requantize import requantize

LARGEST = 255  # x + 128
MOST = 65535 // LARGEST  # the product of the denominators
MOST_SHIFT = 8  # of two halfwords in a word; a mask separates their quantized values
_INT8 = (-128, 127)


@dataclass(frozen=True)
class Levels:
    """quantized value = (sum * multiplier + start) >> shift, limited to int8. `ties`: 1 or 3 if the multiplier is 1 and ties go
    to the even quantized value, told by bit `shift` of the sum (3: by the inverted bit); results are then 128 too large."""

    multiplier: int
    start: int
    shift: int
    ties: int


def levels_of(view: NodeView) -> Levels | None:
    """Returns the conversion of sums of x + 128 to quantized values; None if no such form gives all of them."""
    even, (factor, _, whole) = Even.of_means(view), sums_of(view)
    if even and even.shift <= MOST_SHIFT:
        return Levels(1, even.start, even.shift, 3 if even.is_turned else 1)
    (source,), (target,) = view.inputs, view.outputs
    sums = numpy.arange(LARGEST * whole + 1)
    centred = sums - (source.quantization.zero_point + 128) * whole
    return _scaled(sums, requantize(centred, factor, target.quantization.zero_point, *_INT8), float(factor))


def _scaled(sums: numpy.ndarray, wanted: numpy.ndarray, factor: float) -> Levels | None:
    """Returns the form with the first shift, finest first, for which a multiplier and a start give every quantized value."""
    inside = numpy.flatnonzero((wanted > _INT8[0]) & (wanted < _INT8[1]))
    if not len(inside):
        return None
    first = numpy.flatnonzero(numpy.diff(wanted, prepend=wanted[0] - 1))  # of each level
    for shift in range(30, 7, -1):
        product = round(factor * (1 << shift))
        if not 0 < product * int(sums[-1]) < 1 << 30:
            continue
        steps, level = first[1:], wanted[first[1:]]
        low = (level << shift) - steps * product
        high = (level << shift) - (steps - 1) * product - 1
        if len(steps) and low.max() <= high.min():
            start = int(low.max() + high.min()) // 2
            found = (sums * product + start) >> shift
            if abs(start) < 1 << 30 and numpy.array_equal(numpy.clip(found, *_INT8), wanted):
                return Levels(product, start, shift, 0)
    return None


def _unfit(view: NodeView) -> str:
    return not_linear(view, MOST) or ("" if levels_of(view) else "no product of 32 bits gives the levels")


@kernel("Resize", resample_spec(Predicate("sums of two axes fit 16 bits", _unfit)))
class ResampleLanesInt8(ResampleLanes):
    def call(self) -> Call:
        levels = levels_of(self.view)
        assert levels is not None
        numbers = {
            "multiplier": levels.multiplier,
            "start": levels.start,
            "shift": levels.shift,
            "flipped": 0x00010001 * (levels.ties >> 1),
        }
        name = f"aidge_ref_resample_lanes_{'even' if levels.ties else 'scaled'}"
        arguments = self.arguments(Struct("aidge_ref_lanes_levels", numbers))
        return Call(name, ("int8/resample_lanes_int8.h",), arguments, facts=computed("4 values", 1))
