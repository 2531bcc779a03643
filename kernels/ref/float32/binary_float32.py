# SPDX-License-Identifier: MIT
"""float32 sum, difference, product and quotient with broadcasting: one C function each."""

from __future__ import annotations

from aidge_build.contract.call import Call, Literal, Output
from aidge_build.contract.kernel_kit.broadcast import broadcast, operand
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from .linear_float32 import bounds


@kernel(
    ("Add", "Div", "Mul", "Sub"),
    ImplSpec(inputs=(IOSpec(DType.float32, SAME), IOSpec(DType.float32, SAME)), outputs=(IOSpec(DType.float32, SAME),)),
)
class BinaryFloat32(ElementWise):
    def call(self) -> Call:
        kind = self.node.type.lower()
        (first, second), (output,) = self.inputs, self.outputs
        pointers = (operand(0, "first", first, output), operand(1, "second", second, output), Output(0), bounds(self.operator))
        shape = broadcast(first, second, output)
        if shape.fields["runs"] > 1:
            return Call(f"aidge_ref_{kind}_float32", (f"float32/{kind}_float32.h",), (*pointers, shape))
        run = (Literal(shape.fields[name]) for name in ("length", "first_step", "second_step"))
        return Call(f"aidge_ref_{kind}_run_float32", (f"float32/{kind}_run_float32.h",), (*pointers, *run))
