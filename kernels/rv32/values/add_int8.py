# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import add
from aidge_build.contract.node import kernel

from ..core.assembly import CORE


@kernel(("Add", "Sub"), add.specs(CORE))
class AddInt8(add.AddInt8):
    core, function = CORE, f"{CORE.prefix}_add_int8"
