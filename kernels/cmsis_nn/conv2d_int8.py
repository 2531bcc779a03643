# SPDX-License-Identifier: MIT
"""int8 convolution over two axes."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call
from aidge_build.contract.node import kernel

from .linear_int8 import linear_spec
from .window import Windowed


@kernel("Conv2D", linear_spec())
class Conv2dInt8(Windowed):
    @classmethod
    def scratch_bytes(cls, view) -> int:
        taps = math.prod(view.inputs[1].dims[1:])
        return max(4 * (-(-taps // 4) * 4), 4 * (-(-taps // 16) * 16))

    def call(self) -> Call:
        return self.linear_call("conv_s8", ("arm_convolve_s8",), self.inputs[1].data.transpose(0, 2, 3, 1), self.shape())
