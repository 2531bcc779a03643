# SPDX-License-Identifier: MIT
"""int8 maxima over windows, and over the whole map."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.node import kernel

from .pool_windows import PoolOfWindows, SizedRun, words
from .pooling import pool_spec


@kernel(("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"), pool_spec(SAME_QUANTIZATION))
class MaxPool2dInt8(PoolOfWindows):
    def call(self) -> Call:
        levels = self.levels()
        runs = [SizedRun(size, *self.run(*size[:2]).maxima(), (0, 0, *levels)) for size in self.sizes()]
        return self.call_of("maxpool2d", "largest_of_window", words([levels], "levels"), (runs, ()), "16 channels")
