# SPDX-License-Identifier: MIT
"""int8 products of two matrices of which both may be computed at run time, with broadcasting batches."""

from __future__ import annotations

from aidge_build.contract.call import Call, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.kernel_kit.products import operand, product_constants, product_shape, product_spec


@kernel("MatMul", product_spec())
class MatmulInt8(KernelNode):
    instructions_per_mac = 4.5

    def call(self) -> Call:
        return Call(
            "aidge_ref_matmul_int8",
            ("int8/matmul_int8.h",),
            (
                operand(self.inputs, 0),
                operand(self.inputs, 1),
                Output(0),
                *product_constants(self.inputs, self.outputs[0]),
                product_shape("aidge_ref_matmul_int8_shape", self.inputs, self.outputs[0]),
            ),
            facts=computed("1 row x 4 columns", 0),
        )
