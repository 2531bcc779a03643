# SPDX-License-Identifier: MIT
"""Every function of one int8 value as a table, three instructions for each value."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.table_routine import TableRoutine, table_spec
from aidge_build.contract.kernel_kit.tables import FUNCTIONS
from aidge_build.contract.node import kernel

from ..core.assembly import CORE, FEW


@kernel(FUNCTIONS, table_spec(CORE.features))
class TableInt8(TableRoutine):
    function, emitter = f"{CORE.prefix}_table_int8", FEW.emitter
