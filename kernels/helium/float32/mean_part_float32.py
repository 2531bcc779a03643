# SPDX-License-Identifier: MIT
"""float32 means over the whole map that take in their rows part by part: the channels in the lanes."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, computed
from aidge_build.contract.kernel_kit.linear_float32 import limits
from aidge_build.contract.kernel_kit.pool_parts import MEANS, PartNode
from aidge_build.contract.node import kernel

from .pools_float32 import SPEC


@kernel(MEANS, SPEC)
class MeanPartFloat32(PartNode):
    def numbers(self) -> Constant:
        return limits(self.whole.operator)

    def call(self) -> Call:
        return Call(
            "aidge_helium_mean_part_float32",
            ("float32/mean_part.h",),
            (Input(0), Output(0), Scratch(), self.numbers(), self.part()),
            facts=computed("4 channels"),
        )
