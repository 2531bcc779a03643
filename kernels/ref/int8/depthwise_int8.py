# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes."""

from __future__ import annotations

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from .linear_int8 import LinearInt8, linear_specs


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_specs())
class ConvDepthwise2dInt8(LinearInt8):
    narrow_instructions_per_mac = 17
    of_each_tap = 5.0

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return convolution_demands(view)

    def call(self) -> Call:
        rows = taps_last_channels(self.inputs[1].data)
        shape = window2d(self.inputs[0], self.outputs[0], self.operator.window, self.operator.groups)
        function, arguments = self.arguments("aidge_ref_depthwise_int8", rows, rows.T.ravel(), True)
        return Call(
            function,
            ("int8/depthwise_int8.h",),
            (*arguments, shape),
            facts=computed("1 pixel x 4 channels", 0),
        )
