# SPDX-License-Identifier: MIT
"""The second half of product_text.py: sums of a pair of channels become levels, which are stored.

The numbers of a pair are the words {bias, bias, multiplier, multiplier, zero point and step, lowest, highest, shift, shift}, of
which a form may lack some. They come into the accumulators, which are free then; or one after the other into registers that no
product needs, so that the products of the next pair can pass between these instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.assembly import Assembler
from ..core.rounding import BY_SHIFT, CONSTANT_BITS, emit_fixed_halves, emit_levels_of_8, high_words
from ..values.joined import emit_joined
from .product import STORED, Product

NUMBERS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12")  # biases, multipliers, zero point and step, lowest, highest
BIAS, MULTIPLIER, ZERO_POINT, LOWEST, HIGHEST = 0, 2, 4, 5, 6  # the word of each
GOES_ON_BITS = 9  # by which a zero point that is rounded with is shifted to see whether another pair follows


@dataclass(frozen=True)
class Levels:
    """Prints the levels of one form. `scratch`: one register or two for the words that come one after the other from r3 on."""

    emit: Assembler
    shape: Product
    counted_place: int = 0  # on the stack: zero point, and the stream's end
    scratch: Sequence[str] = ()
    places: str = "q7"  # offsets of the stores

    @property
    def target(self) -> str:
        """The register of the levels."""
        return "q0" if self.scratch else "q2"

    def load(self) -> None:
        """The words that come into the accumulators."""
        emit, shape = self.emit, self.shape
        if self.scratch:
            return
        if shape.offsets:
            emit("ldrd r0, r2, [r3], #8", "vmla.s32 q0, q6, r0", "vmla.s32 q1, q6, r2", why="what the weights lack")
        levels = ", r10, r12" if shape.clamps or shape.fixed else ""
        if shape.joined:
            emit(f"ldm r3!, {{r0, r2, r4{levels}}}", why="biases and multipliers")
            emit_joined(emit, ("r0", "r2", "r4"), ("r0", "r2"), ("r4", "r6"), "r8")
        else:
            emit(
                f"ldm r3!, {{r0, r2, r4, r6{'' if shape.counted else ', r8'}{levels}}}",
                why="biases, multipliers, zero point and step",
            )
        if shape.counted:
            emit(f"ldr r8, [sp, #{self.counted_place}]")

    def load_bias(self) -> None:
        """The first bias of a pair, where levels pass beside products."""
        self.emit(f"ldr {self.scratch[0]}, [r3]")

    def compute(self, by_shift: bool = False, begun: bool = False) -> None:
        """Sums in q0 and q1 become levels. `by_shift`: of a pair beside products; elsewhere the numbers of a pair tell. `begun`:
        the first bias is there."""
        emit, shape = self.emit, self.shape
        emit(*(f"vshl.i32 {register}, {register}, #{shape.bits}" for register in ("q0", "q1") if shape.bits))
        if begun:
            emit(f"vadd.i32 q0, q0, {self.scratch[0]}")
            emit(f"vadd.i32 q1, q1, {self._one(BIAS + 1)}")
        else:
            self._with_two(BIAS, "vadd.i32 q0, q0, {}", "vadd.i32 q1, q1, {}")
        other = self._round_fused if shape.fused else self._round_by_shift if shape.shift and not self.scratch else None
        if other and (shape.mixed or shape.shift):
            emit(*(["cmp r4, #0", "bpl 4f"] if shape.mixed else [f"tst r8, #{BY_SHIFT}", "beq 4f"]), why="a pair of floats")
            other()
            emit("b 5f")
            emit.label(4)
            self._round_twice()
            emit.label(5)
        elif by_shift:
            self._round_by_shift()
        else:
            (other or self._round_twice)()
        self._clamp()
        emit(f"vqmovnb.s16 {self.target}, {self.target}")

    def _clamp(self) -> None:
        """Levels of 16 bits between the lowest and the highest one, if these are less than int8 holds."""
        limit = "q1" if self.scratch else "q3"
        for operation, word in (("vmax", LOWEST), ("vmin", HIGHEST)) if self.shape.clamps else ():
            self.emit(f"vdup.16 {limit}, {self._one(word)}", f"{operation}.s16 {self.target}, {self.target}, {limit}")

    def _round_fused(self) -> None:
        """Sums with their bias and offset, the bits of floats, become levels of 16 bits."""
        emit = self.emit
        emit("lsr r2, r8, #16", "uxth r8, r8", *(f"movt {register}, #{CONSTANT_BITS >> 16}" for register in ("r8", "r2")))
        emit("vdup.32 q2, r4", "vdup.32 q3, r6", "vfmas.f32 q0, q2, r8", "vfmas.f32 q1, q3, r2")
        emit("vmov q2, q0", "vmovnt.i32 q2, q1", "lsr r8, r6, #9", why="the mark where other pairs have it")

    def _round_by_shift(self) -> None:
        """Sums with their bias become levels of 16 bits, by multipliers that are integers."""
        emit, shape, target = self.emit, self.shape, self.target
        self._with_two(MULTIPLIER, "vqdmulh.s32 q0, q0, {}", "vqdmulh.s32 q1, q1, {}")
        emit(f"vqrshrnb.s32 {target}, q0, #{shape.shift}", f"vqrshrnt.s32 {target}, q1, #{shape.shift}")
        emit(f"vqadd.s16 {target}, {target}, {self._one(ZERO_POINT)}")

    def _round_twice(self) -> None:
        """Sums with their bias in q0 and q1 become levels of 16 bits."""
        emit, shape, target = self.emit, self.shape, self.target
        if shape.fixed:
            self._round_fixed()
            return
        emit("vcvt.f32.s32 q0, q0", "vcvt.f32.s32 q1, q1")
        self._with_two(MULTIPLIER, "vmul.f32 q0, q0, {}", "vmul.f32 q1, q1, {}")
        zero_point = self._one(ZERO_POINT)
        if shape.adds:
            emit(f"vadd.f32 {target}, q0, {zero_point}", f"vadd.f32 q1, q1, {zero_point}", why="rounded by the addition")
            emit(f"vmovnt.i32 {target}, q1")
        else:
            emit("vcvtn.s32.f32 q0, q0", "vcvtn.s32.f32 q1, q1", f"vqmovnb.s32 {target}, q0", f"vqmovnt.s32 {target}, q1")
            emit(f"vqadd.s16 {target}, {target}, {zero_point}")

    def _round_fixed(self) -> None:
        emit, shape = self.emit, self.shape
        is_late = shape.clamps and not self.scratch  # no accumulator is left for them before
        emit(*(["ldrd r0, r2, [r3], #8"] if is_late else []))
        operation = high_words(shape.fixed)
        self._with_two(MULTIPLIER, *(f"{operation} {register}, {register}, {{}}" for register in ("q0", "q1")))
        emit_fixed_halves(emit, shape.fixed, ("q0", "q1"), self.scratch[0] if self.scratch else "r4")
        shifts = BIAS if is_late else LOWEST + 2 * shape.clamps
        self._with_two(shifts, "vrshl.s32 q0, {}", "vrshl.s32 q1, {}")
        emit_levels_of_8(emit, shape.fixed, "q0", "q1", self.target, self._one(ZERO_POINT))

    def store(self) -> None:
        """Stores the levels and leaves r5 at the next pair."""
        emit, shape = self.emit, self.shape
        if shape.pixels == 4:
            emit(f"vstrb.16 {self.target}, [r5, {self.places}]")
        else:
            if shape.tail or shape.last:
                emit(f"movw r0, #{STORED[shape.pixels]}", "vmsr p0, r0")
            emit("vpst", f"vstrbt.16 {self.target}, [r5, {self.places}]")
        if shape.goes_by_twos:
            emit("adds r5, #2")
        elif self.scratch:
            emit(f"ldrsh {self.scratch[0]}, [r3, #{4 * ZERO_POINT + 2}]", f"add r5, {self.scratch[0]}")

    def test(self, place: int = 0) -> str:
        """Sets the flags of "there is another pair", the numbers of this one at r3 and `place`; returns the condition."""
        emit, shape = self.emit, self.shape
        if shape.counted:
            emit(f"ldr r10, [sp, #{self.counted_place + 4}]", "cmp r3, r10", why="equal after the last pair")
            return "ne"
        found = self.scratch[0] if self.scratch else "r10"
        word = found if self.scratch else NUMBERS[ZERO_POINT]
        emit(*([f"ldr {word}, [r3, #{place + 4 * ZERO_POINT}]"] if self.scratch else []))
        if shape.goes_by_twos:
            emit(f"lsls {found}, {word}, #{GOES_ON_BITS}", why="negative: there is another pair")
            return "mi"
        emit(f"asrs {found}, {word}, #16", *([] if self.scratch else [f"add r5, {found}"]), why="0 after the last pair")
        return "ne"

    def _with_two(self, word: int, *texts: str) -> None:
        """Instructions with a number of each channel."""
        if not self.scratch:
            for text, register in zip(texts, NUMBERS[word:]):
                self.emit(text.format(register))
        elif len(self.scratch) > 1:
            self.emit(f"ldrd {', '.join(self.scratch[:2])}, [r3, #{4 * word}]")
            for text, register in zip(texts, self.scratch):
                self.emit(text.format(register))
        else:
            for channel, text in enumerate(texts):
                self.emit(text.format(self._one(word + channel)))

    def _one(self, word: int) -> str:
        """The register of a number."""
        if not self.scratch:
            return NUMBERS[word]
        self.emit(f"ldr {self.scratch[0]}, [r3, #{4 * word}]")
        return self.scratch[0]
