# SPDX-License-Identifier: MIT
"""Operators that are a copy with other steps, any type: Expand, DepthToSpace, SpaceToDepth."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.moves import block_axes
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.strided import strided_copy

_SPEC = ImplSpec(IOSpec(DType.any_1, ROW_MAJOR), predicates=(SAME_QUANTIZATION,))


def _copy(dims, source_steps, target_steps, dtype) -> Call:
    return Call(
        "aidge_ref_strided_copy",
        ("any/strided_copy.h",),
        (Input(0), Output(0), strided_copy(dims, source_steps, target_steps, dtype)),
    )


@kernel("Expand", _SPEC)
class Expand(KernelNode):
    def call(self) -> Call:
        (source,), (target,) = self.inputs, self.outputs
        steps = [0 if size == 1 else step for size, step in zip(source.dims, source.layout.strides)]
        return _copy(target.dims, [0] * (target.rank - source.rank) + steps, target.layout.strides, target.dtype)


@kernel(("DepthToSpace", "SpaceToDepth"), ImplSpec(IOSpec(DType.any_1, SAME), predicates=(SAME_QUANTIZATION,)))
class Blocks(KernelNode):
    def call(self) -> Call:
        return _copy(*block_axes(self.view), self.outputs[0].dtype)
