# SPDX-License-Identifier: MIT
"""Every function of one int8 value as a table, computed by the operator itself: exact by construction."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.tables import FUNCTIONS, straight_call, table_of
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType


@kernel(FUNCTIONS, ImplSpec(IOSpec(DType.int8, SAME), predicates=(ALL_QUANTIZED,), rounding="any"))
class TableInt8(ElementWise):
    def call(self) -> Call:
        return straight_call(self.view) or self._looked_up()

    def _looked_up(self) -> Call:
        table = table_of(self.operator, self.inputs[0], self.outputs[0])
        return Call(
            "aidge_ref_table_int8",
            ("int8/table_int8.h",),
            (Input(0), Output(0), Constant("table", table), Literal(self.outputs[0].elements)),
        )
