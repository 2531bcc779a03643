# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes."""

from __future__ import annotations

from aidge_build.export.call import Call
from aidge_build.export.node import kernel

from .linear_int8 import LinearInt8, linear_spec
from .packing import blocked, taps_last_channels
from .window2d import window2d


@kernel(("Conv1D", "Conv2D"), linear_spec())
class Conv2dInt8(LinearInt8):
    def call(self) -> Call:
        rows, groups = taps_last_channels(self.inputs[1].data), self.operator.groups
        shape = window2d(self.inputs[0], self.outputs[0], self.operator.window, groups)
        return Call("aidge_ref_conv2d_int8", ("conv2d_int8.h",), (*self.arguments(rows, blocked(rows, groups)), shape))
