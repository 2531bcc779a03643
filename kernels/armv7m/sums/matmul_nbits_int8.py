# SPDX-License-Identifier: MIT
"""float32 products with packed weights, for data that become int8 levels."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import packed_product
from aidge_build.contract.node import kernel

from ..core.assembly import CORE


@kernel("MatMulNBits", packed_product.spec(CORE))
class MatMulNBitsInt8(packed_product.PackedProductLevels):
    core = CORE
