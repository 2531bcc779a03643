# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes; a pointwise one is a fully connected layer at each pixel."""

from __future__ import annotations

import math
from dataclasses import replace

from aidge_build.contract.call import Call, Literal, Scratch, computed
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import block_demands
from aidge_build.contract.kernel_kit.window2d import is_pointwise, window2d, window_of_layer
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from ..shared.blocks import blocks_of_pixels
from ..shared.packing import BLOCK, blocked, fc_shape
from .linear_int8 import LinearInt8, linear_specs

PIXELS = 3  # in a block
FEW_TAPS, MANY_OUTPUTS = 64, 32  # of a layer with windows that are copied


def convolution_overlap(view: NodeView, has_blocks: bool) -> Demands:
    """The output may follow the input: blocks of pixels are read while they are written."""
    data, (output,) = view.inputs[0], view.outputs
    shape = window2d(data, output, view.operator.window, view.operator.groups).fields
    is_one = not has_blocks or view.operator.groups > 1
    return block_demands(shape, data, output, blocks_of_pixels(shape, 1 if is_one else PIXELS), kept=0)


@kernel(("Conv1D", "Conv2D"), linear_specs())
class Conv2dInt8(LinearInt8):
    narrow_instructions_per_mac = 10
    of_grouped_output, of_tap, of_four_channels, of_rest, of_channel_in_rest = 94, 9, 8.4, 14, 5  # instructions, measured

    @classmethod
    def takes_per_mac(cls, view: NodeView, is_narrow: bool) -> float:
        """Instructions for each multiply-accumulate; a grouped layer computes each output by itself, over channels of a tap."""
        usual = super().takes_per_mac(view, is_narrow)
        if view.operator.groups == 1:
            return usual
        channels, taps = view.inputs[1].dims[1], math.prod(view.inputs[1].dims[2:])
        fours, rest = divmod(channels, 4)
        of_tap = cls.of_tap + fours * cls.of_four_channels + (rest > 0) * (cls.of_rest + rest * cls.of_channel_in_rest)
        return max(usual, (cls.of_grouped_output + taps * of_tap) / (taps * channels))

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        layer = cls(view)
        data, (output,) = view.inputs[0], view.outputs
        shape = window2d(data, output, view.operator.window, view.operator.groups).fields
        if layer.is_copied:
            whole, pixels = divmod(output.dims[0] * math.prod(output.dims[2:]), PIXELS)
            blocks = [(PIXELS * place, PIXELS * (place + 1)) for place in range(whole)]
            blocks += [(PIXELS * whole + place, PIXELS * whole + place + 1) for place in range(pixels)]
            scratch = PIXELS * math.prod(view.inputs[1].dims[1:])
            return replace(block_demands(shape, data, output, blocks), output_stride=True, scratch_bytes=scratch)
        return replace(convolution_overlap(view, layer.has_blocks), output_stride=True)

    @property
    def is_pointwise(self) -> bool:
        return self.operator.groups == 1 and is_pointwise(window_of_layer(self.view))

    @property
    def is_copied(self) -> bool:
        """Whether the inputs of a block of pixels are copied before it is computed: pixels, or windows of few taps."""
        if not self.has_blocks or self.operator.groups > 1 or math.prod(self.outputs[0].dims[2:]) == 1:
            return False
        outputs, *shape = self.inputs[1].dims
        return self.is_pointwise or (math.prod(shape) <= FEW_TAPS and outputs >= MANY_OUTPUTS)

    @property
    def together(self) -> int:
        return self.inputs[1].dims[0] // self.operator.groups

    def call(self) -> Call:
        data, window, groups = self.inputs[0], self.operator.window, self.operator.groups
        rows = taps_last_channels(self.inputs[1].data)
        packed, facts = blocked(rows, groups), computed(f"{PIXELS if self.has_blocks else 1} pixels x {BLOCK} channels", 0)
        if self.is_pointwise and not self.is_copied and not self.output_gap:
            function, arguments = self.arguments("aidge_ref_fc_int8", rows, packed, False)
            pixels = data.dims[0] * math.prod(data.dims[2:])
            return Call(function, ("int8/fc_int8.h",), (*arguments, fc_shape(pixels, rows)), facts=facts)
        function, arguments = self.arguments("aidge_ref_conv2d_int8", rows, packed, True, self.is_copied)
        scratch = (Scratch(),) * self.is_copied
        shape = window2d(data, self.outputs[0], window, groups)
        return Call(function, ("int8/conv2d_int8.h",), (*arguments, Literal(self.output_gap), *scratch, shape), facts=facts)
