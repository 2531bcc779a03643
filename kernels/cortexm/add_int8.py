# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

import functools

import numpy

from aidge_build.arithmetic.affine import FIRST, SECOND
from aidge_build.arithmetic.fixed_point import exact_ratio
from aidge_build.arithmetic.halfword_sums import HalfwordSum, halfword_sum
from aidge_build.arithmetic.requantize import clamp_levels
from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.kernel_kit.linear_int8 import INT8
from aidge_build.kernel_kit.rows_int8 import RowsInt8, rows_spec
from aidge_build.operators.base import Operator
from aidge_build.reference.evaluate import evaluate

from .add import WORDS, routine
from .conditions import FEATURES


def _clamp(view: NodeView) -> str:
    (output,) = view.outputs
    clamp = clamp_levels(view.operator.minimum, view.operator.maximum, output.quantization, output.dtype)
    return "" if clamp == INT8 else f"the output is limited to {clamp[0]}..{clamp[1]}"


def _unproved(view: NodeView) -> str:
    return "" if _found(view) else "no factors of this form are exact for all 65,536 pairs of values"


def _found(view: NodeView) -> HalfwordSum | None:
    return _search(view.operator, *(tensor.quantization for tensor in (*view.inputs, *view.outputs)))


@functools.lru_cache(64)
def _search(operator: Operator, *quantizations: Quantization) -> HalfwordSum | None:
    values = [values.astype(numpy.int8) for values in (FIRST, SECOND)]
    *inputs, output = (Tensor("", FIRST.shape, DType.int8, quantization=quantization) for quantization in quantizations)
    meaning = evaluate(operator, values, inputs, (output,))[0].astype(numpy.int64)
    first, second, result = (quantization.scale for quantization in quantizations)
    sign = -1 if operator.type == "Sub" else 1
    return halfword_sum(
        (exact_ratio(first, result), sign * exact_ratio(second, result)),
        tuple(quantization.zero_point for quantization in quantizations),
        meaning,
    )


CONDITIONS = (Predicate("the output uses all of int8", _clamp), Predicate("exact with 16 or 20 fraction bits", _unproved))


@kernel(("Add", "Sub"), rows_spec(FEATURES, SAME, *CONDITIONS))
class AddInt8(RowsInt8):
    def call(self) -> Call:
        found = _found(self.view)
        row, text = routine(found.bits)
        constants = numpy.array([found.first, found.second, found.offset], numpy.int32)
        return self.by_rows(
            row,
            "add_int8.h",
            Constant("sum", constants),
            text,
            note=f"{found.bits} fraction bits, proved equal on all 65,536 pairs of values",
            facts=computed(f"{4 * WORDS} values", 1),
        )


@kernel(("Add", "Sub"), rows_spec(FEATURES, CHANNELS_LAST, *CONDITIONS))
class AddPixelsInt8(AddInt8):
    """One term repeats, pixel by pixel."""


@kernel(("Add", "Sub"), rows_spec(FEATURES, ROW_MAJOR, *CONDITIONS))
class AddRowsInt8(AddInt8):
    """One term repeats, row by row."""
