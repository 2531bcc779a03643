# SPDX-License-Identifier: MIT
"""Every function of one int8 value as a table, three instructions for each value and half a one for the loop."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.table_routine import TableRoutine, table_spec
from aidge_build.contract.kernel_kit.tables import FUNCTIONS
from aidge_build.contract.node import kernel

from .assembly import Routine
from .conditions import FEATURES

TOGETHER = 8  # values of a turn


@kernel(FUNCTIONS, table_spec(FEATURES))
class TableInt8(TableRoutine):
    function, together = "aidge_armv6m_table_int8", TOGETHER

    def body(self) -> Routine:
        return _body()


def _body() -> Routine:
    code = Routine()
    code("%enter.low")
    code(f"subs %count, #{TOGETHER}")
    code("blt %rest")
    code.label("turn", f"{TOGETHER} values")
    for place in range(TOGETHER):
        _value(code, place)
    code(f"adds %x, #{TOGETHER}")
    code(f"adds %y, #{TOGETHER}")
    code(f"subs %count, #{TOGETHER}")
    code("bge %turn")
    code.label("rest")
    code(f"adds %count, #{TOGETHER}")
    code("beq %done")
    code.label("one", "values left over")
    _value(code, 0)
    code("adds %x, #1")
    code("adds %y, #1")
    code("subs %count, #1")
    code("bne %one")
    code.label("done")
    code("%leave")
    return code


def _value(code: Routine, place: int) -> None:
    code(f"ldrb %value, [%x, #{place}]")
    code("ldrb %value, [%table, %value]")
    code(f"strb %value, [%y, #{place}]")
