# SPDX-License-Identifier: MIT
"""int8 maxima over windows, and over the whole map."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Literal, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel

from .pool_windows import PoolOfWindows, SizedRun, words
from .pooling import pool_spec


@kernel(("MaxPooling1D", "MaxPooling2D"), pool_spec(SAME_QUANTIZATION))
class MaxPool2dInt8(PoolOfWindows):
    word, others, lanes = "maxpool2d", "largest_of_window", 16

    def call(self) -> Call:
        levels = self.levels()
        runs = [SizedRun(size, *self.run(*size[:2]).maxima(), (0, 0, *levels)) for size in self.sizes()]
        return self.call_of(words([levels], "levels"), (runs, ()), "the largest taps of neighbouring windows")


@kernel("GlobalMaxPooling", pool_spec(SAME_QUANTIZATION))
class MaxOfMapInt8(PoolNode):
    def call(self) -> Call:
        batches, channels, *spatial = self.inputs[0].dims
        map_ = {"rows": 1, "columns": math.prod(spatial), "row_step": 0, "column_step": channels}
        arguments = (words([self.levels()], "levels"), Literal(batches), Struct("aidge_kit_values", map_))
        return Call(
            "aidge_helium_max_of_map", ("windows/maxpool2d.h",), (Input(0), Output(0), *arguments), facts=computed("16 channels")
        )
