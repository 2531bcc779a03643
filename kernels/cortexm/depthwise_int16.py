# SPDX-License-Identifier: MIT
"""Depthwise convolutions of int16 data with int8 weights, 4 channels at a time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, NodeView, Predicate
from aidge_build.kernel_kit.linear import linear_constants
from aidge_build.kernel_kit.window2d import window2d

from .linear_int16 import int16_spec
from .packing import taps_last_channels


def _offset(view: NodeView) -> str:
    point = view.inputs[0].quantization.zero_point
    return f"the data's zero point is {point}, wants 0: it comes off no sum here" if point else ""


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), int16_spec(CHANNELS_LAST, Predicate("the data's zero point is 0", _offset)))
class DepthwiseInt16(KernelNode):
    def call(self) -> Call:
        rows = taps_last_channels(self.inputs[1].data)
        numbers = linear_constants(self.operator, self.inputs, self.outputs[0], rows)
        point = numbers.zero_point
        return Call(
            "aidge_cortexm_depthwise_int16",
            ("depthwise_int16.h",),
            (
                Input(0),
                Output(0),
                Constant("weights", numpy.ascontiguousarray(rows.T).reshape(-1)),
                Constant("bias", numbers.plain_bias.astype(numpy.int32)),
                Constant("multipliers", numbers.multipliers),
                Constant("levels", numpy.array([numbers.low - point, numbers.high - point, point], numpy.int32)),
                window2d(self.inputs[0], self.outputs[0], self.operator.window),
            ),
            facts=computed("1 pixel x 4 channels"),
        )
