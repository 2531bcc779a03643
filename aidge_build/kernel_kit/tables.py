# SPDX-License-Identifier: MIT
"""Functions of one int8 value as 256 entries."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.requantize import dequantize_linear
from aidge_build.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Operator
from aidge_build.reference.evaluate import evaluate

FUNCTIONS = ("ElementWise", "Clip")  # every operator of the kind, those that users add included
LEVELS = numpy.arange(-128, 128, dtype=numpy.int8)


def table_of(operator: Operator, source: Tensor, result: Tensor) -> numpy.ndarray:
    """The stored result for each stored value -128..127."""
    with numpy.errstate(all="ignore"):
        (real,) = operator.evaluated(dequantize_linear(LEVELS, source.quantization))
    if numpy.isnan(real).any():
        raise AidgeError(
            f"the result for the stored value {int(LEVELS[numpy.isnan(real)][0])} is not a number",
            code="RANGE",
            hint="an int8 tensor cannot hold NaN: restrict the range of the input",
        )
    dims = (len(LEVELS),)
    return evaluate(operator, [LEVELS], [source.with_(dims=dims, format=None)], [result.with_(dims=dims, format=None)])[0]
