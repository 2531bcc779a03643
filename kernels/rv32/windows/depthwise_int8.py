# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes."""

from __future__ import annotations

import math

from aidge_build.contract.kernel_kit.narrow import depthwise_layers
from aidge_build.contract.kernel_kit.narrow.byte_planes import FARTHEST, reach_of
from aidge_build.contract.kernel_kit.narrow.conditions import linear_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from ..core.assembly import CORE
from .depthwise_layout import MOST_IN_TURN, ByteLayout

MOST_TAPS = 49  # more than MOST_IN_TURN only where few of them see pads, which the portable kernel leaves out


def _taps(view: NodeView) -> str:
    kernel = view.operator.window.kernel
    taps = math.prod(kernel)
    is_inside = all(along <= size for along, size in zip(kernel, view.inputs[0].dims[2:]))
    most = MOST_TAPS if is_inside else MOST_IN_TURN
    return "" if taps <= most else f"{taps} taps, wants at most {most}"


def _far(view: NodeView) -> str:
    reach = reach_of(view.operator.window)
    return "" if reach <= FARTHEST else f"{reach:,} bytes from the first to the last input of a tile, at most {FARTHEST:,}"


@kernel(
    ("ConvDepthWise1D", "ConvDepthWise2D"),
    linear_spec(
        CORE.features,
        Predicate(f"at most {MOST_TAPS} taps", _taps),
        Predicate("near inputs", _far),
        with_offsets=lambda _: True,
    ),
)
class DepthwiseInt8(depthwise_layers.DepthwiseInt8):
    core = CORE
    layout = ByteLayout
