# SPDX-License-Identifier: MIT
"""int8 convolutions over two axes, also depthwise ones."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Struct
from aidge_build.contract.node import kernel

from .linear_int8 import CmsisLinear, linear_spec

_BLOCK = 124  # channels that the MVE version of the depthwise function gathers at once


class Windowed(CmsisLinear):
    """A window over height and width."""

    def shape(self) -> Struct:
        data, output, window = self.inputs[0], self.outputs[0], self.operator.window
        pairs = (data.dims[2:], output.dims[2:], window.kernel, window.strides, window.pads_begin, window.dilations)
        numbers = [
            data.dims[0],
            data.dims[1],
            output.dims[1],
            self.operator.groups,
            self.scratch_bytes(self.view),
            *(number for pair in pairs for number in pair),
        ]
        names = (
            "batches",
            "in_channels",
            "out_channels",
            "groups",
            "scratch_bytes",
            "in_height",
            "in_width",
            "out_height",
            "out_width",
            "kernel_height",
            "kernel_width",
            "stride_height",
            "stride_width",
            "pad_top",
            "pad_left",
            "dilation_height",
            "dilation_width",
        )
        return Struct("aidge_cmsis_nn_window", dict(zip(names, numbers)))


@kernel("Conv2D", linear_spec())
class Conv2dInt8(Windowed):
    @classmethod
    def scratch_bytes(cls, view) -> int:
        taps = math.prod(view.inputs[1].dims[1:])
        return max(4 * (-(-taps // 4) * 4), 4 * (-(-taps // 16) * 16))

    def call(self) -> Call:
        return self.linear_call("conv_s8", ("arm_convolve_s8",), self.inputs[1].data.transpose(0, 2, 3, 1), self.shape())


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
