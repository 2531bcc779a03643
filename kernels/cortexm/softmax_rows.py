# SPDX-License-Identifier: MIT
"""Rows of an int8 softmax in assembly: their exponentials are added up, then four levels at a time are rounded."""

from __future__ import annotations

from .assembly import Routine

NAME = "aidge_cortexm_softmax"


def sum_text() -> str:
    """The largest value four bytes at a time, the last four whatever was before; a 64-bit sum."""
    code = Routine({})
    code("push {{r4-r11, lr}}")
    code("add r12, r0, r3")
    code("ldr r4, [r12, #-4]", "the last values, some of which come once more")
    code("lsr r8, r3, #2")
    code("mov r7, r0")
    code.label(1, "the largest of each byte")
    code("ldr r5, [r7], #4")
    _largest(code)
    code("subs r8, r8, #1")
    code("bne 1b")
    for distance in (16, 8):
        code(f"ror r5, r4, #{distance}")
        _largest(code)
    code("sxtb r4, r4")
    code("rsb r5, r4, #255")
    code("add r1, r1, r5, lsl #2", "where the exponential of 0 would stand")
    code("movs r5, #0", "the sum in r5, r6")
    code("movs r6, #0")
    code("movs r7, #1")
    code("subs r3, r3, #4")
    code.label(2, "4 exponentials")
    for register in range(8, 12):
        code(f"ldrsb r{register}, [r0], #1")
    for register in range(8, 12):
        code(f"ldr r{register}, [r1, r{register}, lsl #2]")
    for register in range(8, 12):
        code(f"umlal r5, r6, r{register}, r7")
    code("subs r3, r3, #4")
    code("bge 2b")
    code("adds r3, r3, #4")
    code("beq 4f")
    code.label(3, "an exponential")
    code("ldrsb r8, [r0], #1")
    code("ldr r8, [r1, r8, lsl #2]")
    code("umlal r5, r6, r8, r7")
    code("subs r3, r3, #1")
    code("bne 3b")
    code.label(4)
    code("strd r5, r6, [r2]")
    code("mov r0, r4")
    code("pop {{r4-r11, pc}}")
    return code.function(
        f"{NAME}_sum",
        "const int8_t *x, const uint32_t *exponentials, uint64_t *sum, int32_t length",
        "The largest of 4 values or more, and the sum of their exponentials.",
        f"return {NAME}_sum_c(x, exponentials, sum, length);",
        "int32_t",
    )


def _largest(code: Routine) -> None:
    code("ssub8 r6, r5, r4")
    code("sel r4, r5, r4")


def levels_text() -> str:
    """10 instructions for each value: a product, whose high word is the level and its fraction."""
    code, values = Routine({}), range(4, 8)
    code("push {{r4-r11, lr}}")
    code("ldm r3, {{r3, r9, r10, r11, r12, lr}}", "last, factor, start, mask, shift, zero")
    code("subs r2, r2, #4")
    code("blt 2f")
    code.label(1, "4 values")
    for value in values:
        code(f"ldrsb r{value}, [r0], #1")
    for value in values:
        code(f"ldr r{value}, [r3, r{value}, lsl #2]")
    for value in values:
        code(f"umull r8, r{value}, r{value}, r9")
        code(f"add r{value}, r{value}, r10")
    code("tst r4, r11")
    code("ittt ne")
    for value in values[1:]:
        code(f"tstne r{value}, r11")
    code("beq 2f", "one is near the middle between two levels")
    for operation in ("lsr r{0}, r{0}, r12", "add r{0}, r{0}, lr", "ssat r{0}, #8, r{0}", "strb r{0}, [r1], #1"):
        for value in values:
            code(operation.format(value))
    code("subs r2, r2, #4")
    code("bge 1b")
    code.label(2)
    code("adds r0, r2, #4", "values that are left")
    code("pop {{r4-r11, pc}}")
    return code.function(
        f"{NAME}_levels",
        f"const int8_t *x, int8_t *y, int32_t count, const {NAME}_quads *row",
        "Levels of values four at a time, until fewer are left or one of four is to be rounded exactly: how many are left.",
        f"return {NAME}_levels_c(x, y, count, row);",
        "int32_t",
    )
