# SPDX-License-Identifier: MIT
"""float32 Sigmoid, Tanh, Erf, Gelu and Swish: a quotient of two polynomials, eight values at a time."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.curves import CURVES, HAS_CURVE, TIMES_CURVES, ElementCurve
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.float_layers import FloatCurve
from aidge_build.contract.kernel_kit.float_steps import FPU
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.curve import curve_name, curve_text
from ..core.float32 import FEATURES
from .binary_float32 import routine

FLOAT = IOSpec(DType.float32, SAME)
SPEC = ImplSpec(FLOAT, features=FEATURES, predicates=(REAL, HAS_CURVE))
PRODUCT, PRODUCT_TEXT = routine("Mul", (1, 1), has_relu=False)


def _curve_text(name: str) -> str:
    return f"""/* y = the curve of x; may work in place. */
static void {name}_float32(const float *x, float *y, const float *numbers, int32_t count)
{{
    if (x != y) {{
        (void)memcpy(y, x, (uint32_t)count * sizeof *y);
    }}
    {name}(y, count, numbers);
}}"""


def _times_text(name: str) -> str:
    return f"""/* y = x times a curve of it. */
static void {name}_times_float32(const float *x, float *y, const float *numbers, int32_t count)
{{
    (void)memcpy(y, x, (uint32_t)count * sizeof *y);
    {name}(y, count, numbers);
    {PRODUCT}(x, y, y, count);
}}"""


def _call(node: KernelNode, curve: ElementCurve) -> Call:
    name = curve_name(curve.terms)
    arguments = (Input(0), Output(0), Constant("numbers", curve.numbers), Literal(node.outputs[0].elements))
    texts = (PRODUCT_TEXT, _times_text(name)) if curve.times else (_curve_text(name),)
    return Call(
        f"{name}{'_times' * curve.times}_float32",
        ("rows/recurrent.h",),
        arguments,
        texts=(curve_text(curve.terms), *texts),
        facts=computed("8 values"),
        steps=FloatCurve(FPU, curve),
    )


@kernel(CURVES, SPEC)
class Curve(ElementWise):
    def call(self) -> Call:
        return _call(self, ElementCurve.of(self.operator))


@kernel(TIMES_CURVES, SPEC)
class TimesCurve(KernelNode):
    def call(self) -> Call:
        return _call(self, ElementCurve.of(self.operator))
