# SPDX-License-Identifier: MIT
"""Sigmoid and Tanh of int16 tensors under the contract `double`."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.halfword_functions import PLACE_BITS, sigmoid_factor, sigmoid_table, tanh_factor

UNIT = 2.0**-15
MOST_MULTIPLIER = (1 << 15) - 1


def _unmeant(view: NodeView) -> str:
    (data,), (output,) = view.inputs, view.outputs
    if data.quantization.zero_point or output.quantization.zero_point or output.quantization.scale != UNIT:
        return "the output must be in units of 2^-15, zero points 0"
    return "" if _factor(view)[0] <= MOST_MULTIPLIER else "inputs of such a large scale leave int32"


def _factor(view: NodeView) -> tuple[int, int]:
    return (tanh_factor if view.node.type == "Tanh" else sigmoid_factor)(view.inputs[0].quantization.scale)


_SIDE = IOSpec(DType.int16, SAME)


@kernel(
    ("Sigmoid", "Tanh"), ImplSpec(_SIDE, predicates=(ALL_QUANTIZED, Predicate("to units of 2^-15", _unmeant)), rounding="double")
)
class SaturatingDouble(ElementWise):
    def call(self) -> Call:
        bits = PLACE_BITS - 1 if self.node.type == "Tanh" else PLACE_BITS
        return Call(
            "aidge_ref_saturating_double_int16",
            ("double/saturating.h",),
            (
                Input(0),
                Output(0),
                Constant("table", numpy.array(sigmoid_table(), numpy.uint16)),
                Constant("numbers", numpy.array([*_factor(self.view), bits], numpy.int32)),
                Literal(self.outputs[0].elements),
            ),
        )
