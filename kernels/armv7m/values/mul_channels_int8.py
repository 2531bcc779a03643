# SPDX-License-Identifier: MIT
"""int8 products of an image and one factor for each channel."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.factor_lines import FactorLinesInt8, factor_lines_spec
from aidge_build.contract.node import kernel

from ..core.assembly import Code
from ..core.conditions import FEATURES


@kernel("Mul", factor_lines_spec(FEATURES))
class Armv7MMulChannelsInt8(FactorLinesInt8):
    def call(self) -> Call:
        return self.assembled(Code, "armv7m")
