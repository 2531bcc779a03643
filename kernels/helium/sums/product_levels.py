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

BIASES, MULTIPLIERS = ("%bias_a", "%bias_b"), ("%multiplier_a", "%multiplier_b")
BOUNDS, SHIFTS = ("%low", "%high"), ("%shift_a", "%shift_b")
BIAS, MULTIPLIER, ZERO_POINT, LOWEST, HIGHEST = 0, 2, 4, 5, 6  # the word of each
GOES_ON_BITS = 9  # by which a zero point that is rounded with is shifted to see whether another pair follows
SUMS = "%q.a", "%q.b"  # of both channels, then the levels of both in the first one


@dataclass(frozen=True)
class Levels:
    """Prints the levels of one form. `scratch`: one value or two for the words that come one after the other."""

    emit: Assembler
    shape: Product
    scratch: Sequence[str] = ()

    @property
    def numbers(self) -> tuple[str, ...]:
        """The words of a pair that come at once, in their order."""
        shape = self.shape
        bounds = (*(BOUNDS if shape.clamps else ()), *(SHIFTS if shape.fixed and not shape.clamps else ()))
        return (*BIASES, *MULTIPLIERS, "%zero_point", *bounds)

    def load(self) -> None:
        """The words that come at once."""
        emit, shape = self.emit, self.shape
        if self.scratch:
            return
        if shape.offsets:
            emit("ldrd %offset_a, %offset_b, [%numbers], #8", why="what the weights lack")
            emit("vmla.s32 %q.a, %q.windows, %offset_a", "vmla.s32 %q.b, %q.windows, %offset_b")
        words = ("%first", "%second", "%third") if shape.joined else (*BIASES, *MULTIPLIERS)
        words += self.numbers[ZERO_POINT + shape.counted :]
        emit(f"ldm %numbers!, {{{', '.join(words)}}}", why="biases, multipliers, zero point and step")
        if shape.joined:
            emit_joined(emit, words[:3], BIASES, MULTIPLIERS, "%spare")

    def load_bias(self) -> None:
        """The first bias of a pair, where levels pass beside products."""
        self.emit(f"ldr {self.scratch[0]}, [%numbers]")

    def compute(self, by_shift: bool = False, begun: bool = False) -> None:
        """Sums become levels. `by_shift`: of a pair beside products; elsewhere the numbers of a pair tell. `begun`: the first
        bias is there."""
        emit, shape = self.emit, self.shape
        emit(*(f"vshl.i32 {sums}, {sums}, #{shape.bits}" for sums in SUMS if shape.bits))
        if begun:
            emit(f"vadd.i32 %q.a, %q.a, {self.scratch[0]}")
            emit(f"vadd.i32 %q.b, %q.b, {self._one(BIAS + 1)}")
        else:
            self._with_two(BIAS, "vadd.i32 {0}, {0}, {1}")
        other = self._round_fused if shape.fused else self._round_by_shift if shape.shift and not self.scratch else None
        if other and (shape.mixed or shape.shift):
            emit(
                *(["cmp %multiplier_a, #0", "bpl %floats"] if shape.mixed else [f"tst %zero_point, #{BY_SHIFT}", "beq %floats"]),
                why="a pair of floats",
            )
            other()
            emit("b %rounded")
            emit.label("floats")
            self._round_twice()
            emit.label("rounded")
        elif by_shift:
            self._round_by_shift()
        else:
            (other or self._round_twice)()
        self._clamp()
        emit("vqmovnb.s16 %q.a, %q.a")

    def _clamp(self) -> None:
        """Levels of 16 bits between the lowest and the highest one, if these are less than int8 holds."""
        for operation, word in (("vmax", LOWEST), ("vmin", HIGHEST)) if self.shape.clamps else ():
            self.emit(f"vdup.16 %q.limit, {self._one(word)}", f"{operation}.s16 %q.a, %q.a, %q.limit")

    def _round_fused(self) -> None:
        """Sums with their bias and offset, the bits of floats, become levels of 16 bits."""
        emit = self.emit
        emit("lsr %constant, %zero_point, #16", "uxth %zero_point, %zero_point")
        emit(*(f"movt {register}, #{CONSTANT_BITS >> 16}" for register in ("%zero_point", "%constant")))
        emit("vdup.32 %q.multiplier_a, %multiplier_a", "vdup.32 %q.multiplier_b, %multiplier_b")
        emit("vfmas.f32 %q.a, %q.multiplier_a, %zero_point", "vfmas.f32 %q.b, %q.multiplier_b, %constant")
        emit("vmovnt.i32 %q.a, %q.b", "lsr %zero_point, %multiplier_b, #9", why="the mark where other pairs have it")

    def _round_by_shift(self) -> None:
        """Sums with their bias become levels of 16 bits, by multipliers that are integers."""
        emit, shape = self.emit, self.shape
        self._with_two(MULTIPLIER, "vqdmulh.s32 {0}, {0}, {1}")
        emit(f"vqrshrnb.s32 %q.a, %q.a, #{shape.shift}", f"vqrshrnt.s32 %q.a, %q.b, #{shape.shift}")
        emit(f"vqadd.s16 %q.a, %q.a, {self._one(ZERO_POINT)}")

    def _round_twice(self) -> None:
        """Sums with their bias become levels of 16 bits."""
        emit, shape = self.emit, self.shape
        if shape.fixed:
            self._round_fixed()
            return
        emit("vcvt.f32.s32 %q.a, %q.a", "vcvt.f32.s32 %q.b, %q.b")
        self._with_two(MULTIPLIER, "vmul.f32 {0}, {0}, {1}")
        zero_point = self._one(ZERO_POINT)
        if shape.adds:
            emit(*(f"vadd.f32 {sums}, {sums}, {zero_point}" for sums in SUMS), why="rounded by the addition")
            emit("vmovnt.i32 %q.a, %q.b")
        else:
            emit("vcvtn.s32.f32 %q.a, %q.a", "vcvtn.s32.f32 %q.b, %q.b", "vqmovnb.s32 %q.a, %q.a", "vqmovnt.s32 %q.a, %q.b")
            emit(f"vqadd.s16 %q.a, %q.a, {zero_point}")

    def _round_fixed(self) -> None:
        emit, shape = self.emit, self.shape
        if shape.clamps and not self.scratch:  # no register was left for them before
            emit("ldrd %shift_a, %shift_b, [%numbers], #8")
        self._with_two(MULTIPLIER, f"{high_words(shape.fixed)} {{0}}, {{0}}, {{1}}")
        emit_fixed_halves(emit, shape.fixed, SUMS, self.scratch[0] if self.scratch else "%one")
        if self.scratch:
            self._with_two(LOWEST + 2 * shape.clamps, "vrshl.s32 {0}, {1}")
        else:
            emit("vrshl.s32 %q.a, %shift_a", "vrshl.s32 %q.b, %shift_b")
        emit_levels_of_8(emit, shape.fixed, *SUMS, "%q.a", self._one(ZERO_POINT))

    def store(self) -> None:
        """Stores the levels and leaves the output at the next pair."""
        emit, shape = self.emit, self.shape
        if shape.pixels == 4:
            emit("vstrb.16 %q.a, [%y, %q.places]")
        else:
            if shape.tail or shape.last or shape.has_signs:
                emit(f"movw %mask, #{STORED[shape.pixels]}", "vmsr p0, %mask")
            emit("vpst", "vstrbt.16 %q.a, [%y, %q.places]")
        if shape.goes_by_twos:
            emit("adds %y, %y, #2")
        elif self.scratch:
            emit(f"ldrsh {self.scratch[0]}, [%numbers, #{4 * ZERO_POINT + 2}]", f"add %y, %y, {self.scratch[0]}")

    def test(self) -> str:
        """Sets the flags of "there is another pair"; returns the condition."""
        emit, shape = self.emit, self.shape
        if shape.counted:
            emit("cmp %numbers, %end", why="equal after the last pair")
            return "ne"
        word, mark = self._one(ZERO_POINT), self.scratch[0] if self.scratch else "%mark"
        if shape.goes_by_twos:
            emit(f"lsls {mark}, {word}, #{GOES_ON_BITS}", why="negative: there is another pair")
            return "mi"
        emit(f"asrs {mark}, {word}, #16", *([] if self.scratch else ["add %y, %y, %mark"]), why="0 after the last pair")
        return "ne"

    def _with_two(self, word: int, text: str) -> None:
        """An instruction for the sums of each channel, with a number."""
        if len(self.scratch) == 1:
            for channel, sums in enumerate(SUMS):
                self.emit(text.format(sums, self._one(word + channel)))
            return
        if self.scratch:
            self.emit(f"ldrd {', '.join(self.scratch)}, [%numbers, #{4 * word}]")
        for sums, number in zip(SUMS, self.scratch or self.numbers[word:]):
            self.emit(text.format(sums, number))

    def _one(self, word: int) -> str:
        """The value of a number."""
        if not self.scratch:
            return self.numbers[word]
        self.emit(f"ldr {self.scratch[0]}, [%numbers, #{4 * word}]")
        return self.scratch[0]
