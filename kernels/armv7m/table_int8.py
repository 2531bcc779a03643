# SPDX-License-Identifier: MIT
"""Every function of one int8 value as a table, three instructions for each value."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.kernel_kit.elementwise import ElementWise
from aidge_build.kernel_kit.tables import FUNCTIONS, table_of

from .assembly import Code
from .conditions import FEATURES

NAME = "aidge_armv7m_table_int8"
PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *table, int32_t count"
VALUES = ("r4", "r5", "r6", "r7")
TOGETHER = 16  # values of a turn
PORTABLE = """for (; count > 0; count--) {
        *y++ = table[(uint8_t)*x++];
    }"""


@kernel(
    FUNCTIONS,
    ImplSpec(
        inputs=(IOSpec(DType.int8, SAME),),
        outputs=(IOSpec(DType.int8, SAME),),
        features=FEATURES,
        predicates=(ALL_QUANTIZED,),
        rounding="any",
    ),
)
class TableInt8(ElementWise):
    assembly = "helps"

    def call(self) -> Call:
        table = numpy.roll(table_of(self.operator, self.inputs[0], self.outputs[0]), 128)  # by the value's byte
        return Call(
            NAME,
            ("table_int8.h",),
            (Input(0), Output(0), Constant("table", table), Literal(self.outputs[0].elements)),
            texts=(_text(),),
            facts=computed(f"{TOGETHER} values"),
        )


def _text() -> str:
    """The function; its output may take the input's place."""
    code = Code({"x": "r0", "y": "r1", "table": "r2", "count": "r3"})
    code("push {{r4-r7}}")
    code(f"subs {{count}}, {{count}}, #{TOGETHER}")
    code("blt 2f")
    code.label(1, f"{TOGETHER} values, the last ones first: the first one's instructions move the pointers")
    for last in range(TOGETHER - 1, 0, -len(VALUES)):
        places = list(zip(VALUES, range(last, -1, -1)))
        for value, place in places:
            code(f"ldrb {value}, [{{x}}, #{place}]" if place else f"ldrb {value}, [{{x}}], #{TOGETHER}")
        for value, _ in places:
            code(f"ldrb {value}, [{{table}}, {value}]")
        for value, place in places:
            code(f"strb {value}, [{{y}}, #{place}]" if place else f"strb {value}, [{{y}}], #{TOGETHER}")
    code(f"subs {{count}}, {{count}}, #{TOGETHER}")
    code("bge 1b")
    code.label(2)
    code(f"adds {{count}}, {{count}}, #{TOGETHER}")
    code("beq 4f")
    code.label(3, "values left over")
    code("ldrb r4, [{x}], #1")
    code("ldrb r4, [{table}, r4]")
    code("strb r4, [{y}], #1")
    code("subs {count}, {count}, #1")
    code("bne 3b")
    code.label(4)
    code("pop {{r4-r7}}")
    code("bx lr")
    return code.function(NAME, PARAMETERS, "y[i] = table[the byte x[i]], i < count; table: [256].", PORTABLE)
