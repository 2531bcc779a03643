# SPDX-License-Identifier: MIT
"""Every function from one int8 value to a float as a table of its results."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType


@kernel("RealTable", ImplSpec((IOSpec(DType.int8, SAME),), (IOSpec(DType.float32, SAME),), rounding="any"))
class RealTable(ElementWise):
    def call(self) -> Call:
        table = numpy.array(self.operator.results, numpy.float32)
        return Call(
            "aidge_ref_dequantize_by_table",
            ("int8/dequantize_by_table.h",),
            (Input(0), Output(0), Constant("table", table), Literal(self.outputs[0].elements)),
        )
