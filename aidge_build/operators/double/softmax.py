# SPDX-License-Identifier: MIT
"""Softmax of 8-bit values: a table of 256 exponentials in float32, their sum in order, one product for each value."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.float_softmax import float_softmax
from aidge_build.operators.meanings import means
from aidge_build.operators.softmax import Softmax


@means(Softmax)
def _softmax(operator, values, inputs, outputs):
    (data,), (tensor,), (output,) = values, inputs, outputs
    levels = float_softmax(operator.rows(data), tensor.quantization.scale, output.quantization.scale)
    levels = numpy.clip(levels + output.quantization.zero_point, *output.dtype.range)
    return (operator.from_rows(levels, data.shape).astype(output.dtype.numpy),)
