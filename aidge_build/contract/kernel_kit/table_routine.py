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

VALUES, TOGETHER = "abcd", 16  # registers of values, values of a turn
PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *table, int32_t count"


def table_spec(features: frozenset[str]) -> ImplSpec:
    """Returns the spec of int8 to int8 in any storage order, the same on both sides."""
    return ImplSpec(IOSpec(DType.int8, SAME), features=features, predicates=(ALL_QUANTIZED,), rounding="any")


class TableRoutine(ElementWise):
    """A library's subclass names its `function` and its emitter. The function may overwrite its input with its output."""

    function: ClassVar[str]
    emitter: ClassVar[type[Routine]]

    def call(self) -> Call:
        return straight_call(self.view) or self._looked_up()

    def _looked_up(self) -> Call:
        table = numpy.roll(table_of(self.operator, self.inputs[0], self.outputs[0]), 128)  # by the value's byte
        what = "y[i] = table[the byte x[i]], i < count; table: [256]."
        return Call(
            self.function,
            ("core/target.h",),
            (Input(0), Output(0), Constant("table", table), Literal(self.outputs[0].elements)),
            texts=(_body(self.emitter()).function(self.function, PARAMETERS, what),),
            facts=computed(f"{TOGETHER} values"),
        )


def _body(code: Routine) -> Routine:
    """Returns the instructions, which every Cortex-M has: three for a value, four values at a time, as loads follow loads."""
    code("%enter.low")
    code(f"subs %count, #{TOGETHER}")
    code("blt %rest")
    code.label("turn", f"{TOGETHER} values")
    for first in range(0, TOGETHER, len(VALUES)):
        places = [(value, first + place) for place, value in enumerate(VALUES)]
        for value, place in places:
            code(f"ldrb %{value}, [%x, #{place}]")
        for value, _ in places:
            code(f"ldrb %{value}, [%table, %{value}]")
        for value, place in places:
            code(f"strb %{value}, [%y, #{place}]")
    code(f"adds %x, #{TOGETHER}")
    code(f"adds %y, #{TOGETHER}")
    code(f"subs %count, #{TOGETHER}")
    code("bge %turn")
    code.label("rest")
    code(f"adds %count, #{TOGETHER}")
    code("beq %done")
    code.label("one", "values left over")
    code("ldrb %a, [%x]")
    code("ldrb %a, [%table, %a]")
    code("strb %a, [%y]")
    code("adds %x, #1")
    code("adds %y, #1")
    code("subs %count, #1")
    code("bne %one")
    code.label("done")
    code("%leave")
    return code
