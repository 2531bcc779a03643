# SPDX-License-Identifier: MIT
"""tanh and the logistic function of float32 values in place, four at a time."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.assembly import Assembler, function

NAME = "aidge_helium_curve"
RECIPROCAL = 0x7EF311C3 + 1  # less the bits of a float: about the bits of its reciprocal, 12 % off; + 1 for the complement


def curve_text() -> str:
    """The C text: 31 instructions for 4 values. Three steps of Newton's method make a reciprocal of 24 bits."""
    return function(
        NAME,
        "tanh or the logistic function, as kit/cells.h says.",
        "float *values, int32_t count, const float *numbers",
        _loop("r1", "r0", ()),
    )


def element_name(times: bool) -> str:
    return f"aidge_helium_{'times_' * times}curve_float32"


def element_text(times: bool) -> str:
    """The same from one tensor to another; `times`: multiplied by the value, which is read once more."""
    product = ("vldrw.u32 q0, [r0, #-16]", "vmul.f32 q1, q1, q0") if times else ()
    lines = _loop("r3", "r1", product)
    return function(
        element_name(times),
        f"y = {'x times ' * times}a curve of x, as kit/cells.h says. May work in place.",
        "const float *x, float *y, const float *numbers, int32_t count",
        lines,
    )


def _loop(count: str, target: str, product: Sequence[str]) -> list[str]:
    """From r0 on to `target`; r2: the numbers."""
    emit = Assembler()
    emit("push {r4-r11, lr}", "vpush {d8-d15}", f"mov lr, {count}")
    emit("add r12, r2, #36", "ldrd r4, r5, [r12]", "vdup.32 q7, r4", "vdup.32 q5, r5", "vneg.f32 q6, q5", why="shift, limits")
    emit("vmov.f32 q4, #2.0")
    emit("ldm r2, {r3-r11}", why="coefficients")
    emit(f"movw r12, #{RECIPROCAL & 0xFFFF}", f"movt r12, #{RECIPROCAL >> 16}", "mov r2, lr")
    emit("wlstp.32 lr, r2, 2f")
    emit.label(1)
    emit("vldrw.u32 q0, [r0]" + (", #16" if target != "r0" else ""), why="what is NaN stays it")
    emit("vpt.f32 gt, q0, q5", "vmovt q0, q5", "vpt.f32 lt, q0, q6", "vmovt q0, q6")
    emit("vmul.f32 q3, q0, q0")
    emit("vdup.32 q1, r3", *(f"vfmas.f32 q1, q3, r{place}" for place in range(4, 8)))
    emit("vdup.32 q2, r8", *(f"vfmas.f32 q2, q3, r{place}" for place in range(9, 12)))
    emit("vmul.f32 q1, q1, q0")
    emit("vmvn q0, q2", "vadd.i32 q0, q0, r12", why="the reciprocal of the second sum")
    for _ in range(3):
        emit("vmul.f32 q3, q0, q2", "vsub.f32 q3, q4, q3", "vmul.f32 q0, q0, q3")
    emit("vmul.f32 q1, q1, q0", "vadd.f32 q1, q1, q7", *product, f"vstrw.32 q1, [{target}], #16", "letp lr, 1b")
    emit.label(2)
    emit("vpop {d8-d15}", "pop {r4-r11, pc}")
    return emit.lines
