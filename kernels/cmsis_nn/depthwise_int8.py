# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over two axes."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call
from aidge_build.contract.node import kernel

from .linear_int8 import linear_spec
from .window import Windowed

_BLOCK = 124  # channels that the MVE version of the function gathers at once


@kernel("ConvDepthWise2D", linear_spec())
class ConvDepthWise2dInt8(Windowed):
    @classmethod
    def scratch_bytes(cls, view) -> int:
        taps = math.prod(view.operator.window.kernel)
        return max(2 * view.inputs[0].dims[1] * taps, 4 * _BLOCK * taps)

    def call(self) -> Call:
        return self.linear_call(
            "depthwise_s8", ("arm_depthwise_conv_wrapper_s8",), self.inputs[1].data[:, 0].transpose(1, 2, 0), self.shape()
        )
