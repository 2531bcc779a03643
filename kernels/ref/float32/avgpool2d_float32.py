# SPDX-License-Identifier: MIT
"""float32 means: AvgPooling over one or two axes, and over the whole map."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from .linear_float32 import bounds


@kernel(("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"), ImplSpec(IOSpec(DType.float32, CHANNELS_LAST)))
class AvgPool2dFloat32(PoolNode):
    def call(self) -> Call:
        self.counts()  # refuses windows without a position
        return Call(
            "aidge_ref_avgpool2d_float32",
            ("float32/avgpool2d_float32.h",),
            (Input(0), Output(0), bounds(self.operator), *self.counted_ends(), self.shape()),
        )
