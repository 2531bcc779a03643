# SPDX-License-Identifier: MIT
"""Rows of an int8 softmax in assembly: their exponentials are added up, then four levels at a time are rounded."""

from __future__ import annotations

from .assembly import Routine

NAME = "aidge_cortexm_softmax"


def sum_text() -> str:
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
        f"return {NAME}_sum_c(x, exponentials, sum, length);",
        "int32_t",
    )


def _largest(code: Routine) -> None:
    """Of the bytes of %largest and %others."""
    code("ssub8 %difference, %others, %largest")
    code("sel %largest, %others, %largest")


def levels_text() -> str:
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
        f"return {NAME}_levels_c(x, y, count, row);",
        "int32_t",
    )
