# SPDX-License-Identifier: MIT
"""int8 maxima over windows and over the whole map, 4 channels in a word."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, computed
from aidge_build.contract.node import kernel
from aidge_build.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.kernel_kit.pooling import PoolNode

from .pools import pool_spec


@kernel(("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"), pool_spec(frozenset({"dsp"}), SAME_QUANTIZATION))
class MaxPool2dInt8(PoolNode):
    def call(self) -> Call:
        return Call(
            "aidge_cortexm_maxpool2d_int8",
            ("maxpool2d_int8.h",),
            (Input(0), Output(0), Constant("levels", numpy.array(self.levels(), numpy.int8)), self.shape()),
            facts=computed("16 channels"),
        )
