# SPDX-License-Identifier: MIT
"""int8 maxima over the whole map that take in their rows part by part."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.pool_parts import MAXIMA, MaximumPart, maxima_spec
from aidge_build.contract.node import kernel


@kernel(MAXIMA, maxima_spec())
class MaxPartInt8(MaximumPart):
    def call(self) -> Call:
        return self.call_of("ref", "int8/max_part_int8.h", {})
