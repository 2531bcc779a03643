# SPDX-License-Identifier: MIT
"""QuantizeLinear of many floats."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import quantize
from aidge_build.contract.node import kernel

from ..core.assembly import CORE


@kernel("QuantizeLinear", quantize.spec(CORE))
class QuantizeInt8(quantize.QuantizeInt8):
    core, function = CORE, f"{CORE.prefix}_quantize_int8"
