# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes, also with several outputs for each channel."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from .layer import both_contracts
from .linear_int8 import in_assembly, linear_spec
from .scratch import depthwise_bytes
from .window import WINDOW, Windowed, reaches_far


def _groups_unfit(view: NodeView) -> str:
    groups, channels = view.operator.groups, view.inputs[0].dims[1]
    return "" if groups == channels > 1 else f"{groups} groups of {channels} channels, wants one for each of several channels"


SPEC = linear_spec(WINDOW, Predicate("a group for each channel", _groups_unfit))


def _pads_unfit(view: NodeView) -> str:
    shape = Windowed(view).shape().fields
    pads = shape["pad_top"], shape["pad_left"]
    if (shape["kernel_height"], shape["kernel_width"]) != (3, 3):
        return ""
    is_vectors = shape["in_channels"] == shape["out_channels"] and shape["in_channels"] % 16 == 0
    if is_vectors and pads not in ((0, 0), (1, 1)):
        return f"the pads are {list(pads)}, for which ESP-NN asks for less scratch than it writes"
    return reaches_far(view)


PADS = Predicate("pads that the assembly copies", _pads_unfit)


@kernel(("Conv1D", "Conv2D", "ConvDepthWise1D", "ConvDepthWise2D"), [*both_contracts(SPEC), in_assembly(SPEC, PADS)])
class DepthwiseInt8(Windowed):
    glue = "depthwise_s8"
    functions = ("esp_nn_depthwise_conv_s8_opt",)

    @classmethod
    def scratch_bytes(cls, view: NodeView) -> int:
        return depthwise_bytes(cls(view).shape().fields)

    def packed(self):
        return taps_last_channels(self.inputs[1].data).T
