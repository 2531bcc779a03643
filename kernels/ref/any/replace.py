# SPDX-License-Identifier: MIT
"""A block of a tensor replaced, any type: in place only the block moves."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType

from ..shared.strided import strided_copy

_DATA = IOSpec(DType.any_1, ROW_MAJOR)


@kernel("Replace", ImplSpec(inputs=(_DATA, _DATA), outputs=(_DATA,), predicates=(SAME_QUANTIZATION,)))
class Replace(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(in_place=(0,))

    def call(self) -> Call:
        (data, block), steps = self.inputs, self.outputs[0].layout.strides
        start = sum(place * step for place, step in zip(self.operator.starts, steps))
        shape = strided_copy(block.dims, block.layout.strides, steps, block.dtype, 0, start)
        arguments = (Input(0), Input(1), Output(0), Literal(data.size_bytes), shape)
        return Call("aidge_ref_replace", ("any/replace.h",), arguments)
