# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import fc_rows
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView

from ..core.assembly import CORE
from ..core.costs import dense_per_mac


@kernel("FC", fc_rows.spec(CORE))
class FcInt8(fc_rows.FcInt8):
    core = CORE

    @classmethod
    def takes_per_mac(cls, view: NodeView, is_narrow: bool) -> float:
        return dense_per_mac(view)
