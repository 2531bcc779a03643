# SPDX-License-Identifier: MIT
"""float32 maxima: MaxPooling over one or two axes, and over the whole map."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from .linear_float32 import bounds


@kernel(("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"), ImplSpec(IOSpec(DType.float32, CHANNELS_LAST)))
class MaxPool2dFloat32(PoolNode):
    def call(self) -> Call:
        return Call(
            "aidge_ref_maxpool2d_float32",
            ("float32/maxpool2d_float32.h",),
            (Input(0), Output(0), bounds(self.operator), self.shape()),
        )
