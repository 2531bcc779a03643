# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import fc_rows
from aidge_build.contract.node import kernel

from ..core.assembly import CORE


@kernel("FC", fc_rows.spec(CORE))
class FcInt8(fc_rows.FcInt8):
    core = CORE
