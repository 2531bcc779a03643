# SPDX-License-Identifier: MIT
"""float32 PReLU: a slope that broadcasts to the data."""

from __future__ import annotations

from aidge_build.contract.call import Call, Output
from aidge_build.contract.kernel_kit.broadcast import broadcast, operand
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType


@kernel("PReLU", ImplSpec(inputs=(IOSpec(DType.float32, SAME),), outputs=(IOSpec(DType.float32, SAME),)))
class PReluFloat32(ElementWise):
    def call(self) -> Call:
        (data, slope), (output,) = self.inputs, self.outputs
        return Call(
            "aidge_ref_prelu_float32",
            ("float32/prelu_float32.h",),
            (operand(0, "data", data, output), operand(1, "slope", slope, output), Output(0), broadcast(data, slope, output)),
        )
