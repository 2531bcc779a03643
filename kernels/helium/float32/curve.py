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
        _loop("%values", "%values", ()),
    )


def element_name(times: bool) -> str:
    return f"aidge_helium_{'times_' * times}curve_float32"


def element_text(times: bool) -> str:
    """The same from one tensor to another; `times`: multiplied by the value, which is read once more."""
    product = ("vldrw.u32 %q.x, [%x, #-16]", "vmul.f32 %q.y, %q.y, %q.x") if times else ()
    lines = _loop("%x", "%y", product)
    return function(
        element_name(times),
        f"y = {'x times ' * times}a curve of x, as kit/cells.h says. May work in place.",
        "const float *x, float *y, const float *numbers, int32_t count",
        lines,
    )


def _loop(source: str, target: str, product: Sequence[str]) -> list[str]:
    emit, factors = Assembler(), [f"%factor{place}" for place in range(9)]
    emit("%enter", "add %ends, %numbers, #36", "ldrd %added, %limit, [%ends]", why="what is added, limits")
    emit("vdup.32 %q.added, %added", "vdup.32 %q.limit, %limit", "vneg.f32 %q.lowest, %q.limit", "vmov.f32 %q.two, #2.0")
    emit(f"ldm %numbers, {{{', '.join(factors)}}}", why="coefficients")
    emit(f"movw %reciprocal, #{RECIPROCAL & 0xFFFF}", f"movt %reciprocal, #{RECIPROCAL >> 16}")
    emit("wlstp.32 lr, %count, %done")
    emit.label("four")
    emit(f"vldrw.u32 %q.x, [{source}]" + (", #16" if target != source else ""), why="what is NaN stays it")
    emit("vpt.f32 gt, %q.x, %q.limit", "vmovt %q.x, %q.limit", "vpt.f32 lt, %q.x, %q.lowest", "vmovt %q.x, %q.lowest")
    emit("vmul.f32 %q.square, %q.x, %q.x")
    emit(f"vdup.32 %q.y, {factors[0]}", *(f"vfmas.f32 %q.y, %q.square, {factor}" for factor in factors[1:5]))
    emit(f"vdup.32 %q.divisor, {factors[5]}", *(f"vfmas.f32 %q.divisor, %q.square, {factor}" for factor in factors[6:]))
    emit("vmul.f32 %q.y, %q.y, %q.x")
    emit("vmvn %q.x, %q.divisor", "vadd.i32 %q.x, %q.x, %reciprocal", why="the reciprocal of the second sum")
    for _ in range(3):
        emit("vmul.f32 %q.step, %q.x, %q.divisor", "vsub.f32 %q.step, %q.two, %q.step", "vmul.f32 %q.x, %q.x, %q.step")
    emit("vmul.f32 %q.y, %q.y, %q.x", "vadd.f32 %q.y, %q.y, %q.added", *product)
    emit(f"vstrw.32 %q.y, [{target}], #16", "letp lr, %four")
    emit.label("done")
    emit("%leave")
    return emit.lines
