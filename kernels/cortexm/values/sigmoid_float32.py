# SPDX-License-Identifier: MIT
"""float32 Sigmoid by an exponential function."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.float_functions import FunctionSteps, logistic_of_shifted
from aidge_build.contract.kernel_kit.float_steps import FPU
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.float32 import FEATURES

FLOAT = IOSpec(DType.float32, SAME)


@kernel("Sigmoid", ImplSpec(FLOAT, features=FEATURES, predicates=(REAL,)))
class SigmoidFloat32(ElementWise):
    def call(self) -> Call:
        arguments = (Input(0), Output(0), Literal(self.outputs[0].elements))
        steps = FunctionSteps(FPU, logistic_of_shifted)
        return Call("aidge_cortexm_sigmoid_float32", ("values/sigmoid_float32.h",), arguments, steps=steps)
