# SPDX-License-Identifier: MIT
"""int8 products of an image and one factor for each channel."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.factor_lines import factor_lines_spec
from aidge_build.contract.kernel_kit.narrow import mul_channels
from aidge_build.contract.node import kernel

from ..core.assembly import CORE


@kernel("Mul", factor_lines_spec(CORE.features))
class Armv6MMulChannelsInt8(mul_channels.MulChannelsInt8):
    core = CORE
