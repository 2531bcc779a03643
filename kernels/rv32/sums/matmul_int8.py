# SPDX-License-Identifier: MIT
"""int8 products of two matrices that are computed at run time."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.conditions import ROOM
from aidge_build.contract.kernel_kit.narrow import matmul
from aidge_build.contract.kernel_kit.products import product_spec
from aidge_build.contract.node import kernel

from ..core.assembly import CORE


@kernel("MatMul", product_spec(ROOM, matmul.fits(CORE), features=CORE.features))
class MatmulInt8(matmul.MatmulInt8):
    core = CORE
