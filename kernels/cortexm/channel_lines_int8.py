# SPDX-License-Identifier: MIT
"""Batch normalization, or two sums or products with constants of each channel in one pass."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.channel_lines import (
    CHANNEL_LINE,
    CHANNEL_LINES,
    CHANNEL_LINES_TYPE,
    ChannelLinesInt8,
    channel_lines_spec,
)
from aidge_build.contract.node import kernel

from .assembly import Routine
from .conditions import FEATURES


@kernel(CHANNEL_LINES_TYPE, channel_lines_spec(FEATURES), CHANNEL_LINES)
class CortexMChannelLinesInt8(ChannelLinesInt8):
    def call(self) -> Call:
        return self.assembled(Routine, "cortexm")


@kernel(CHANNEL_LINE, channel_lines_spec(FEATURES))
class CortexMChannelLineInt8(CortexMChannelLinesInt8):
    pass
