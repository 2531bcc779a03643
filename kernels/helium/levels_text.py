# SPDX-License-Identifier: MIT
"""What functions that compute one channel at a time have in common: portable form, levels of eight sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .assembly import Assembler
from .planes import Planes
from .rounding import emit_fixed, emit_levels_of_8
from .series import Series

HEAD_BYTES = 16  # of a stream: zero points, lowest, highest


def plane_text(fields: Sequence[int], plane: str) -> str:
    """The portable form: planes.h explains the fields."""
    return (
        f"    static const aidge_helium_planes_shape shape = {{{', '.join(map(str, fields))}}};\n"
        f"    aidge_helium_planes(x, y, stream, {plane}, &shape);"
    )


def load_numbers(emit: Assembler, form: Planes | Series) -> None:
    """Of the next channel into r7, r8, and r9 where the zero point has a shift above it."""
    if form.fixed:
        emit("ldm r12!, {r7, r8, r9}", why="bias, multiplier, shift and zero point")
    else:
        emit("ldrd r7, r8, [r12], #8", why="bias, multiplier")


def emit_fused_channel(emit: Assembler, is_mixed: bool, tiles: Callable[[bool], None]) -> None:
    """A channel whose levels take one fused multiplication; where `is_mixed`, if the word of its multiplier is negative.

    `tiles` prints its tiles for levels that are fused, or not; they find bias, multiplier and constant in r7, r8 and r9."""
    emit("ldm r12!, {r7, r8, r9}", why="bias, multiplier, constant")
    if is_mixed:
        emit("cmp r8, #0", "bpl 6f", why="a channel that is not fused")
    emit("vdup.32 q4, r8")
    tiles(True)
    if is_mixed:
        emit("b 7f")
        emit.label(6)
        tiles(False)
        emit.label(7)


def emit_levels(emit: Assembler, form: Planes | Series, used: Sequence[str]) -> None:
    """The sums in q5, and q7 where it is used, become int8 in the halfwords of q5. r7, r8, r9: bias, multiplier, zero point;
    r0 and r2 are changed; at sp + 16: lowest and highest."""
    rounding = "vadd.f32 {0}, {0}, r9" if form.adds else "vcvtn.s32.f32 {0}, {0}"
    emit(*(f"vshl.i32 {register}, {register}, #{form.bits}" for register in used if form.bits))
    if form.fixed:
        emit(*(f"vadd.i32 {register}, {register}, r7" for register in used))
        emit_fixed(emit, form.fixed, used, ["r8"] * len(used), "r0")
        emit("lsr r0, r9, #16", *(f"vrshl.s32 {register}, r0" for register in used))
        emit_levels_of_8(emit, form.fixed, "q5", "q7" if len(used) > 1 else "q5", "q5", "r9")
        _narrow(emit, form)
        return
    for texts in ("vadd.i32 {0}, {0}, r7", "vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, r8", rounding):
        emit(*(texts.format(register) for register in used))
    if not form.adds:
        emit("vqmovnb.s32 q5, q5")
    if len(used) > 1:
        emit("vmovnt.i32 q5, q7" if form.adds else "vqmovnt.s32 q5, q7")
    if not form.adds:
        emit("vqadd.s16 q5, q5, r9")
    _narrow(emit, form)


def emit_fused_levels(emit: Assembler, form: Planes, used: Sequence[str]) -> None:
    """The same by one fused multiplication. r7, q4, r9: bias with offset, multiplier, constant."""
    emit(*(f"vshl.i32 {register}, {register}, #{form.bits}" for register in used if form.bits))
    for text in ("vadd.i32 {0}, {0}, r7", "vfmas.f32 {0}, q4, r9"):
        emit(*(text.format(register) for register in used))
    emit(*(["vmovnt.i32 q5, q7"] if len(used) > 1 else []))
    _narrow(emit, form)


def _narrow(emit: Assembler, form: Planes | Series) -> None:
    """Levels in the halfwords of q5 become int8."""
    if form.clamps:
        emit("ldrd r0, r2, [sp, #16]", "vdup.16 q7, r0", "vmax.s16 q5, q5, q7", "vdup.16 q7, r2", "vmin.s16 q5, q5, q7")
    emit("vqmovnb.s16 q5, q5")
