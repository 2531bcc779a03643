# SPDX-License-Identifier: MIT
"""Add and Sub: both addends in units of one scale, shifted left by 20 bits, then their sum."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.fixed_sums import fixed_sum
from aidge_build.arithmetic.requantize import centred, clamp_levels
from aidge_build.operators.binary import Add, Sub
from aidge_build.operators.meanings import means


@means(Add, Sub)
def _sum(operator, values, inputs, outputs):
    (output,) = outputs
    first, second = (centred(value, tensor.quantization) for value, tensor in zip(values, inputs, strict=True))
    factors = fixed_sum(*(tensor.quantization.scale for tensor in (*inputs, output)))
    levels = factors.levels(first, -second if isinstance(operator, Sub) else second) + output.quantization.zero_point
    low, high = clamp_levels(operator.minimum, operator.maximum, output.quantization, output.dtype)
    return (numpy.clip(levels, low, high).astype(output.dtype.numpy),)
