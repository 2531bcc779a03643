# SPDX-License-Identifier: MIT
"""The window of the int8 convolutions over two axes, also of depthwise ones."""

from __future__ import annotations

from aidge_build.contract.call import Struct

from .linear_int8 import CmsisLinear


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
