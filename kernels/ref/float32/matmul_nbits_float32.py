# SPDX-License-Identifier: MIT
"""float32 products with packed weights, which are unpacked one by one: flash holds what the file holds."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Struct
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

DATA = IOSpec(DType.float32, ROW_MAJOR)


@kernel(
    "MatMulNBits",
    ImplSpec((DATA, IOSpec(DType.uint8), IOSpec(DType.float32), IOSpec(), IOSpec()), (DATA,), (CONSTANT_PARAMETERS,)),
)
class MatMulNBitsFloat32(KernelNode):
    def call(self) -> Call:
        operator, (_, packed, *parameters) = self.operator, self.inputs
        scales, zero_points, bias = (*(None if one is None else one.data for one in parameters), *(None,) * (3 - len(parameters)))
        scales, zeros = operator.parameters(scales, zero_points)
        fields = {
            "rows": self.outputs[0].elements // operator.columns,
            "depth": operator.depth,
            "columns": operator.columns,
            "bits": operator.bits,
            "block": operator.block,
        }
        return Call(
            "aidge_ref_matmul_nbits_float32",
            ("float32/matmul_nbits_float32.h",),
            (
                Input(0),
                Output(0),
                Constant("weights", packed.data.reshape(-1)),
                Constant("scales", scales.astype(numpy.float32)),
                Constant("zeros", zeros.astype(numpy.uint8)),
                Constant("bias", numpy.zeros(operator.columns, numpy.float32) if bias is None else bias.astype(numpy.float32)),
                Struct("aidge_ref_nbits_shape", fields),
            ),
        )
