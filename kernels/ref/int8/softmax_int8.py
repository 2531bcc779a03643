# SPDX-License-Identifier: MIT
"""int8 softmax in exact integers, along one axis in any storage order."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.softmax import softmax_table
from aidge_build.contract.call import Call, Constant, Input, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED

from ..shared.rows import ALONG_ONE_AXIS, softmax_shape


@kernel(
    "Softmax",
    ImplSpec(inputs=(IOSpec(DType.int8, SAME),), outputs=(IOSpec(DType.int8, SAME),), predicates=(ALL_QUANTIZED, ALONG_ONE_AXIS)),
)
class SoftmaxInt8(KernelNode):
    def call(self) -> Call:
        (data,), (output,) = self.inputs, self.outputs
        length = self.operator.row_length(data.dims)
        table = softmax_table(data.quantization.scale, output.quantization.scale, length)
        return Call(
            "aidge_ref_softmax_int8",
            ("int8/softmax_int8.h",),
            (
                Input(0),
                Output(0),
                Constant("exponentials", numpy.array(table.exponentials, numpy.uint32)),
                Constant("quotient", numpy.array([table.shift, table.factor], numpy.uint64)),
                Constant("zero_point", numpy.array([output.quantization.zero_point], numpy.int32)),
                softmax_shape(self.operator, output),
            ),
        )
