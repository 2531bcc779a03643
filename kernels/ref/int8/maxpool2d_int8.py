# SPDX-License-Identifier: MIT
"""int8 maxima: MaxPooling over one or two axes, and over the whole map."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType


@kernel(
    ("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"),
    ImplSpec(IOSpec(DType.int8, CHANNELS_LAST), predicates=(ALL_QUANTIZED, SAME_QUANTIZATION)),
)
class MaxPool2dInt8(PoolNode):
    def call(self) -> Call:
        return Call(
            "aidge_ref_maxpool2d_int8",
            ("int8/maxpool2d_int8.h",),
            (Input(0), Output(0), Constant("levels", numpy.array(self.levels(), numpy.int8)), self.shape()),
        )
