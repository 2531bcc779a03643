# SPDX-License-Identifier: MIT
"""float32 Sigmoid by the exponential function of softmax_float32.h."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.float32 import FEATURES

FLOAT = IOSpec(DType.float32, SAME)


@kernel("Sigmoid", ImplSpec(FLOAT, features=FEATURES, predicates=(REAL,)))
class SigmoidFloat32(ElementWise):
    def call(self) -> Call:
        arguments = (Input(0), Output(0), Literal(self.outputs[0].elements))
        return Call("aidge_cortexm_sigmoid_float32", ("values/sigmoid_float32.h",), arguments)
