# SPDX-License-Identifier: MIT
"""Add and Sub: both addends in units of one scale, shifted left by 20 bits (int16: by 15), then their sum."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.fixed_sums import LEFT_SHIFT, LEFT_SHIFT_HALFWORDS, FixedSum, fixed_sum
from aidge_build.operators.arithmetic.requantize import centred, clamp_levels
from aidge_build.operators.binary import Add, Sub
from aidge_build.operators.meanings import means


@means(Add, Sub)
def _sum(operator, values, inputs, outputs):
    (output,) = outputs
    first, second = (centred(value, tensor.quantization) for value, tensor in zip(values, inputs, strict=True))
    factors = sum_factors(inputs, output)
    levels = factors.levels(first, -second if isinstance(operator, Sub) else second) + output.quantization.zero_point
    low, high = clamp_levels(operator.minimum, operator.maximum, output.quantization, output.dtype)
    return (numpy.clip(levels, low, high).astype(output.dtype.numpy),)


def sum_factors(inputs, output) -> FixedSum:
    """Returns the factors of both addends and of the sum."""
    left = LEFT_SHIFT_HALFWORDS if output.dtype is DType.int16 else LEFT_SHIFT
    first, second, total = (tensor.quantization.scale for tensor in (*inputs, output))
    return fixed_sum(first, second, total, left)
