# SPDX-License-Identifier: MIT
"""Quotients of polynomials (tanh, the logistic function, the error function) of float32 values, four at a time."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.contract.kernel_kit.curves import SHORT

from ..core.assembly import Assembler, function

NAME = "aidge_helium_curve"
RECIPROCAL = 0x7EF311C3  # less the bits of a float: about the bits of its reciprocal, 12 % off


def curve_text() -> str:
    """Returns the C text of short curves in place: 29 instructions for 4 values. Two steps of third order make a reciprocal of 24
    bits."""
    return function(
        NAME,
        "tanh or the logistic function, as kit/cells.h says.",
        "float *values, int32_t count, const float *numbers",
        _loop("%values", "%values", SHORT, ()),
    )


def element_name(terms: int, times: bool) -> str:
    """Returns the name of the function of `element_text`."""
    return f"aidge_helium_{'times_' * times}curve{f'_of_{terms}' * (terms != SHORT)}_float32"


def element_text(terms: int, times: bool) -> str:
    """Returns the C text of a curve with so many coefficients of P from one tensor to another; `times`: multiplied by the value,
    which is read once more."""
    product = ("vldrw.u32 %q.x, [%x, #-16]", "vmul.f32 %q.y, %q.y, %q.x") if times else ()
    lines = _loop("%x", "%y", terms, product)
    return function(
        element_name(terms, times),
        f"y = {'x times ' * times}a curve of x, as kit/cells.h says. May work in place.",
        "const float *x, float *y, const float *numbers, int32_t count",
        lines,
    )


def _loop(source: str, target: str, terms: int, product: Sequence[str]) -> list[str]:
    emit, factors = Assembler(), [f"%factor{place}" for place in range(2 * terms - 1)]
    emit("%enter", f"add %ends, %numbers, #{4 * (2 * terms - 1)}", "ldrd %added, %limit, [%ends]", why="what is added, limits")
    emit("vdup.32 %q.added, %added", "vdup.32 %q.limit, %limit", "vneg.f32 %q.lowest, %q.limit")
    emit(f"movw %reciprocal, #{RECIPROCAL & 0xFFFF}", f"movt %reciprocal, #{RECIPROCAL >> 16}", "vdup.32 %q.first, %reciprocal")
    emit(f"ldm %numbers, {{{', '.join(factors)}}}", why="coefficients")
    emit("wlstp.32 lr, %count, %done")
    emit.label("four")
    emit(f"vldrw.u32 %q.x, [{source}]" + (", #16" if target != source else ""), why="what is NaN stays it: lt would hold for it")
    emit("vpt.f32 gt, %q.x, %q.limit", "vmovt %q.x, %q.limit", "vpt.f32 gt, %q.lowest, %q.x", "vmovt %q.x, %q.lowest")
    emit("vmul.f32 %q.square, %q.x, %q.x", f"vadd.f32 %q.divisor, %q.square, {factors[terms]}")
    emit(f"vdup.32 %q.y, {factors[0]}", *(f"vfmas.f32 %q.y, %q.square, {factor}" for factor in factors[1:terms]))
    emit(*(f"vfmas.f32 %q.divisor, %q.square, {factor}" for factor in factors[terms + 1 :]))
    emit("vmul.f32 %q.y, %q.y, %q.x", "vsub.i32 %q.x, %q.first, %q.divisor", why="the reciprocal of the second sum")
    for _ in range(2):
        emit("vmov.f32 %q.rest, #1.0", "vfms.f32 %q.rest, %q.x, %q.divisor", "vfma.f32 %q.rest, %q.rest, %q.rest")
        emit("vfma.f32 %q.x, %q.x, %q.rest", why="with e = 1 - x divisor, times 1 + e + e^2")
    emit("vmul.f32 %q.y, %q.y, %q.x", "vadd.f32 %q.y, %q.y, %q.added", *product)
    emit(f"vstrw.32 %q.y, [{target}], #16", "letp lr, %four")
    emit.label("done")
    emit("%leave")
    return emit.lines
