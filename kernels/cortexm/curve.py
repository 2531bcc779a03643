# SPDX-License-Identifier: MIT
"""tanh and the logistic function of float32 values in place."""

from __future__ import annotations

from collections.abc import Sequence

from .assembly import Routine

NAME = "aidge_cortexm_curve"
_FIRST, _TOGETHER = 12, 8  # values in registers
_INFINITY = 0xFF000000  # patterns are compared without their sign, one bit to the left


def curve_text() -> str:
    """14 instructions for each value, 8 at a time: one load gives the coefficients, which the sums then overwrite."""
    code, last = Routine({}), _FIRST + _TOGETHER - 1
    code("cmp r1, #0")
    code("ble 7f")
    code("push {{r4-r11}}")
    code(f"vpush {{{{s16-s{last}}}}}")
    code("vldr s11, [r2, #36]", "shift")
    code("ldr r3, [r2, #40]", "limit")
    code("lsl r3, r3, #1")
    code(f"mov r12, #{_TOGETHER}")
    code(f"subs r1, r1, #{_TOGETHER}")
    code("blt 4f")
    code.label(1, f"{_TOGETHER} values")
    code("ldm r0, {{r4-r11}}")
    code(f"vldm r0, {{{{s{_FIRST}-s{last}}}}}")
    code("cmp r3, r4, lsl #1")
    for values in (range(5, 9), range(9, 12)):
        code(f"i{'t' * len(values)} hs")
        for value in values:
            code(f"cmphs r3, r{value}, lsl #1")
    code("blo 8f")
    code.label(2)
    _values(code, range(_FIRST, last + 1))
    code(f"vstmia r0!, {{{{s{_FIRST}-s{last}}}}}")
    code(f"subs r1, r1, #{_TOGETHER}")
    code("bge 1b")
    code.label(4, "values left over")
    code(f"adds r1, r1, #{_TOGETHER}")
    code("beq 6f")
    code("mov r12, #1")
    code.label(5)
    code("ldr r4, [r0]")
    code(f"vldr s{_FIRST}, [r0]")
    code("cmp r3, r4, lsl #1")
    code("blo 8f")
    code.label(3)
    _values(code, (_FIRST,))
    code(f"vstmia r0!, {{{{s{_FIRST}}}}}")
    code("subs r1, r1, #1")
    code("bne 5b")
    code.label(6)
    code(f"vpop {{{{s16-s{last}}}}}")
    code("pop {{r4-r11}}")
    code.label(7)
    code("bx lr")
    code.label(8, "beyond the limit: each of r12 values becomes the limit with its sign, unless it is within it or NaN")
    code.constant("r5", _INFINITY)
    code("mov r6, r12")
    code.label(10)
    code("ldr r4, [r0]")
    code("cmp r3, r4, lsl #1")
    code("bhs 11f")
    code("cmp r5, r4, lsl #1")
    code("blo 11f")
    code("and r4, r4, #0x80000000")
    code("orr r4, r4, r3, lsr #1")
    code.label(11)
    code("str r4, [r0], #4")
    code("subs r6, r6, #1")
    code("bne 10b")
    code("sub r0, r0, r12, lsl #2")
    code(f"vldr s{_FIRST}, [r0]")
    code("cmp r12, #1")
    code("beq 3b")
    code(f"vldm r0, {{{{s{_FIRST}-s{last}}}}}")
    code("b 2b")
    return code.function(
        NAME,
        "float *values, int32_t count, const float *numbers",
        "tanh or the logistic function, as kit/cells.h says.",
        "aidge_kit_curve_c(values, count, numbers);",
    )


def _values(code: Routine, registers: Sequence[int]) -> None:
    for value in registers:
        code(f"vmul.f32 s10, s{value}, s{value}")
        code("vldm r2, {{s0-s8}}")
        for power in (1, 2, 3, 4, 6, 7, 8):
            code(f"vfma.f32 s{power}, s{power - 1}, s10")
        code(f"vmul.f32 s4, s4, s{value}")
        code(f"vdiv.f32 s{value}, s4, s8")
        code(f"vadd.f32 s{value}, s{value}, s11")
