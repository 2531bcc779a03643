# SPDX-License-Identifier: MIT
"""uint8 to int8 and back: the highest bit of every byte changes."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType


@kernel("FlipSign", ImplSpec(IOSpec(DType.any, SAME)))
class FlipSign(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(in_place=(0,))

    def call(self) -> Call:
        return Call("aidge_ref_flip_sign", ("any/flip_sign.h",), (Input(0), Output(0), Literal(self.outputs[0].size_bytes)))
