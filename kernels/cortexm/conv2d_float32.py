# SPDX-License-Identifier: MIT
"""float32 convolution over one or two axes, 4 pixels x 4 channels at a time."""

from __future__ import annotations

from aidge_build.backend.spec import Demands, NodeView
from aidge_build.export.call import Call, Input, Output, Scratch, Struct, computed
from aidge_build.export.node import kernel

from .conditions import ENOUGH_CHANNELS, GROUP, ONE_GROUP
from .float32 import LinearFloat32, float_spec, pixels_text
from .packing import taps_last_channels
from .window import plane_of_view

POINTER_BYTES = 4


@kernel(("Conv1D", "Conv2D"), float_spec(ENOUGH_CHANNELS, ONE_GROUP))
class Conv2dFloat32(LinearFloat32):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        plane = plane_of_view(view)
        runs = plane.kernel[0] * plane.kernel[1]
        return Demands(scratch_bytes=4 * POINTER_BYTES + runs * (4 * POINTER_BYTES + 4) + 4 * plane.in_channels)

    def call(self) -> Call:
        plane, stream = plane_of_view(self.view), self.stream(taps_last_channels(self.inputs[1].data), GROUP)
        shape = Struct("aidge_cortexm_conv2d_float32", {
            "batches": plane.batches, "in_height": plane.in_size[0], "in_width": plane.in_size[1], "channels": plane.in_channels,
            "out_height": plane.out_size[0], "out_width": plane.out_size[1], "out_channels": plane.out_channels,
            "kernel_height": plane.kernel[0], "kernel_width": plane.kernel[1],
            "stride_height": plane.strides[0], "stride_width": plane.strides[1],
            "dilation_height": plane.dilations[0], "dilation_width": plane.dilations[1],
            "pad_top": plane.pads[0], "pad_left": plane.pads[1], "stream_words": stream.values.size})
        return Call("aidge_cortexm_conv2d_f32", ("conv2d_float32.h",), (Input(0), Output(0), stream, self.limits(), Scratch(),
                                                                        shape),
                    texts=(pixels_text(),), facts=computed("4 pixels x 4 channels"))
