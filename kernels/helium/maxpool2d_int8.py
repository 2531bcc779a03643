# SPDX-License-Identifier: MIT
"""int8 maxima: MaxPooling over one or two axes, and over the whole map."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, computed
from aidge_build.contract.node import kernel
from aidge_build.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.kernel_kit.pooling import PoolNode

from .pooling import pool_spec


@kernel(("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"), pool_spec(SAME_QUANTIZATION))
class MaxPool2dInt8(PoolNode):
    def call(self) -> Call:
        return Call(
            "aidge_helium_maxpool2d",
            ("maxpool2d.h",),
            (Input(0), Output(0), Constant("levels", numpy.array(self.levels(), numpy.int8)), self.shape()),
            "16 channels in lanes",
            facts=computed("16 channels"),
        )
