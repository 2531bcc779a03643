# SPDX-License-Identifier: MIT
"""int8 softmax in exact integers."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.rows import rows_of, softmax_specs
from aidge_build.contract.kernel_kit.softmax import are_factored, constants
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.graph.dtype import DType

from ..shared.rows import softmax_shape


@kernel("Softmax", softmax_specs(DType.int8, ALL_QUANTIZED))
class SoftmaxInt8(KernelNode):
    def call(self) -> Call:
        is_factored = are_factored(self.view)
        shape = softmax_shape(rows_of(self.operator, self.outputs[0]))
        return Call(
            f"aidge_ref_softmax_{'factored_' * is_factored}int8",
            ("int8/softmax_int8.h",),
            (Input(0), Output(0), *constants(self.view, is_factored), shape),
        )
