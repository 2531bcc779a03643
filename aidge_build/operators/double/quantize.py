# SPDX-License-Identifier: MIT
"""QuantizeLinear of real numbers: the quotient in float32, rounded half away from zero."""

from __future__ import annotations

from aidge_build.operators.arithmetic.requantize import quantize_away
from aidge_build.operators.meanings import means
from aidge_build.operators.quantize import QuantizeLinear


@means(QuantizeLinear)
def _quantize(operator, values, inputs, outputs):
    (output,) = outputs
    return (quantize_away(values[0], output.quantization, output.dtype),)
