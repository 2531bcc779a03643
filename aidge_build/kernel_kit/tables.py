# SPDX-License-Identifier: MIT
"""Functions of one int8 value as 256 entries."""

from __future__ import annotations

import numpy

from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Operator
from aidge_build.reference.evaluate import evaluate

FUNCTIONS = ("ElementWise", "Clip")  # every operator of the kind, those that users add included
LEVELS = numpy.arange(-128, 128, dtype=numpy.int8)


def table_of(operator: Operator, source: Tensor, result: Tensor) -> numpy.ndarray:
    """The stored result for each stored value -128..127; where the function has none, the zero point (`undefined.py` says so)."""
    dims = (len(LEVELS),)
    return evaluate(operator, [LEVELS], [source.with_(dims=dims, format=None)], [result.with_(dims=dims, format=None)])[0]
