# SPDX-License-Identifier: MIT
"""QuantizeLinear of many floats."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import quantize
from aidge_build.contract.kernel_kit.quantize_guess import guess_spec
from aidge_build.contract.node import kernel

from ..core.assembly import CORE


@kernel("QuantizeLinear", guess_spec(CORE.features))
class QuantizeInt8(quantize.QuantizeInt8):
    core, function = CORE, f"{CORE.prefix}_quantize_int8"
