# SPDX-License-Identifier: MIT
"""int8 softmax in exact integers, along one axis in any storage order."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.softmax import are_factored, constants
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.rows import ALONG_ONE_AXIS, softmax_shape


@kernel(
    "Softmax",
    ImplSpec(inputs=(IOSpec(DType.int8, SAME),), outputs=(IOSpec(DType.int8, SAME),), predicates=(ALL_QUANTIZED, ALONG_ONE_AXIS)),
)
class SoftmaxInt8(KernelNode):
    def call(self) -> Call:
        is_factored = are_factored(self.view)
        return Call(
            f"aidge_ref_softmax_{'factored_' * is_factored}int8",
            ("int8/softmax_int8.h",),
            (Input(0), Output(0), *constants(self.view, is_factored), softmax_shape(self.operator, self.outputs[0])),
        )
