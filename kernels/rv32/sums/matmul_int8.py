# SPDX-License-Identifier: MIT
"""int8 products of two matrices that are computed at run time."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import matmul
from aidge_build.contract.node import kernel

from ..core.assembly import CORE


@kernel("MatMul", matmul.spec(CORE))
class MatmulInt8(matmul.MatmulInt8):
    core = CORE
