# SPDX-License-Identifier: MIT
"""Functions of one int8 value as 256 entries, or as a linear integer form of two constants."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.spec import NodeView
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.straight_levels import straight_numbers
from aidge_build.operators.base import Operator

FUNCTIONS = ("ElementWise", "Clip")  # every operator of the kind, operators that users add included
LEVELS = numpy.arange(-128, 128, dtype=numpy.int8)


def table_of(operator: Operator, source: Tensor, result: Tensor) -> numpy.ndarray:
    """Returns the stored result for each stored value -128..127; the zero point if the function has none (`undefined.py` says
    so)."""
    return results_of_levels(operator, source, result)


def results_of_levels(operator: Operator, source: Tensor, result: Tensor) -> numpy.ndarray:
    """Returns the stored result for each value of the source's type of 8 or 16 bits, from the lowest."""
    low, high = source.dtype.range
    levels = numpy.arange(low, high + 1).astype(source.dtype.numpy)
    dims = levels.shape
    return evaluate(operator, [levels], [source.with_(dims=dims, format=None)], [result.with_(dims=dims, format=None)])[0]


def straight_call(view: NodeView, function: str = "aidge_kit_straight_int8", header: str = "kit/straight.h") -> Call | None:
    """Returns the call of a C function with the parameters of kit/straight.h in place of a table. Returns None if the node has no
    linear integer form, if the build does not ask for the fewest bytes, or if the model may be replaced in the field: with other
    scales the form may not exist."""
    if view.objective != "size" or view.any_weights:
        return None
    numbers = straight_numbers(table_of(view.node.operator, view.inputs[0], view.outputs[0]))
    if numbers is None:
        return None
    arguments = (Input(0), Output(0), Constant("line", numpy.array(numbers, numpy.int32)), Literal(view.outputs[0].elements))
    return Call(function, (header,), arguments, note="a straight line in place of a table", facts=computed("1 value"))
