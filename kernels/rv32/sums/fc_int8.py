# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import fc_rows
from aidge_build.contract.kernel_kit.narrow.conditions import linear_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR

from ..core.assembly import CORE


@kernel("FC", linear_spec(CORE.features, fc_rows.INDEXED, form=ROW_MAJOR, with_offsets=lambda _: True))
class FcInt8(fc_rows.FcInt8):
    core = CORE
