# SPDX-License-Identifier: MIT
"""Every function of one int8 value as a table."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.table_routine import PARAMETERS, TableRoutine, table_spec
from aidge_build.contract.kernel_kit.tables import FUNCTIONS
from aidge_build.contract.node import kernel

from ..core.assembly import FEATURES, Routine


@kernel(FUNCTIONS, table_spec(FEATURES))
class TableInt8(TableRoutine):
    function, together = "aidge_rvv_table_int8", "a vector of values"

    def text(self, what: str) -> str:
        code = Routine({"x": "a0", "y": "a1", "table": "a2", "count": "a3", "length": "t0"})
        code.label(1)
        code("vsetvli {length}, {count}, e8, m8, ta, ma")
        code("vle8.v v8, ({x})")
        code("vluxei8.v v16, ({table}), v8")
        code("vse8.v v16, ({y})")
        for pointer in ("x", "y"):
            code(f"add {{{pointer}}}, {{{pointer}}}, {{length}}")
        code("sub {count}, {count}, {length}")
        code("bnez {count}, 1b")
        code("ret")
        return code.function(self.function, PARAMETERS, what)
