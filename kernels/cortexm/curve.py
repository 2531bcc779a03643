# SPDX-License-Identifier: MIT
"""tanh and the logistic function of float32 values in place."""

from __future__ import annotations

from .assembly import Routine

NAME = "aidge_cortexm_curve"


def curve_text() -> str:
    """20 instructions for each value: one load gives the coefficients, which the sums then overwrite."""
    code = Routine({})
    code("cmp r1, #0")
    code("ble 3f")
    code("add r1, r0, r1, lsl #2", "end")
    code("push {{r4-r6}}")
    code("vldr s11, [r2, #36]", "shift")
    code("ldr r4, [r2, #40]", "limit")
    code("movs r5, #0")
    code("movt r5, #0x7f80", "infinity")
    code.label(1, "a value")
    code("ldr r3, [r0]")
    code("vmov s9, r3")
    code("bic r6, r3, #0x80000000")
    code("cmp r6, r4")
    code("bhi 4f")
    code.label(2)
    code("vmul.f32 s10, s9, s9")
    code("vldm r2, {{s0-s8}}")
    for power in (1, 2, 3, 4, 6, 7, 8):
        code(f"vfma.f32 s{power}, s{power - 1}, s10")
    code("vmul.f32 s4, s4, s9")
    code("vdiv.f32 s4, s4, s8")
    code("vadd.f32 s4, s4, s11")
    code("vstmia r0!, {{s4}}")
    code("cmp r0, r1")
    code("bne 1b")
    code("pop {{r4-r6}}")
    code.label(3)
    code("bx lr")
    code.label(4, "beyond the limit: the limit with its sign, or NaN")
    code("cmp r6, r5")
    code("bhi 2b")
    code("and r3, r3, #0x80000000")
    code("orr r3, r3, r4")
    code("vmov s9, r3")
    code("b 2b")
    return code.function(
        NAME,
        "float *values, int32_t count, const float *numbers",
        "tanh or the logistic function, as kit/cells.h says.",
        "aidge_kit_curve_c(values, count, numbers);",
    )
