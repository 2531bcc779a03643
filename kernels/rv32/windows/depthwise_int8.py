# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import depthwise_layers
from aidge_build.contract.kernel_kit.narrow.conditions import linear_spec
from aidge_build.contract.node import kernel

from ..core.assembly import CORE
from .depthwise_layout import ByteLayout


@kernel(
    ("ConvDepthWise1D", "ConvDepthWise2D"), linear_spec(CORE.features, depthwise_layers.FEW_TAPS, with_offsets=lambda _: True)
)
class DepthwiseInt8(depthwise_layers.DepthwiseInt8):
    core = CORE
    layout = ByteLayout
