# SPDX-License-Identifier: MIT
"""Every function of one int8 value as a table, three instructions for each value."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.table_routine import TableRoutine, table_spec
from aidge_build.contract.kernel_kit.tables import FUNCTIONS
from aidge_build.contract.node import kernel

from ..core.assembly import Code
from ..core.conditions import FEATURES


@kernel(FUNCTIONS, table_spec(FEATURES))
class TableInt8(TableRoutine):
    function, emitter = "aidge_armv7m_table_int8", Code
