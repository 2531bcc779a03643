# SPDX-License-Identifier: MIT
"""Convolutions of many channels of stored bytes with the function behind them."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.node import kernel

from ..core.conditions import QUADS_OF_CHANNELS
from .conv2d_planes_int8 import NEAR_ROWS, Conv2dPlanesInt8
from .curved_layers import PATTERN, TYPE, curved_spec
from .curved_node import CurvedNode


@kernel(TYPE, curved_spec(ONE_GROUP, QUADS_OF_CHANNELS, NEAR_ROWS), PATTERN)
class CurvedPlanesInt8(CurvedNode, Conv2dPlanesInt8):
    """The layer alone is one of Conv2dPlanesInt8."""
