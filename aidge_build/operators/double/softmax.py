# SPDX-License-Identifier: MIT
"""Softmax of bytes: a table of 256 exponentials in float32, their sum in order, one product for each value. int16: two tables."""

from __future__ import annotations

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.float_softmax import float_softmax
from aidge_build.operators.arithmetic.halfword_softmax import difference_factor, halfword_softmax
from aidge_build.operators.meanings import means
from aidge_build.operators.softmax import Softmax


@means(Softmax)
def _softmax(operator, values, inputs, outputs):
    (data,), (tensor,), (output,) = values, inputs, outputs
    if tensor.dtype is not output.dtype:
        raise AidgeError(
            f"Softmax from {tensor.dtype.name} to {output.dtype.name} has no meaning under the contract tflite", code="ROUNDING"
        )
    if tensor.dtype is DType.int16:
        if output.quantization.scale != 2.0**-15 or output.quantization.zero_point:
            raise AidgeError(f"{operator.type} to this scale has no meaning under the contract tflite", code="ROUNDING")
        rows = halfword_softmax(operator.rows(data), difference_factor(tensor.quantization.scale))
        return (operator.from_rows(rows, data.shape).astype(numpy.int16),)
    levels = float_softmax(operator.rows(data), tensor.quantization.scale, output.quantization.scale)
    levels = numpy.clip(levels + output.quantization.zero_point, *output.dtype.range)
    return (operator.from_rows(levels, data.shape).astype(output.dtype.numpy),)
