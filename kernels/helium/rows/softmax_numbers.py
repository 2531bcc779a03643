# SPDX-License-Identifier: MIT
"""The constants of int8 softmax kernels: exponentials and what makes levels of them, in float32 and in whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy

from aidge_build.contract.call import Constant
from aidge_build.contract.spec import NodeView
from aidge_build.operators.arithmetic.softmax import softmax_table

ROUNDINGS = 8  # of float32 besides those of a sum's additions: of terms, both divisions' operands, products
HIGHEST = 127
ROUND = 1.5 * 2.0**23  # a float to which that is added is rounded to an integer


def softmax_constants(view: NodeView, additions: int) -> tuple[Constant, Constant]:
    """Exponentials, that of the largest value last, and numbers as softmax_exactly.h names them; `additions`: of floats."""
    (data,), (output,) = view.inputs, view.outputs
    length = view.operator.row_length(data.dims)
    table = softmax_table(float(data.quantization.scale), float(output.quantization.scale), length)
    floats = [float(Fraction(1 << table.shift, table.factor)), (additions + ROUNDINGS) * 2.0**-24]
    zero_point = output.quantization.zero_point
    floats += [ROUND + HIGHEST, ROUND + zero_point]
    bits = numpy.array(floats, numpy.float32).view(numpy.int32).tolist()
    halves = numpy.array([table.factor], numpy.uint64).view(numpy.int32).tolist()
    return (
        Constant("exponentials", numpy.array(table.exponentials[::-1], numpy.uint32)),
        Constant("numbers", numpy.array([zero_point, *bits, length, table.shift, *halves], numpy.int32)),
    )
