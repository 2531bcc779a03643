# SPDX-License-Identifier: MIT
"""QuantizeLinear from float32 to int8."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.channels import LinearConversion


@kernel(
    "QuantizeLinear",
    ImplSpec(
        inputs=(IOSpec(DType.float32, SAME), IOSpec(DType.float32, ANY), IOSpec(DType.int8, ANY)),
        outputs=(IOSpec(DType.int8, SAME),),
        predicates=(CONSTANT_PARAMETERS,),
    ),
)
class QuantizeFloat32Int8(LinearConversion):
    def call(self) -> Call:
        return Call("aidge_ref_quantize_float32_int8", ("int8/quantize_float32_int8.h",), self.arguments())
