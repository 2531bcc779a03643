# SPDX-License-Identifier: MIT
"""int8 means: AvgPooling over one or two axes, and over the whole map."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, MeanPool
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType


@kernel(
    ("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"),
    ImplSpec(IOSpec(DType.int8, CHANNELS_LAST), predicates=(ALL_QUANTIZED, IN_INTEGERS)),
)
class AvgPool2dInt8(MeanPool):
    def call(self) -> Call:
        return Call(
            "aidge_ref_avgpool2d_int8",
            ("int8/avgpool2d_int8.h",),
            (Input(0), Output(0), *self.window_arguments()),
            note="integers, near a tie float32 in onnxruntime's order",
        )
