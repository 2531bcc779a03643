# SPDX-License-Identifier: MIT
"""Every function of one int8 value as a table, three instructions for each value and half a one for the loop."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.table_routine import REGISTERS, TableRoutine, table_spec
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
    code = Routine(REGISTERS)
    code("push {{r4, lr}}")
    code(f"subs {{count}}, #{TOGETHER}")
    code("blt 2f")
    code.label(1, f"{TOGETHER} values")
    for place in range(TOGETHER):
        _value(code, place)
    code(f"adds {{x}}, #{TOGETHER}")
    code(f"adds {{y}}, #{TOGETHER}")
    code(f"subs {{count}}, #{TOGETHER}")
    code("bge 1b")
    code.label(2)
    code(f"adds {{count}}, #{TOGETHER}")
    code("beq 4f")
    code.label(3, "values left over")
    _value(code, 0)
    code("adds {x}, #1")
    code("adds {y}, #1")
    code("subs {count}, #1")
    code("bne 3b")
    code.label(4)
    code("pop {{r4, pc}}")
    return code


def _value(code: Routine, place: int) -> None:
    code(f"ldrb r4, [{{x}}, #{place}]")
    code("ldrb r4, [{table}, r4]")
    code(f"strb r4, [{{y}}, #{place}]")
