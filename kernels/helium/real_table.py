# SPDX-License-Identifier: MIT
"""Every function from one int8 value to a float as a table of its results, four values gathered at a time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from .conditions import MVE


@kernel("RealTable", ImplSpec((IOSpec(DType.int8, SAME),), (IOSpec(DType.float32, SAME),), features=MVE, rounding="any"))
class RealTable(ElementWise):
    def call(self) -> Call:
        table = numpy.roll(numpy.array(self.operator.results, numpy.float32), 128)  # by the value's byte
        return Call(
            "aidge_helium_real_table",
            ("real_table.h",),
            (Input(0), Output(0), Constant("table", table), Literal(self.outputs[0].elements)),
            facts=computed("4 values"),
        )
