# SPDX-License-Identifier: MIT
"""Pointwise convolutions of stored bytes with the function behind them."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from ..core.conditions import QUADS_OF_CHANNELS
from .curved_layers import PATTERN, TYPE, curved_spec
from .curved_node import CurvedNode
from .pointwise_int8 import BANDS, NO_MOVES, ONE_PIXEL, PointwiseInt8


def _one_pixel(view: NodeView) -> str:
    return "a single pixel" if view.inputs[0].elements == view.inputs[0].dims[1] else ""


SEVERAL_PIXELS = Predicate("several pixels", _one_pixel)


@kernel(TYPE, curved_spec(ONE_GROUP, QUADS_OF_CHANNELS, ONE_PIXEL, NO_MOVES, BANDS, SEVERAL_PIXELS), PATTERN)
class CurvedPointwiseInt8(CurvedNode, PointwiseInt8):
    """The layer alone is one of PointwiseInt8."""
