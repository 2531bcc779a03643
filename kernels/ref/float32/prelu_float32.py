# SPDX-License-Identifier: MIT
"""float32 PReLU: a slope that broadcasts to the data."""

from __future__ import annotations

from aidge_build.contract.call import Call, Output
from aidge_build.contract.kernel_kit.broadcast import broadcast, operand
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.broadcast_loop import SOURCE, broadcast_loop


@kernel("PReLU", ImplSpec(IOSpec(DType.float32, SAME)))
class PReluFloat32(ElementWise):
    def call(self) -> Call:
        (data, slope), (output,) = self.inputs, self.outputs
        name = "aidge_ref_prelu_float32"
        text = broadcast_loop(name, "float", "", "*a < 0.0f ? *a * *b : *a")
        pointers = (operand(0, "data", data, output), operand(1, "slope", slope, output), Output(0))
        return Call(name, (SOURCE, "shared/float_model.h"), (*pointers, broadcast(data, slope, output)), texts=(text,))
