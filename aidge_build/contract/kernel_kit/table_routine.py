# SPDX-License-Identifier: MIT
"""Any function of one int8 value as a lookup table in assembly, shared by kernels of several libraries."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.routine import Routine
from aidge_build.contract.kernel_kit.tables import straight_call, table_of
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *table, int32_t count"
PORTABLE = """for (; count > 0; count--) {
        *y++ = table[(uint8_t)*x++];
    }"""


def table_spec(features: frozenset[str]) -> ImplSpec:
    """Returns the spec of int8 to int8 in any storage order, the same on both sides."""
    return ImplSpec(
        inputs=(IOSpec(DType.int8, SAME),),
        outputs=(IOSpec(DType.int8, SAME),),
        features=features,
        predicates=(ALL_QUANTIZED,),
        rounding="any",
    )


class TableRoutine(ElementWise):
    """A library's subclass gives the `body` of its `function`. The function takes `together` values in a turn, and may overwrite
    its input with its output."""

    assembly = "helps"
    function: ClassVar[str]
    together: ClassVar[int]

    def body(self) -> Routine:
        """Returns the instructions, which name the PARAMETERS."""
        raise NotImplementedError

    def call(self) -> Call:
        return straight_call(self.view) or self._looked_up()

    def _looked_up(self) -> Call:
        table = numpy.roll(table_of(self.operator, self.inputs[0], self.outputs[0]), 128)  # by the value's byte
        what = "y[i] = table[the byte x[i]], i < count; table: [256]."
        return Call(
            self.function,
            ("target.h",),
            (Input(0), Output(0), Constant("table", table), Literal(self.outputs[0].elements)),
            texts=(self.body().function(self.function, PARAMETERS, what, PORTABLE),),
            facts=computed(f"{self.together} values"),
        )
