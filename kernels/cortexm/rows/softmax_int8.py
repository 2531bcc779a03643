# SPDX-License-Identifier: MIT
"""int8 softmax of many values in rows of neighbours: exponentials are added up, then four levels at a time are rounded."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.softmax import SoftmaxRows, rows_and_pixels
from aidge_build.contract.node import kernel

from ..core.assembly import Routine
from ..core.conditions import FEATURES

NAME = "aidge_cortexm_softmax"
QUADS = f"{NAME}_quads_int8"
WORTH = 256  # values for which --optimize balanced spends 400 bytes of code


@kernel("Softmax", rows_and_pixels(FEATURES))
class SoftmaxInt8(SoftmaxRows):
    function = f"{NAME}_int8"

    def call(self) -> Call:
        found = super().call()
        if self.view.objective != "speed" and self.outputs[0].elements < WORTH:
            return found
        texts = _sum_text(), _levels_text(), _ROWS
        return replace(found, function=QUADS, sources=("rows/softmax_quads_int8.h",), texts=texts, facts=computed("4 values"))


def _sum_text() -> str:
    """The largest value four bytes at a time, the last four whatever was before; a 64-bit sum."""
    code = Routine()
    values = [f"%value{index}" for index in range(4)]
    code("%enter")
    code("add %end, %x, %length")
    code("ldr %largest, [%end, #-4]", "the last values, some of which come once more")
    code("lsr %words, %length, #2")
    code("mov %place, %x")
    code.label("word", "the largest of each byte")
    code("ldr %others, [%place], #4")
    _largest(code)
    code("subs %words, %words, #1")
    code("bne %word")
    for distance in (16, 8):
        code(f"ror %others, %largest, #{distance}")
        _largest(code)
    code("sxtb %largest, %largest")
    code("rsb %offset, %largest, #255")
    code("add %exponentials, %exponentials, %offset, lsl #2", "where the exponential of 0 would stand")
    code("movs %low, #0", "the sum")
    code("movs %high, #0")
    code("movs %one, #1")
    code("subs %length, %length, #4")
    code.label("turn", "4 exponentials")
    for operation in ("ldrsb {0}, [%x], #1", "ldr {0}, [%exponentials, {0}, lsl #2]", "umlal %low, %high, {0}, %one"):
        for value in values:
            code(operation.format(value))
    code("subs %length, %length, #4")
    code("bge %turn")
    code("adds %length, %length, #4")
    code("beq %done")
    code.label("rest", "an exponential")
    code("ldrsb %value, [%x], #1")
    code("ldr %value, [%exponentials, %value, lsl #2]")
    code("umlal %low, %high, %value, %one")
    code("subs %length, %length, #1")
    code("bne %rest")
    code.label("done")
    code("strd %low, %high, [%sum]")
    code("mov %result, %largest")
    code("%leave %result")
    return code.function(
        f"{NAME}_sum",
        "const int8_t *x, const uint32_t *exponentials, uint64_t *sum, int32_t length",
        "The largest of 4 values or more, and the sum of their exponentials.",
        "",
        "int32_t",
    )


def _largest(code: Routine) -> None:
    """Keeps the larger bytes of %largest and %others."""
    code("ssub8 %difference, %others, %largest")
    code("sel %largest, %others, %largest")


def _levels_text() -> str:
    """10 instructions for each value: a product, whose high word is the level and its fraction."""
    code, values = Routine(), [f"%value{index}" for index in range(4)]
    code("%enter")
    code("ldm %row, {%last, %factor, %start, %mask, %shift, %zero}")
    code("subs %count, %count, #4")
    code("blt %done")
    code.label("turn", "4 values")
    for operation in ("ldrsb {0}, [%x], #1", "ldr {0}, [%last, {0}, lsl #2]"):
        for value in values:
            code(operation.format(value))
    for value in values:
        code(f"umull %low, {value}, {value}, %factor")
        code(f"add {value}, {value}, %start")
    code(f"tst {values[0]}, %mask")
    code("ittt ne")
    for value in values[1:]:
        code(f"tstne {value}, %mask")
    code("beq %done", "one is near the middle between two levels")
    for operation in ("lsr {0}, {0}, %shift", "add {0}, {0}, %zero", "ssat {0}, #8, {0}", "strb {0}, [%y], #1"):
        for value in values:
            code(operation.format(value))
    code("subs %count, %count, #4")
    code("bge %turn")
    code.label("done")
    code("adds %left, %count, #4", "values that are left")
    code("%leave %left")
    return code.function(
        f"{NAME}_levels",
        f"const int8_t *x, int8_t *y, int32_t count, const {NAME}_quads *row",
        "Levels of values four at a time, until fewer are left or one of four is to be rounded exactly: how many are left.",
        "",
        "int32_t",
    )


_ROWS = f"""/* Softmax of rows of 4 neighbouring int8 values or more: kit/softmax_rows.h says of what numbers. */
static void {QUADS}(const int8_t *input, int8_t *output, const uint32_t *exponentials, const uint64_t *quotient,
    const int32_t *zero_point, int32_t rows, int32_t length)
{{
#if AIDGE_CORTEXM_ASSEMBLY
    {NAME}_quads row;
    row.zero = *zero_point;
    for (; rows > 0; rows--) {{
        uint64_t sum;
        const int32_t largest = {NAME}_sum(input, exponentials, &sum, length);
        const aidge_kit_row_quotient by = aidge_kit_row_quotient_of(aidge_kit_multiply(sum, quotient[1]), (int32_t)quotient[0]);
        if (by.shift > 31) {{ /* every level is 0 */
            (void)memset(output, row.zero, (size_t)length);
        }} else {{
            int32_t left = length;
            int32_t place;
            row.last = exponentials + (255 - largest);
            row.factor = by.factor;
            row.start = by.half + AIDGE_KIT_SOFTMAX_BAND;
            row.mask = (2u * by.half - 1u) & ~(2u * AIDGE_KIT_SOFTMAX_BAND - 1u);
            row.shift = by.shift;
            while (left > 0) {{
                place = length - left;
                left = {NAME}_levels(input + place, output + place, left, &row);
                place = length - left;
                left = left > 4 ? left - 4 : 0;
                for (; place < length - left; place++) {{
                    const uint32_t level = aidge_kit_row_level(row.last[input[place]], &by, row.factor, by.half, row.shift);
                    const int32_t stored = (int32_t)level + row.zero;
                    output[place] = (int8_t)(stored > 127 ? 127 : stored);
                }}
            }}
        }}
        input += length;
        output += length;
    }}
#else
    aidge_kit_softmax_rows_int8(input, output, exponentials, quotient, zero_point, rows, length);
#endif
}}"""
