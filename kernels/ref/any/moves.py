# SPDX-License-Identifier: MIT
"""Operators that are a copy with other steps, any type: Expand, DepthToSpace, SpaceToDepth."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import SAME_QUANTIZATION

from ..shared.strided import strided_copy

_SPEC = ImplSpec(
    inputs=(IOSpec(DType.any_1, ROW_MAJOR),), outputs=(IOSpec(DType.any_1, ROW_MAJOR),), predicates=(SAME_QUANTIZATION,)
)


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


@kernel(
    ("DepthToSpace", "SpaceToDepth"),
    ImplSpec(inputs=(IOSpec(DType.any_1, SAME),), outputs=(IOSpec(DType.any_1, SAME),), predicates=(SAME_QUANTIZATION,)),
)
class Blocks(KernelNode):
    def call(self) -> Call:
        (source,), (target,) = self.inputs, self.outputs
        to_space, size = self.node.type == "DepthToSpace", self.operator.size
        deep, wide = (source, target) if to_space else (target, source)
        batch, channels, height, width = deep.dims
        rest = channels // size**2
        # Axes: batch, rest, row of the block, column of the block, height, width.
        each, channel, row, column = deep.layout.strides
        inner = (
            (channel, size * rest * channel, rest * channel)
            if self.operator.depth_first
            else (size * size * channel, size * channel, channel)
        )
        deep_steps = (each, *inner, row, column)
        each, channel, row, column = wide.layout.strides
        wide_steps = (each, channel, row, column, size * row, size * column)
        dims = (batch, rest, size, size, height, width)
        return _copy(dims, *((deep_steps, wide_steps) if to_space else (wide_steps, deep_steps)), target.dtype)
