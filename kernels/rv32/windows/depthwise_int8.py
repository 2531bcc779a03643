# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import depthwise_layers
from aidge_build.contract.kernel_kit.narrow.byte_planes import FARTHEST, reach_of
from aidge_build.contract.kernel_kit.narrow.conditions import linear_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from ..core.assembly import CORE
from .depthwise_layout import ByteLayout


def _far(view: NodeView) -> str:
    reach = reach_of(view.operator.window)
    return "" if reach <= FARTHEST else f"{reach:,} bytes from the first to the last input of a tile, at most {FARTHEST:,}"


@kernel(
    ("ConvDepthWise1D", "ConvDepthWise2D"),
    linear_spec(CORE.features, depthwise_layers.FEW_TAPS, Predicate("near inputs", _far), with_offsets=lambda _: True),
)
class DepthwiseInt8(depthwise_layers.DepthwiseInt8):
    core = CORE
    layout = ByteLayout
