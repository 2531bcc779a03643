# SPDX-License-Identifier: MIT
"""A window that moves on by some frames, any type: in place, with one copy if the axis is stored first."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Output, Struct
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType


@kernel("Slide", ImplSpec(IOSpec(DType.any_1, SAME), predicates=(SAME_QUANTIZATION,)))
class Slide(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(in_place=(0,))

    def call(self) -> Call:
        window, frames = self.inputs
        position = window.storage.position(self.operator.axis % window.rank)
        rows = math.prod(window.layout.stored_dims[:position])
        shape = {"rows": rows, "bytes": window.size_bytes // rows, "step": frames.size_bytes // rows}
        arguments = (Input(0), Input(1), Output(0), Struct("aidge_ref_slide_shape", shape))
        return Call("aidge_ref_slide_back" if self.operator.first else "aidge_ref_slide", ("any/slide.h",), arguments)
