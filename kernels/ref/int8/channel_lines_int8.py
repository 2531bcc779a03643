# SPDX-License-Identifier: MIT
"""Batch normalization, or two sums or products with constants of each channel in one pass."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant
from aidge_build.contract.kernel_kit.channel_lines import (
    CHANNEL_LINE,
    CHANNEL_LINES,
    CHANNEL_LINES_TYPE,
    NOTE,
    ChannelLinesInt8,
    channel_lines_spec,
)
from aidge_build.contract.node import kernel


@kernel(CHANNEL_LINES_TYPE, channel_lines_spec(), CHANNEL_LINES)
class RefChannelLinesInt8(ChannelLinesInt8):
    def call(self) -> Call:
        shifts = Constant("shifts", numpy.array(self.shifts, numpy.int32))
        name = "aidge_ref_channel_lines_int8" if len(self.shifts) > 1 else "aidge_ref_channel_line_int8"
        return Call(name, ("int8/channel_lines_int8.h",), (*self.pointers(), shifts, *self.sizes()), note=NOTE)


@kernel(CHANNEL_LINE, channel_lines_spec())
class RefChannelLineInt8(RefChannelLinesInt8):
    pass
