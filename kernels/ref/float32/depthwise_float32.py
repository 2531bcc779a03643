# SPDX-License-Identifier: MIT
"""float32 depthwise convolution over one or two axes."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from .linear_float32 import LinearFloat32, linear_spec


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_spec())
class ConvDepthwise2dFloat32(LinearFloat32):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return convolution_demands(view)

    def call(self) -> Call:
        shape = window2d(self.inputs[0], self.outputs[0], self.operator.window, self.operator.groups)
        return Call(
            "aidge_ref_depthwise_float32",
            ("float32/depthwise_float32.h",),
            (*self.arguments(taps_last_channels(self.inputs[1].data).T.ravel()), shape),
        )
