# SPDX-License-Identifier: MIT
"""float32 Sigmoid, Tanh, Erf, Gelu and Swish: a quotient of two polynomials, four values at a time."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.curves import CURVES, HAS_CURVE, TIMES_CURVES, ElementCurve
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.float_layers import FloatCurve
from aidge_build.contract.kernel_kit.float_steps import VECTORS
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.conditions import MVE
from .curve import RECIPROCAL, element_name, element_text
from .gelu import NAME, NUMBERS, GeluSteps, gelu_text

FLOAT = IOSpec(DType.float32, SAME)


@kernel((*CURVES, *TIMES_CURVES), ImplSpec(FLOAT, features=MVE, predicates=(REAL, HAS_CURVE)))
class CurvedFloat32(ElementWise):
    def call(self) -> Call:
        if self.node.type == "Gelu" and not self.operator.with_tanh:
            arguments = Input(0), Output(0), Constant("numbers", NUMBERS), Literal(self.outputs[0].elements)
            return Call(NAME, ("core/helium.h",), arguments, texts=(gelu_text(),), facts=computed("4 values"), steps=GeluSteps())
        curve = ElementCurve.of(self.operator)
        return Call(
            element_name(curve.terms, curve.times),
            ("core/helium.h",),
            (Input(0), Output(0), Constant("numbers", curve.numbers), Literal(self.outputs[0].elements)),
            texts=(element_text(curve.terms, curve.times),),
            facts=computed("4 values"),
            steps=FloatCurve(VECTORS, curve, RECIPROCAL),
        )
