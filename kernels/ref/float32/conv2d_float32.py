# SPDX-License-Identifier: MIT
"""float32 convolution over one or two axes; a pointwise one is a fully connected layer at each pixel."""

from __future__ import annotations

import math
from dataclasses import replace

from aidge_build.contract.call import Call, Literal
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.contract.kernel_kit.window2d import is_pointwise, window2d, window_of_layer
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from ..shared.packing import blocked, fc_shape
from .linear_float32 import LinearFloat32, linear_spec


@kernel(("Conv1D", "Conv2D"), linear_spec())
class Conv2dFloat32(LinearFloat32):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return replace(convolution_demands(view), output_stride=True)

    def call(self) -> Call:
        data, window, groups = self.inputs[0], self.operator.window, self.operator.groups
        rows = taps_last_channels(self.inputs[1].data)
        arguments = self.arguments(blocked(rows, groups))
        if groups == 1 and is_pointwise(window_of_layer(self.view)) and not self.output_gap:
            pixels = data.dims[0] * math.prod(data.dims[2:])
            return Call("aidge_ref_fc_float32", ("float32/fc_float32.h",), (*arguments, fc_shape(pixels, rows)))
        return Call(
            "aidge_ref_conv2d_float32",
            ("float32/conv2d_float32.h",),
            (*arguments, Literal(self.output_gap), window2d(data, self.outputs[0], window, groups)),
        )
