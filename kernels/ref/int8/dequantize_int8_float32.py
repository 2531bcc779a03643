# SPDX-License-Identifier: MIT
"""DequantizeLinear from int8 to float32."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.channels import LinearConversion


@kernel(
    "DequantizeLinear",
    ImplSpec(
        inputs=(IOSpec(DType.int8, SAME), IOSpec(DType.float32, ANY), IOSpec(DType.int8, ANY)),
        outputs=(IOSpec(DType.float32, SAME),),
        predicates=(CONSTANT_PARAMETERS,),
    ),
)
class DequantizeInt8Float32(LinearConversion):
    def call(self) -> Call:
        return Call("aidge_ref_dequantize_int8_float32", ("int8/dequantize_int8_float32.h",), self.arguments())
