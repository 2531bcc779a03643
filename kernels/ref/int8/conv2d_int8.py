# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes; a pointwise one is a fully connected layer at each pixel."""

from __future__ import annotations

import math
from dataclasses import replace

from aidge_build.contract.call import Call, Literal, computed
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.contract.kernel_kit.window2d import is_pointwise, window2d, window_of_layer
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from ..shared.packing import BLOCK, blocked, fc_shape
from .linear_int8 import LinearInt8, linear_specs


@kernel(("Conv1D", "Conv2D"), linear_specs())
class Conv2dInt8(LinearInt8):
    narrow_instructions_per_mac = 10
    of_grouped_output, of_tap, of_four_channels, of_rest, of_channel_in_rest = 94, 9, 8.4, 14, 5  # instructions, measured

    @classmethod
    def takes_per_mac(cls, view: NodeView, is_narrow: bool) -> float:
        """Of a grouped layer each output by itself, from the channels that a tap has."""
        usual = super().takes_per_mac(view, is_narrow)
        if view.operator.groups == 1:
            return usual
        channels, taps = view.inputs[1].dims[1], math.prod(view.inputs[1].dims[2:])
        fours, rest = divmod(channels, 4)
        of_tap = cls.of_tap + fours * cls.of_four_channels + (rest > 0) * (cls.of_rest + rest * cls.of_channel_in_rest)
        return max(usual, (cls.of_grouped_output + taps * of_tap) / (taps * channels))

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return replace(convolution_demands(view), output_stride=True)

    @property
    def together(self) -> int:
        return self.inputs[1].dims[0] // self.operator.groups

    def call(self) -> Call:
        data, window, groups = self.inputs[0], self.operator.window, self.operator.groups
        rows = taps_last_channels(self.inputs[1].data)
        packed, facts = blocked(rows, groups), computed(f"1 pixel x {BLOCK} channels", 0)
        if groups == 1 and is_pointwise(window_of_layer(self.view)) and not self.output_gap:
            pixels = data.dims[0] * math.prod(data.dims[2:])
            function, arguments = self.arguments("aidge_ref_fc_int8", rows, packed, False)
            return Call(function, ("int8/fc_int8.h",), (*arguments, fc_shape(pixels, rows)), facts=facts)
        function, arguments = self.arguments("aidge_ref_conv2d_int8", rows, packed, True)
        return Call(
            function,
            ("int8/conv2d_int8.h",),
            (*arguments, Literal(self.output_gap), window2d(data, self.outputs[0], window, groups)),
            facts=facts,
        )
