# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes."""

from __future__ import annotations

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import block_demands
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from ..shared.blocks import blocks_of_pixels
from .linear_int8 import LinearInt8, linear_specs

PIXELS = 2  # in a block


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_specs())
class ConvDepthwise2dInt8(LinearInt8):
    narrow_instructions_per_mac = 17
    of_each_tap = 5.0

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        """Channels of a block are read once: the next channels of its last pixel are written later."""
        data, (output,) = view.inputs[0], view.outputs
        shape = window2d(data, output, view.operator.window, view.operator.groups).fields
        blocks = blocks_of_pixels(shape, PIXELS if cls(view).has_blocks else 1)
        return block_demands(shape, data, output, blocks, kept=output.dims[1])

    def call(self) -> Call:
        rows = taps_last_channels(self.inputs[1].data)
        shape = window2d(self.inputs[0], self.outputs[0], self.operator.window, self.operator.groups)
        function, arguments = self.arguments("aidge_ref_depthwise_int8", rows, rows.T.ravel(), True)
        return Call(
            function,
            ("int8/depthwise_int8.h",),
            (*arguments, shape),
            facts=computed(f"{PIXELS if self.has_blocks else 1} pixels x 4 channels", 0),
        )
