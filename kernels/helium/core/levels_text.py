# SPDX-License-Identifier: MIT
"""The common parts of functions that compute one channel at a time: numbers of a channel, levels of eight sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..windows.series import Series
from ..windows.strips import Strips
from .assembly import Assembler
from .rounding import emit_fixed, emit_levels_of_8

HEAD_BYTES = 16  # of a stream: zero points, lowest, highest
TOTALS = ("r0", "r2", "r4", "r6")  # the sums of the outputs of a vector


def load_numbers(emit: Assembler, form: Strips | Series) -> None:
    """Loads the numbers of the next channel into r7, r8, and r9 if it has a third number."""
    if form.numbers_bytes == 12:
        third = "shift and zero point" if form.fixed else "constant"
        emit("ldm r12!, {r7, r8, r9}", why=f"bias, multiplier, {third}")
    else:
        emit("ldrd r7, r8, [r12], #8", why="bias, multiplier")


class ChannelPrinter:
    """Prints one channel after the other: its numbers, then its tiles."""

    fuses = False  # whether levels take one fused multiplication

    def __init__(self, form: Strips | Series):
        self.form, self.shape, self.emit = form, form.shape, Assembler()

    def _levels(self, used: Sequence[str], beside: Callable[[], None] | None = None) -> None:
        """The sums in q5, and q7 where it is used, become int8 in the halfwords of q5. r7, r8, r9: bias, multiplier, zero point;
        r0 and r2 are changed; at sp + 16: lowest and highest. If it fuses, r7, q4, r9: bias with offset, multiplier, constant.
        `beside` prints what passes while levels become narrow: all but q5 is free for it, unless levels are clamped."""
        emit, form = self.emit, self.form
        emit(*(f"vshl.i32 {register}, {register}, #{form.bits}" for register in used if form.bits))
        emit(*(f"vadd.i32 {register}, {register}, r7" for register in used))
        if form.fixed:
            emit_fixed(emit, form.fixed, used, ["r8"] * len(used), "r0")
            emit("lsr r0, r9, #16", *(f"vrshl.s32 {register}, r0" for register in used))
            emit_levels_of_8(emit, form.fixed, "q5", "q7" if len(used) > 1 else "q5", "q5", "r9")
        else:
            self._round(used)
        if beside:
            beside()
        self._narrow()

    def _round(self, used: Sequence[str]) -> None:
        """Sums with their bias become levels of 16 bits, or of these less the zero point."""
        emit, form = self.emit, self.form
        rounding = "vadd.f32 {0}, {0}, r9" if form.adds else "vcvtn.s32.f32 {0}, {0}"
        for text in ["vfmas.f32 {0}, q4, r9"] if self.fuses else ["vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, r8", rounding]:
            emit(*(text.format(register) for register in used))
        is_wide = not (self.fuses or form.adds)
        emit(*(["vqmovnb.s32 q5, q5"] if is_wide else []))
        emit(*(["vqmovnt.s32 q5, q7" if is_wide else "vmovnt.i32 q5, q7"] if len(used) > 1 else []))

    def _narrow(self) -> None:
        """Levels of 16 bits in q5 become int8."""
        emit, form = self.emit, self.form
        if not (form.fixed or self.fuses or form.adds):
            emit("vqadd.s16 q5, q5, r9")
        if form.clamps:
            emit("ldrd r0, r2, [sp, #16]", "vdup.16 q7, r0", "vmax.s16 q5, q5, q7", "vdup.16 q7, r2", "vmin.s16 q5, q5, q7")
        emit("vqmovnb.s16 q5, q5")
