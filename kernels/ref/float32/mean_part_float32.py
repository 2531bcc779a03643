# SPDX-License-Identifier: MIT
"""float32 means over the whole map that take in their rows part by part."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch
from aidge_build.contract.kernel_kit.pool_parts import MEANS, PartNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from .linear_float32 import bounds


@kernel(MEANS, ImplSpec(IOSpec(DType.float32, CHANNELS_LAST)))
class MeanPartFloat32(PartNode):
    def numbers(self) -> Constant:
        return bounds(self.whole.operator)

    def call(self) -> Call:
        return Call(
            "aidge_ref_mean_part_float32",
            ("float32/mean_part_float32.h",),
            (Input(0), Output(0), Scratch(), self.numbers(), self.part()),
        )
