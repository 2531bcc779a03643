# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from aidge_build.contract.call import Call, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR

from ..shared.packing import BLOCK, blocked, fc_shape
from .linear_int8 import LinearInt8, linear_specs


@kernel("FC", linear_specs(ROW_MAJOR))
class FcInt8(LinearInt8):
    narrow_instructions_per_mac = 7

    def call(self) -> Call:
        rows = self.inputs[1].data
        function, arguments = self.arguments("aidge_ref_fc_int8", rows, blocked(rows), False)
        return Call(
            function,
            ("int8/fc_int8.h",),
            (*arguments, fc_shape(self.inputs[0].dims[0], rows)),
            facts=computed(f"1 row x {BLOCK} outputs", 0),
        )
