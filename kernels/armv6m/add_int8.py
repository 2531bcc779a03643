# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.proved_sums import ProvedSums
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8, rows_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME
from aidge_build.operators.arithmetic.word_sums import word_sum

from .assembly import Routine
from .conditions import FEATURES

PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *sum, int32_t count"


def routine(bits: int) -> tuple[str, str]:
    """Name and text for sums with so many fraction bits."""
    name = f"aidge_armv6m_add_int8_{bits}"
    code = Routine()
    code("push {r4-r7, lr}")
    code("mov r4, r8")
    code("push {r4}")
    code("ldm r3!, {r4, r6, r7}", "factors and offset, in this order")
    code("mov r8, r7")
    code("mov r7, r6")
    code("mov r6, r4")
    code("ldr r3, [sp, #24]", "count")
    for pointer in range(3):
        code(f"adds r{pointer}, r{pointer}, r3")
    code("rsbs r3, r3, #0")
    code("beq 4f")
    code.label(1, "a value")
    code("ldrsb r4, [r0, r3]")
    code("ldrsb r5, [r1, r3]")
    code("muls r4, r6")
    code("muls r5, r7")
    code("adds r4, r4, r5")
    code("add r4, r8")
    code(f"asrs r4, r4, #{bits}")
    code("sxtb r5, r4")
    code("cmp r5, r4")
    code("bne 3f")
    code.label(2)
    code("strb r4, [r2, r3]")
    code("adds r3, r3, #1")
    code("bne 1b")
    code.label(4)
    code("pop {r4}")
    code("mov r8, r4")
    code("pop {r4-r7, pc}")
    code.label(3, "beyond int8")
    code("asrs r4, r4, #31")
    code("movs r5, #127")
    code("eors r4, r5")
    code("b 2b")
    portable = f"aidge_armv6m_add_int8(first, second, output, sum, count, {bits});"
    return name, code.function(name, PARAMETERS, f"Sums of int8 values, with {bits} fraction bits.", portable)


SUMS = ProvedSums(word_sum, "one shift")


@kernel(("Add", "Sub"), rows_spec(FEATURES, SAME, *SUMS.conditions))
class AddInt8(RowsInt8):
    def call(self) -> Call:
        found = SUMS.of(self.view)
        row, text = routine(found.bits)
        return self.by_rows(
            row,
            "add_int8.h",
            Constant("sum", numpy.array([found.first, found.second, found.offset], numpy.int32)),
            text,
            note=f"{found.bits} fraction bits, proved equal on all 65,536 pairs of values",
            facts=computed("1 value", 1),
        )


@kernel(("Add", "Sub"), rows_spec(FEATURES, CHANNELS_LAST, *SUMS.conditions))
class AddPixelsInt8(AddInt8):
    """One term repeats, pixel by pixel."""


@kernel(("Add", "Sub"), rows_spec(FEATURES, ROW_MAJOR, *SUMS.conditions))
class AddRowsInt8(AddInt8):
    """One term repeats, row by row."""
