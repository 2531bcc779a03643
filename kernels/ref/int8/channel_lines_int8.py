# SPDX-License-Identifier: MIT
"""Two sums or products with constants of each channel in one pass."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Literal
from aidge_build.contract.node import kernel
from aidge_build.kernel_kit.channel_lines import (
    CHANNEL_LINES,
    CHANNEL_LINES_TYPE,
    NOTE,
    ChannelLinesInt8,
    channel_lines_spec,
)


@kernel(CHANNEL_LINES_TYPE, channel_lines_spec(), CHANNEL_LINES)
class RefChannelLinesInt8(ChannelLinesInt8):
    def call(self) -> Call:
        shifts = Constant("shifts", numpy.array([line.shift for line in self.lines()], numpy.int32))
        sizes = Literal(self.channels), Literal(self.pixels)
        return Call("aidge_ref_channel_lines_int8", ("int8/channel_lines_int8.h",), (*self.pointers(), shifts, *sizes), note=NOTE)
