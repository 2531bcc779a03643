# SPDX-License-Identifier: MIT
"""Slices with constant bounds, any type and step."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import layout

from ..shared.strided import strided_copy


@kernel("Slice", ImplSpec(IOSpec(DType.any_1, SAME), predicates=(SAME_QUANTIZATION,)))
class Slice(KernelNode):
    def call(self) -> Call:
        (source,), (target,) = self.inputs, self.outputs
        strides = layout(source.dims, target.storage, source.dtype).strides
        start = sum(first * stride for first, stride in zip(self.operator.starts, strides))
        steps = [step * stride for step, stride in zip(self.operator.steps, strides)]
        shape = strided_copy(target.dims, steps, target.layout.strides, source.dtype, source_start=start)
        return Call("aidge_ref_strided_copy", ("any/strided_copy.h",), (Input(0), Output(0), shape))
