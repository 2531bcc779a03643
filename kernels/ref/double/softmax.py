# SPDX-License-Identifier: MIT
"""Softmax of int8 tensors under the contract `double`."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.float_softmax import exponential_table
from aidge_build.contract.call import Call, Constant, Input, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED

from ..shared.rows import ALONG_ONE_AXIS, softmax_shape

LEAST_SCALE = 2.0**-24  # of the output: its levels then fit int32


def _fits(view: NodeView) -> str:
    return "" if view.outputs[0].quantization.scale >= LEAST_SCALE else "levels of such a small output scale could leave int32"


@kernel(
    "Softmax",
    ImplSpec(
        inputs=(IOSpec(DType.int8, SAME),),
        outputs=(IOSpec(DType.int8, SAME),),
        predicates=(ALL_QUANTIZED, ALONG_ONE_AXIS, Predicate("levels that int32 holds", _fits)),
        rounding="double",
    ),
)
class SoftmaxDouble(KernelNode):
    def call(self) -> Call:
        (data,), (output,) = self.inputs, self.outputs
        return Call(
            "aidge_ref_softmax_double_int8",
            ("double/softmax.h",),
            (
                Input(0),
                Output(0),
                Constant("terms", exponential_table(data.quantization.scale)),
                Constant("scale", numpy.array([output.quantization.scale], numpy.float32)),
                Constant("zero_point", numpy.array([output.quantization.zero_point], numpy.int32)),
                softmax_shape(self.operator, output),
            ),
        )
