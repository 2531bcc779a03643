# SPDX-License-Identifier: MIT
"""Rescalings as constants in the order of rounding.h."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Constant
from aidge_build.operators.arithmetic.fixed_point import Rescale


def rescale_constant(rescales: Sequence[Rescale]) -> Constant:
    """int64 {multiplier, shift, divisor} of each."""
    return Constant("rescale", numpy.array([[r.multiplier, r.shift, r.divisor] for r in rescales], numpy.int64))
