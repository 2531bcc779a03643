# SPDX-License-Identifier: MIT
"""Every function from one int8 value to a float as a table of its results, four values gathered at a time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from .assembly import Assembler, function
from .conditions import MVE


@kernel("RealTable", ImplSpec((IOSpec(DType.int8, SAME),), (IOSpec(DType.float32, SAME),), features=MVE, rounding="any"))
class RealTable(ElementWise):
    def call(self) -> Call:
        table = numpy.roll(numpy.array(self.operator.results, numpy.float32), 128)  # by the value's byte
        return Call(
            "aidge_helium_real_table",
            ("core/helium.h",),
            (Input(0), Output(0), Constant("table", table), Literal(self.outputs[0].elements)),
            texts=(_text(),),
            facts=computed("4 values"),
        )


def _text() -> str:
    emit = Assembler()
    emit("%enter", "wlstp.32 lr, %count, %done")
    emit.label("turn")
    emit("vldrb.u32 %q.bytes, [%x], #4", "vldrw.u32 %q.results, [%table, %q.bytes, uxtw #2]")
    emit("vstrw.32 %q.results, [%y], #16", "letp lr, %turn")
    emit.label("done")
    emit("%leave")
    parameters = "const int8_t *x, float *y, const float *table, int32_t count"
    return function("aidge_helium_real_table", "y = table[the byte x]; table: [256].", parameters, emit.lines)
