# SPDX-License-Identifier: MIT
"""Convolutions of few channels of stored bytes with the function behind them."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.node import kernel

from .conv2d_lines_int8 import FEW_TAPS, Conv2dLinesInt8
from .curved_layers import PATTERN, TYPE, curved_spec
from .curved_node import CurvedNode


@kernel(TYPE, curved_spec(ONE_GROUP, FEW_TAPS), PATTERN)
class CurvedLinesInt8(CurvedNode, Conv2dLinesInt8):
    """The layer alone is one of Conv2dLinesInt8."""
