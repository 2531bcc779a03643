# SPDX-License-Identifier: MIT
"""The copy of a tensor into another storage order, any type."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.strided import strided_copy
from ..shared.transpose import transpose


@kernel("Reformat", ImplSpec(IOSpec(DType.any_1, ANY)))
class Reformat(KernelNode):
    def call(self) -> Call:
        (source,), (target,) = self.inputs, self.outputs
        copied = source.dims, source.layout.strides, target.layout.strides, source.dtype
        return transpose(strided_copy(*copied, in_order=True), source.dtype) or Call(
            "aidge_ref_strided_copy", ("any/strided_copy.h",), (Input(0), Output(0), strided_copy(*copied))
        )
