# SPDX-License-Identifier: MIT
"""Few input bytes per pixel: a pair of output channels keeps its weights in registers while all pixels pass.

The same stream and the same result as product.py, with the loops exchanged; the loop over the pixels costs nothing (LE). With
`beside` levels of four pixels are computed beside the products of the next four.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.assembly import BYTE_REACH, WORD_REACH, Assembler, function
from ..core.rounding import BY_SHIFT, CONSTANT_BITS, emit_fixed, emit_levels_of_8
from ..values.joined import emit_joined
from .product import HEAD_BYTES, PARAMETERS, Product

SUMS = (("r0", "r2"), ("r4", "r6"))  # of the two channels, by pixel of the two that are at work
MOST_VECTORS = 2


@dataclass(frozen=True)
class Stationary:
    """Blocks of four pixels of the product's shape."""

    product: Product

    @classmethod
    def fits(cls, shape: Product) -> bool:
        """Whether registers suffice and addresses are in reach."""
        reach = WORD_REACH if shape.aligned else BYTE_REACH
        return (
            shape.pixels == 4
            and shape.rows == shape.taps == 1
            and shape.vectors <= MOST_VECTORS
            and not shape.tail
            and not shape.clamps
            and not shape.offsets
            and not shape.floats
            and shape.pixel_step <= reach
        )

    @property
    def name(self) -> str:
        return self.product.name.replace("product", "stationary")

    def text(self) -> str:
        """The C text."""
        shape = self.product
        purpose = f"Blocks of 4 pixels, {shape.channels} output channels; the weights stay in registers."
        return function(self.name, purpose, PARAMETERS, self._lines())

    def _lines(self):
        shape, emit = self.product, Assembler()
        emit.enter(16)
        emit("vldrh.u16 q7, [r2]", why="offsets of the stores: {channel A, channel B} of each pixel")
        emit(*(["str r0, [sp, #8]"] if shape.fused else ["mov r11, r0"]), "mov r10, r1")
        emit.add("r12", "r2", shape.head_bytes)
        emit("str r3, [sp]")
        if shape.counted:
            emit.add("r0", "r2", shape.stream_bytes)
            emit("str r0, [sp, #12]", f"ldr r9, [r2, #{HEAD_BYTES}]", why="the stream's end, zero point")
        if shape.last:
            emit(f"movs r0, #{shape.last}", "vctp.8 r0", why="what there is of the last vector of weights")
        emit.label(1)
        whole = 2 * shape.vectors - (2 if shape.last else 0)
        for register in range(whole):
            emit(f"vldrw.u32 q{register}, [r12], #16", why="weights" if register == 0 else "")
        if shape.last:
            emit("vpstt", *(f"vldrwt.u32 q{whole + channel}, [r12], #{shape.last}" for channel in (0, 1)))
        if shape.joined:
            emit("ldm r12!, {r0, r2, r4}", why="biases and multipliers")
            emit_joined(emit, ("r0", "r2", "r4"), ("r5", "r7"), ("r8", "r3"), "r6")
        else:
            emit("ldrd r5, r7, [r12], #8", "ldrd r8, r3, [r12], #8", why="biases, multipliers")
        if not shape.counted:
            emit("ldr r9, [r12], #4", why="constants" if shape.fused else "zero point and step")
        if shape.fixed:
            emit("adds r12, #8", why="shifts: read again for each block")
        self._begin(emit)
        if shape.mixed:
            emit("cmp r8, #0", "bpl 4f", why="a pair of channels that is not fused")
        if shape.shift:
            emit(f"tst r9, #{BY_SHIFT}", "beq 4f", why="a pair of floats")
            self._pass(emit, True)
            emit("b 1b", why="the last pair has floats")
            emit.label(4)
        if shape.fused:
            emit("lsr r11, r9, #16", "uxth r9, r9", *(f"movt {register}, #{CONSTANT_BITS >> 16}" for register in ("r9", "r11")))
            if shape.vectors == 1:
                emit("vdup.32 q2, r8", "vdup.32 q3, r3")
            self._pass(emit, True)
            emit("cmp r3, #0", "bmi 1b", why="negative: there is another pair")
        if shape.mixed:
            emit("b 5f")
            emit.label(4)
        if not shape.fused or shape.mixed:
            self._pass(emit, False)
            if shape.counted:
                emit("ldr r0, [sp, #12]", "cmp r12, r0", "bne 1b", why="there is another pair")
            elif shape.adds:
                emit("lsls r0, r9, #9", "bmi 1b", why="negative: there is another pair")
            else:
                emit("asrs r0, r9, #16", "add r10, r0", "bne 1b", why="0 after the last pair")
        if shape.mixed:
            emit.label(5)
        emit.leave(16)
        return emit.lines

    def _begin(self, emit: Assembler) -> None:
        """What comes before all pixels pass: their number, and the sums of the first ones that levels wait for."""
        shape = self.product
        emit("ldr r1, [sp, #8]" if shape.fused else "mov r1, r11", "str r10, [sp, #4]")
        if shape.beside:
            self._sums(emit)
        emit("ldr r0, [sp]", *(["subs r0, #1"] if shape.beside else []), "dls lr, r0")

    def _pass(self, emit: Assembler, proved: bool) -> None:
        """All pixels with the weights of a pair; r10 moves on to the next pair. `proved`: levels are fused, or from integers."""
        shape = self.product
        emit.label(2)
        if not shape.beside:
            self._sums(emit)
        self._levels(emit, proved)
        if shape.beside:
            self._sums(emit, stores=True)
            emit("le lr, 2b")
            self._levels(emit, proved)
        self._store(emit)
        emit(*([] if shape.beside else ["le lr, 2b"]))
        emit("ldr r10, [sp, #4]", *(["add r10, #2"] if shape.goes_by_twos else []))

    def _sums(self, emit: Assembler, stores: bool = False) -> None:
        """The sums of four pixels times two channels, in q5 and q6; the levels that are there are stored behind the loads that
        need not wait for them."""
        for half in (0, 1):
            for pixel in (0, 1):
                self._pixel(emit, pixel)
            if stores and half == 0:
                self._store(emit)
            emit(f"vmov q5[{2 + half}], q5[{half}], r0, r2", f"vmov q6[{2 + half}], q6[{half}], r4, r6")

    def _levels(self, emit: Assembler, proved: bool) -> None:
        """These sums become levels in q5."""
        shape = self.product
        emit(*(f"vshl.i32 {register}, {register}, #{shape.bits}" for register in ("q5", "q6") if shape.bits))
        emit("vadd.i32 q5, q5, r5", "vadd.i32 q6, q6, r7")
        if proved and shape.shift:
            emit("vqdmulh.s32 q5, q5, r8", "vqdmulh.s32 q6, q6, r3", f"vqrshrnb.s32 q5, q5, #{shape.shift}")
            emit(f"vqrshrnt.s32 q5, q6, #{shape.shift}", "vqadd.s16 q5, q5, r9")
        elif proved and shape.vectors == 1:
            emit("vfmas.f32 q5, q2, r9", "vfmas.f32 q6, q3, r11", "vmovnt.i32 q5, q6")
        elif proved:
            emit("vdup.32 q4, r8", "vfmas.f32 q5, q4, r9", "vdup.32 q4, r3", "vfmas.f32 q6, q4, r11", "vmovnt.i32 q5, q6")
        elif shape.fixed:
            emit("ldrd r0, r2, [r12, #-8]")
            emit_fixed(emit, shape.fixed, ("q5", "q6"), ("r8", "r3"), "r4")
            emit("vrshl.s32 q5, r0", "vrshl.s32 q6, r2")
            emit_levels_of_8(emit, shape.fixed, "q5", "q6", "q5", "r9")
        else:
            emit("vcvt.f32.s32 q5, q5", "vcvt.f32.s32 q6, q6", "vmul.f32 q5, q5, r8", "vmul.f32 q6, q6, r3")
            if shape.adds:
                emit("vadd.f32 q5, q5, r9", "vadd.f32 q6, q6, r9", "vmovnt.i32 q5, q6", why="rounded by the addition")
            else:
                emit("vcvtn.s32.f32 q5, q5", "vcvtn.s32.f32 q6, q6", "vqmovnb.s32 q5, q5", "vqmovnt.s32 q5, q6")
                emit("vqadd.s16 q5, q5, r9")
        emit("vqmovnb.s16 q5, q5")

    def _store(self, emit: Assembler) -> None:
        """Stores the levels; r10 moves on to the next pixels."""
        emit("vstrb.16 q5, [r10, q7]")
        emit.add("r10", "r10", 4 * self.product.distance)

    def _pixel(self, emit: Assembler, pixel: int) -> None:
        """The sums of one pixel; the first two take lanes 0 and 2, the others 1 and 3."""
        shape = self.product
        size = "w.u32" if shape.aligned else "b.u8"
        for vector in reversed(range(shape.vectors)):  # the last load moves the pointer
            register = f"q{4 - (pixel if shape.vectors == 1 and not shape.fused else 0)}"
            emit(f"vldr{size} {register}, " + (f"[r1, #{16 * vector}]" if vector else f"[r1], #{shape.pixel_step}"))
            for channel in (0, 1):
                operation = "vmladav" if vector == shape.vectors - 1 else "vmladava"
                emit(f"{operation}.s8 {SUMS[channel][pixel]}, q{2 * vector + channel}, {register}")
