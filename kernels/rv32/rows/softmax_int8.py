# SPDX-License-Identifier: MIT
"""int8 softmax of rows of neighbours."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.softmax import SoftmaxRows, rows_and_pixels
from aidge_build.contract.node import kernel

from ..core.assembly import CORE


@kernel("Softmax", rows_and_pixels(CORE.features))
class SoftmaxInt8(SoftmaxRows):
    assembly = "helps"
    function = f"{CORE.prefix}_softmax_int8"
