# SPDX-License-Identifier: MIT
"""int8 means over windows and over the whole map."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output, computed
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, PARTIAL, MeanPool
from aidge_build.contract.node import kernel

from .pooling import pool_spec


@kernel(("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"), pool_spec(PARTIAL, IN_INTEGERS))
class AvgPool2dInt8(MeanPool):
    def call(self) -> Call:
        return Call(
            "aidge_helium_avgpool2d",
            ("avgpool2d.h",),
            (Input(0), Output(0), *self.window_arguments()),
            "integers, near a tie float32 in onnxruntime's order",
            facts=computed("8 channels"),
        )
