# SPDX-License-Identifier: MIT
"""Every function of one int8 value as a table."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.table_routine import table_spec
from aidge_build.contract.kernel_kit.tables import FUNCTIONS, straight_call, table_of
from aidge_build.contract.node import kernel

from ..core.assembly import FEATURES


@kernel(FUNCTIONS, table_spec(FEATURES))
class TableInt8(ElementWise):
    def call(self) -> Call:
        return straight_call(self.view) or self._looked_up()

    def _looked_up(self) -> Call:
        table = numpy.roll(table_of(self.operator, self.inputs[0], self.outputs[0]), 128)  # by the value's byte
        return Call(
            "aidge_rvv_table_bytes",
            ("core/bytes.h",),
            (Output(0), Input(0), Constant("table", table), Literal(self.outputs[0].elements)),
            facts=computed("a vector of values"),
        )
