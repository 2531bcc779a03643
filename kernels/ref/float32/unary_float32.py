# SPDX-License-Identifier: MIT
"""float32 functions of one element: one C function each."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

# Operator type: the C function, and its parameters.
FUNCTIONS = {
    "Abs": ("abs", lambda operator: ()),
    "Clip": ("clip", lambda operator: (operator.minimum, operator.maximum)),
    "Elu": ("elu", lambda operator: (operator.alpha,)),
    "Exp": ("exp", lambda operator: ()),
    "HardSigmoid": ("hard_sigmoid", lambda operator: (operator.alpha, operator.beta)),
    "HardSwish": ("hard_swish", lambda operator: ()),
    "LeakyReLU": ("leaky_relu", lambda operator: (operator.alpha,)),
    "Neg": ("neg", lambda operator: ()),
    "ReLU": ("clip", lambda operator: (0.0, math.inf)),
    "Sigmoid": ("sigmoid", lambda operator: ()),
    "Sqrt": ("sqrt", lambda operator: ()),
    "Tanh": ("tanh", lambda operator: ()),
}


@kernel(sorted(FUNCTIONS), ImplSpec(inputs=(IOSpec(DType.float32, SAME),), outputs=(IOSpec(DType.float32, SAME),)))
class UnaryFloat32(ElementWise):
    def call(self) -> Call:
        name, parameters_of = FUNCTIONS[self.node.type]
        numbers = parameters_of(self.operator)
        parameters = (Constant("parameters", numpy.array(numbers, numpy.float32)),) if numbers else ()
        return Call(
            f"aidge_ref_{name}_float32",
            (f"float32/{name}_float32.h",),
            (Input(0), Output(0), *parameters, Literal(self.outputs[0].elements)),
        )
