# SPDX-License-Identifier: MIT
"""float32 Sigmoid, Tanh, Erf, Gelu and Swish: a quotient of two polynomials, eight values at a time."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.curves import CURVES, HAS_CURVE, TIMES_CURVES, element_curve
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.curve import NAME, curve_text
from ..core.float32 import FEATURES
from .binary_float32 import routine

FLOAT = IOSpec(DType.float32, SAME)
SPEC = ImplSpec(FLOAT, features=FEATURES, predicates=(REAL, HAS_CURVE))
PRODUCT, PRODUCT_TEXT = routine("Mul", (1, 1), has_relu=False)
CURVE = f"""/* y = the curve of x; may work in place. */
static void {NAME}_float32(const float *x, float *y, const float *numbers, int32_t count)
{{
    if (x != y) {{
        (void)memcpy(y, x, (uint32_t)count * sizeof *y);
    }}
    {NAME}(y, count, numbers);
}}"""
TIMES_CURVE = f"""/* y = x times a curve of it. */
static void {NAME}_times_float32(const float *x, float *y, const float *numbers, int32_t count)
{{
    (void)memcpy(y, x, (uint32_t)count * sizeof *y);
    {NAME}(y, count, numbers);
    {PRODUCT}(x, y, y, count);
}}"""


def _call(node: KernelNode, function: str, *texts: str) -> Call:
    numbers = Constant("numbers", element_curve(node.operator)[0])
    arguments = (Input(0), Output(0), numbers, Literal(node.outputs[0].elements))
    return Call(function, ("rows/recurrent.h",), arguments, texts=(curve_text(), *texts), facts=computed("8 values"))


@kernel(CURVES, SPEC)
class Curve(ElementWise):
    def call(self) -> Call:
        return _call(self, f"{NAME}_float32", CURVE)


@kernel(TIMES_CURVES, SPEC)
class TimesCurve(KernelNode):
    def call(self) -> Call:
        return _call(self, f"{NAME}_times_float32", PRODUCT_TEXT, TIMES_CURVE)
