# SPDX-License-Identifier: MIT
"""Runs of means pixel by pixel, as text: of sums that decide the levels from a line (mean_line.h), of others from the image.

Those take the values in float32 from a table of all 256, in onnxruntime's order, columns and then neighbours; a quotient by a
constant is a product and one step of Newton's method (quotients.py).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from .assembly import Assembler, function
from .mean_lines import NARROWED

MOST_TAPS = 6  # of a window in float32: each has a pointer
POINTERS = ("r1", "r2", "r3", "r4", "r5", "r6")  # low ones: loads of bytes as words have no others
SUM_POINTERS = ("r1", "r2", "r10", "r11", "r12")
MOST_SUMS = len(SUM_POINTERS)  # neighbours in a line


@dataclass(frozen=True)
class LineRun:
    """Sums of `taps` neighbours in a line; products lose 16 and then `drop` bits. `odd`: the number of channels, of which
    the last one would be half of a word to widening instructions under the predicate of a loop."""

    taps: int
    drop: int
    clamps: bool
    odd: bool

    @property
    def name(self) -> str:
        return f"aidge_helium_mean_run_{self.taps}_drop_{self.drop}{'_clamped' * self.clamps}{'_odd' * self.odd}"

    def text(self) -> str:
        """The C text: assembly alone."""
        return _only_assembly(self.name, "const int16_t *x", self._lines())

    def _lines(self) -> Assembler:
        emit, pointers = Assembler(), SUM_POINTERS[: self.taps]
        emit("push {r4-r12, lr}", *(["vpush {d8-d9}"] if self.clamps else []))
        emit("ldm r2, {r3-r7}", why="pixels, channels, to the next pixel, to the next output, to the next tap")
        emit("ldrd r8, r9, [r2, #28]", why="factor, start")
        if self.clamps:
            emit("ldrd r10, r11, [r2, #48]", "vdup.8 q2, r10", "vdup.8 q4, r11", why="lowest and highest")
        emit("vdup.32 q3, r8")
        for pointer, before in zip(pointers[1:], pointers):
            emit(f"add {pointer}, {before}, r7")
        emit.label(1)
        emit(*(["add lr, r4, #7", "lsr lr, lr, #3", "dls lr, lr", "mov r8, r4"] if self.odd else ["wlstp.16 lr, r4, 3f"]))
        emit.label(2)
        emit("vldrh.u16 q0, [r1], #16")
        for pointer in pointers[1:]:
            emit(f"vldrh.u16 q1, [{pointer}], #16", "vadd.i16 q0, q0, q1")
        emit("vmovlb.s16 q1, q0", "vmovlt.s16 q0, q0", "vmlas.s32 q1, q3, r9", "vmlas.s32 q0, q3, r9")
        emit(f"vshrnb.i32 q1, q1, #{NARROWED}", f"vshrnt.i32 q1, q0, #{NARROWED}", f"vqrshrnb.s16 q1, q1, #{self.drop}")
        emit(*(["vmax.s8 q1, q1, q2", "vmin.s8 q1, q1, q4"] if self.clamps else []))
        if self.odd:
            emit("vctp.16 r8", "subs r8, #8", "vpst", "vstrbt.16 q1, [r0], #8", "le lr, 2b")
        else:
            emit("vstrb.16 q1, [r0], #8", "letp lr, 2b")
        emit.label(3)
        emit(*(f"add {pointer}, {pointer}, r5" for pointer in pointers), "add r0, r0, r6", "subs r3, #1", "bne 1b")
        emit(*(["vpop {d8-d9}"] if self.clamps else []), "pop {r4-r12, pc}")
        return emit


@dataclass(frozen=True)
class FloatRun:
    """Windows of rows x columns in float32, divided in one or two `stages`. `saturates`: levels may leave int8; `adds`: they are
    rounded by the addition of a large number."""

    rows: int
    columns: int
    stages: int
    saturates: bool
    adds: bool
    clamps: bool

    @property
    def name(self) -> str:
        ways = f"{'_saturated' * self.saturates}{'_adding' * self.adds}{'_clamped' * self.clamps}"
        return f"aidge_helium_float_run_{self.rows}x{self.columns}_{self.stages}{ways}"

    def text(self) -> str:
        """The C text: assembly alone."""
        return _only_assembly(self.name, "const int8_t *x", self._lines())

    def _lines(self) -> Assembler:
        emit = Assembler()
        pointers = dict(zip(itertools.product(range(self.columns), range(self.rows)), POINTERS))
        emit("push {r4-r12, lr}", "vpush {d8-d15}", "mov r12, r2")
        emit("ldr r8, [r12, #24]", "ldrd r7, lr, [r12, #16]", why="table; steps of columns and rows of the window")
        for (column, row), pointer in pointers.items():
            if row:
                emit(f"add {pointer}, {pointers[column, row - 1]}, lr")
            elif column:
                emit(f"add {pointer}, {pointers[column - 1, 0]}, r7")
        emit("ldrd r9, r10, [r12, #28]", "ldr r11, [r12, #44]", why="reciprocal, - divisor, zero point")
        if self.stages == 2:
            emit("ldrd r7, lr, [r12, #36]", "vdup.32 q4, r7", "vdup.32 q5, lr", why="the same of the output scale")
        if self.clamps:
            emit("ldrd r7, lr, [r12, #48]", "vdup.8 q6, r7", "vdup.8 q7, lr", why="lowest and highest")
        emit.label(1)
        emit("ldrd r7, lr, [r12]", "wlstp.32 lr, lr, 3f", why="a pixel")
        emit.label(2)
        for column in range(self.columns):
            total = "q2" if column else "q0"
            for row in range(self.rows):
                target = "q3" if row else total
                emit(f"vldrb.u32 q1, [{pointers[column, row]}], #4", f"vldrw.u32 {target}, [r8, q1, uxtw #2]")
                emit(*([f"vadd.f32 {total}, {total}, q3"] if row else []))
            emit(*(["vadd.f32 q0, q0, q2"] if column else []))
        emit("vmul.f32 q1, q0, r9", "vfma.f32 q0, q1, r10", "vfma.f32 q1, q0, r9", why="what is left over corrects the quotient")
        if self.stages == 2:
            emit("vmul.f32 q0, q1, q4", "vfma.f32 q1, q0, q5", "vfma.f32 q0, q1, q4")
        found = f"q{2 - self.stages}"
        if self.adds:
            emit(f"vadd.f32 q0, {found}, r11")
        else:
            emit(f"vcvtn.s32.f32 q0, {found}", "vadd.i32 q0, q0, r11")
        emit(*(["vqmovnb.s32 q0, q0", "vqmovnb.s16 q0, q0"] if self.saturates else []))
        emit(*(["vmax.s8 q0, q0, q6", "vmin.s8 q0, q0, q7"] if self.clamps else []), "vstrb.32 q0, [r0], #4", "letp lr, 2b")
        emit.label(3)
        emit("ldrd r7, lr, [r12, #8]", why="to the next pixel, in the image and in the output")
        emit(*(f"add {pointer}, {pointer}, r7" for pointer in pointers.values()), "add r0, r0, lr")
        emit("ldr r7, [r12]", "subs r7, #1", "str r7, [r12]", "bne 1b", "vpop {d8-d15}", "pop {r4-r12, pc}")
        return emit


def _only_assembly(name: str, source: str, emit: Assembler) -> str:
    text = function(name, "Means of a run of pixels.", f"int8_t *y, {source}, aidge_helium_mean_run *run", emit.lines, "")
    return text[: text.index("#else\n")] + "#endif"
