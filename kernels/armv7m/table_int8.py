# SPDX-License-Identifier: MIT
"""Every function of one int8 value as a table, three instructions for each value."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.table_routine import TableRoutine, table_spec
from aidge_build.contract.kernel_kit.tables import FUNCTIONS
from aidge_build.contract.node import kernel

from .assembly import Code
from .conditions import FEATURES

VALUES = "abcd"
TOGETHER = 16  # values of a turn


@kernel(FUNCTIONS, table_spec(FEATURES))
class TableInt8(TableRoutine):
    function, together = "aidge_armv7m_table_int8", TOGETHER

    def body(self) -> Code:
        return _body()


def _body() -> Code:
    code = Code()
    code("%enter")
    code(f"subs %count, %count, #{TOGETHER}")
    code("blt %rest")
    code.label("turn", f"{TOGETHER} values, the last ones first: the first one's instructions move the pointers")
    for last in range(TOGETHER - 1, 0, -len(VALUES)):
        places = list(zip(VALUES, range(last, -1, -1)))
        for value, place in places:
            code(f"ldrb %{value}, [%x, #{place}]" if place else f"ldrb %{value}, [%x], #{TOGETHER}")
        for value, _ in places:
            code(f"ldrb %{value}, [%table, %{value}]")
        for value, place in places:
            code(f"strb %{value}, [%y, #{place}]" if place else f"strb %{value}, [%y], #{TOGETHER}")
    code(f"subs %count, %count, #{TOGETHER}")
    code("bge %turn")
    code.label("rest")
    code(f"adds %count, %count, #{TOGETHER}")
    code("beq %done")
    code.label("one", "values left over")
    code("ldrb %a, [%x], #1")
    code("ldrb %a, [%table, %a]")
    code("strb %a, [%y], #1")
    code("subs %count, %count, #1")
    code("bne %one")
    code.label("done")
    code("%leave")
    return code
