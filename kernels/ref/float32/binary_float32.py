# SPDX-License-Identifier: MIT
"""float32 sum, difference, product and quotient with broadcasting: one C function each."""

from __future__ import annotations

from aidge_build.contract.call import Call, Output
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.broadcast import broadcast, operand
from aidge_build.kernel_kit.elementwise import ElementWise

from .linear_float32 import bounds


@kernel(
    ("Add", "Div", "Mul", "Sub"),
    ImplSpec(inputs=(IOSpec(DType.float32, SAME), IOSpec(DType.float32, SAME)), outputs=(IOSpec(DType.float32, SAME),)),
)
class BinaryFloat32(ElementWise):
    def call(self) -> Call:
        name = f"{self.node.type.lower()}_float32"
        (first, second), (output,) = self.inputs, self.outputs
        return Call(
            f"aidge_ref_{name}",
            (f"float32/{name}.h",),
            (
                operand(0, "first", first, output),
                operand(1, "second", second, output),
                Output(0),
                bounds(self.operator),
                broadcast(first, second, output),
            ),
        )
