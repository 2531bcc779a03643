# SPDX-License-Identifier: MIT
"""float32 functions of one element: one generated C function each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.float_functions import FunctionSteps
from aidge_build.contract.kernel_kit.float_steps import unit_of
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType


@dataclass(frozen=True)
class Function:
    """The C of `result` from `value` and from the `parameters`, attributes of the operator; `steps` go before it."""

    name: str
    result: str
    parameters: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    def text(self) -> str:
        """The C function."""
        given = "const float *parameters, " if self.parameters else ""
        parameters = [f"    const float {name} = parameters[{place}];\n" for place, name in enumerate(self.parameters)]
        steps = [f"        {step}\n" for step in self.steps]
        return f"""/* output[i] of input[i], i < count, float32. May work in place. */
static void aidge_ref_{self.name}_float32(const float *input, float *output, {given}int32_t count)
{{
{"".join(parameters)}    int32_t i;
    for (i = 0; i < count; i++) {{
        const float value = input[i];
{"".join(steps)}        output[i] = {self.result};
    }}
}}"""


_BETWEEN = "gate = gate < 0.0f ? 0.0f : gate;", "gate = gate > 1.0f ? 1.0f : gate;"
_CLIP = "value < minimum ? minimum : (value > maximum ? maximum : value)"  # NaN stays NaN
FUNCTIONS = {
    "Abs": Function("abs", "fabsf(value)"),
    "Clip": Function("clip", _CLIP, ("minimum", "maximum")),
    "Elu": Function("elu", "value < 0.0f ? alpha * expm1f(value) : value", ("alpha",)),
    "Exp": Function("exp", "aidge_kit_exp(value)"),
    "HardSigmoid": Function("hard_sigmoid", "gate", ("alpha", "beta"), ("float gate = alpha * value + beta;", *_BETWEEN)),
    "HardSwish": Function("hard_swish", "value * gate", (), ("float gate = value * (1.0f / 6.0f) + 0.5f;", *_BETWEEN)),
    "LeakyReLU": Function("leaky_relu", "value < 0.0f ? value * alpha : value", ("alpha",)),
    "Neg": Function("neg", "-value"),
    "ReLU": Function("clip", _CLIP, ("minimum", "maximum")),
    "Sigmoid": Function("sigmoid", "aidge_kit_logistic(value)"),
    "Sqrt": Function("sqrt", "sqrtf(value)"),
    "Tanh": Function("tanh", "aidge_kit_tanh(value)"),
}
_OF_RELU = {"minimum": 0.0, "maximum": math.inf}


@kernel(sorted(FUNCTIONS), ImplSpec(IOSpec(DType.float32, SAME)))
class UnaryFloat32(ElementWise):
    def call(self) -> Call:
        function = FUNCTIONS[self.node.type]
        numbers = [getattr(self.operator, name, _OF_RELU.get(name)) for name in function.parameters]
        parameters = (Constant("parameters", numpy.array(numbers, numpy.float32)),) if numbers else ()
        is_of_kit = "aidge_kit" in function.result
        return Call(
            f"aidge_ref_{function.name}_float32",
            ("shared/each.h", "shared/float_model.h", *("kit/functions_float32.h",) * is_of_kit),
            (Input(0), Output(0), *parameters, Literal(self.outputs[0].elements)),
            texts=(function.text(),),
            steps=FunctionSteps.of(unit_of(self.view.features), self.operator) if is_of_kit else None,
        )
