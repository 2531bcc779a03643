# SPDX-License-Identifier: MIT
"""int8 multiplication of two tensors."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import mul
from aidge_build.contract.node import kernel

from ..core.assembly import CORE


@kernel("Mul", mul.specs(CORE))
class MulInt8(mul.MulInt8):
    core = CORE
