# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from .layer import both_contracts
from .linear_int8 import in_assembly, linear_spec
from .scratch import convolution_bytes, copies_windows
from .window import WINDOW, Windowed, reaches_far

SPEC = linear_spec(ONE_GROUP, WINDOW)


def _pads_unfit(view: NodeView) -> str:
    return "" if copies_windows(Windowed(view).shape().fields) else reaches_far(view)


PADS = Predicate("pads that the assembly copies", _pads_unfit)


@kernel(("Conv1D", "Conv2D"), [*both_contracts(SPEC), in_assembly(SPEC, PADS)])
class Conv2dInt8(Windowed):
    glue = "conv_s8"
    functions = ("esp_nn_conv_s8_opt",)

    @classmethod
    def scratch_bytes(cls, view: NodeView) -> int:
        return convolution_bytes(cls(view).shape().fields)

    def packed(self):
        return taps_last_channels(self.inputs[1].data)
