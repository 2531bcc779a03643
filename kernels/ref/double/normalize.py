# SPDX-License-Identifier: MIT
"""Rows of length one, int8, under the contract `double`."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.rows import rows_along
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT
from aidge_build.operators.double.functions import NORM_SCALE

from ..shared.rows import softmax_shape

MOST_DIFFERENCE = 255  # of a stored value and its zero point


def _unmeant(view: NodeView) -> str:
    made = view.outputs[0].quantization
    if view.operator.order != 2 or made.scale != NORM_SCALE or made.zero_point:
        return "the output must be in units of 1 / 128, the norm of order 2"
    length = view.inputs[0].dims[view.operator.axis]
    return "" if length * MOST_DIFFERENCE**2 < INT32_LIMIT else f"the sum of {length} squares could leave int32"


@kernel(
    "LpNormalization",
    ImplSpec(
        IOSpec(DType.int8, SAME),
        predicates=(ALL_QUANTIZED, Predicate("order 2, to units of 1 / 128", _unmeant)),
        rounding="double",
    ),
)
class NormalizeDouble(KernelNode):
    def call(self) -> Call:
        (data,) = self.inputs
        return Call(
            "aidge_ref_normalize_double_int8",
            ("double/normalize.h",),
            (
                Input(0),
                Output(0),
                Literal(data.quantization.zero_point),
                softmax_shape(rows_along(data, self.operator.axis)),
            ),
        )
