# SPDX-License-Identifier: MIT
"""float32 softmax, along one axis in any storage order."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.rows import ALONG_ONE_AXIS, softmax_shape


@kernel(
    "Softmax",
    ImplSpec(inputs=(IOSpec(DType.float32, SAME),), outputs=(IOSpec(DType.float32, SAME),), predicates=(ALONG_ONE_AXIS,)),
)
class SoftmaxFloat32(KernelNode):
    def call(self) -> Call:
        return Call(
            "aidge_ref_softmax_float32",
            ("float32/softmax_float32.h",),
            (Input(0), Output(0), softmax_shape(self.operator, self.outputs[0])),
        )
