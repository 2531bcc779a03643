# SPDX-License-Identifier: MIT
"""Few input bytes per pixel: a pair of output channels keeps its weights in registers while all pixels pass.

The same stream and the same result as product.py, with the loops exchanged; the loop over the pixels costs nothing (LE). With
`beside` levels of four pixels are computed beside the products of the next four.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.assembly import BYTE_REACH, WORD_REACH, Assembler, function
from ..core.packed import SINGLE, Packing
from ..core.rounding import BY_SHIFT, CONSTANT_BITS, emit_fixed, emit_levels_of_8
from ..values.joined import emit_joined
from .product import HEAD_BYTES, PARAMETERS, Product

SUMS = (("%a0", "%a1"), ("%b0", "%b1"))  # of the two channels, by pixel of the two that are at work
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
            and not shape.left
            and shape.pixel_step <= reach
        )

    @property
    def name(self) -> str:
        return self.product.name.replace("product", "stationary")

    def text(self) -> str:
        """The C text."""
        shape = self.product
        purpose = f"Blocks of 4 pixels, {shape.channels} output channels; the weights stay in registers."
        return function(self.name, purpose, PARAMETERS, _Printer(shape).lines())


class _Printer:
    """Prints one function: two channels, a and b, at a time."""

    def __init__(self, shape: Product):
        self.shape, self.emit = shape, Assembler()
        self.whole = 2 * shape.vectors - (2 if shape.last else 0)  # vectors of weights that have all their bytes

    def lines(self):
        shape, emit = self.shape, self.emit
        emit("%enter", "vldrh.u16 %q.places, [%stream]", why="offsets of the stores: {channel a, channel b} of each pixel")
        emit.add("%numbers", "%stream", shape.head_bytes)
        if shape.counted:
            emit.add("%end", "%stream", shape.stream_bytes)
            emit(f"ldr %constant, [%stream, #{HEAD_BYTES}]", why="zero point")
        if shape.last:
            emit(f"movs %bytes, #{shape.last}", "vctp.8 %bytes", why="what there is of the last vector of weights")
        emit.label("pair")
        self._load_pair()
        self._begin()
        if shape.mixed:
            emit("cmp %multiplier_a, #0", "bpl %others", why="a pair of channels that is not fused")
        if shape.shift:
            emit(f"tst %constant, #{BY_SHIFT}", "beq %others", why="a pair of floats")
            self._pass(True)
            emit("b %pair", why="the last pair has floats")
            emit.label("others")
        if shape.fused:
            self._fused()
        if shape.mixed:
            emit("b %end_of_pairs")
            emit.label("others")
        if not shape.fused or shape.mixed:
            self._pass(False)
            self._repeat()
        if shape.mixed:
            emit.label("end_of_pairs")
        emit("%leave")
        return emit.lines

    def _load_pair(self) -> None:
        """Weights and numbers of a pair."""
        shape, emit = self.shape, self.emit
        if shape.has_signs:
            for place in range(2 * shape.vectors):
                shape.packed.emit_signs(emit, "[%numbers], #2", f"%q.weights{place}", place // 2 == shape.vectors - 1)
        else:
            self._load_weights()
        if shape.joined:
            emit("ldm %numbers!, {%first, %second, %high}", why="biases and multipliers")
            words, multipliers = ("%first", "%second", "%high"), ("%multiplier_a", "%multiplier_b")
            emit_joined(emit, words, ("%bias_a", "%bias_b"), multipliers, "%spare")
        else:
            emit("ldrd %bias_a, %bias_b, [%numbers], #8", "ldrd %multiplier_a, %multiplier_b, [%numbers], #8")
        if not shape.counted:
            emit("ldr %constant, [%numbers], #4", why="constants" if shape.fused else "zero point and step")
        if shape.fixed:
            emit("adds %numbers, %numbers, #8", why="shifts: read again for each block")

    def _load_weights(self) -> None:
        """Weights of bytes, or two of 4 bits in each byte."""
        shape, emit, step = self.shape, self.emit, 2 if self.shape.packed else 1
        for place in range(step - 1, self.whole, step):
            emit(f"vldrw.u32 %q.weights{place}, [%numbers], #16", why="weights" if place < step else "")
        if shape.last:
            last = [f"%q.weights{self.whole + channel}" for channel in (0, 1)][step - 1 :]
            emit(f"begin {', '.join(last)}", f"vps{'t' * len(last)}")
            emit(*(f"vldrwt.u32 {weights}, [%numbers], #{shape.last}" for weights in last))
        for place in range(2 * shape.vectors if shape.packed else 0):
            Packing(4, SINGLE).emit_weights(emit, place % 2, f"%q.weights{place | 1}", f"%q.weights{place}")

    def _begin(self) -> None:
        """Prints the code before all pixels pass: their number, and the sums of the first pixels, whose levels come later."""
        emit, shape = self.emit, self.shape
        emit("mov %from, %x", "mov %to, %y")
        if shape.beside:
            self._sums()
            emit("subs %others_than_last, %blocks, #1", "dls %left, %others_than_last")
        else:
            emit("dls %left, %blocks")

    def _fused(self) -> None:
        """A pair with one fused multiplication, again while another pair follows."""
        emit = self.emit
        emit("lsr %constant_b, %constant, #16", "uxth %constant, %constant")
        emit(*(f"movt {constant}, #{CONSTANT_BITS >> 16}" for constant in ("%constant", "%constant_b")))
        if self.shape.vectors == 1:
            emit("vdup.32 %q.multiplier_a, %multiplier_a", "vdup.32 %q.multiplier_b, %multiplier_b")
        self._pass(True)
        emit("cmp %multiplier_b, #0", "bmi %pair", why="negative: there is another pair")

    def _repeat(self) -> None:
        """The jump to the next pair, if there is one."""
        emit, shape = self.emit, self.shape
        if shape.counted:
            emit("cmp %numbers, %end", "bne %pair", why="there is another pair")
        elif shape.adds:
            emit("lsls %mark, %constant, #9", "bmi %pair", why="negative: there is another pair")
        else:
            emit("asrs %step, %constant, #16", "add %y, %y, %step", "bne %pair", why="0 after the last pair")

    def _pass(self, proved: bool) -> None:
        """All pixels with the weights of a pair. `proved`: levels are fused, or from integers."""
        shape, emit, label = self.shape, self.emit, "proved" if proved else "block"
        emit.label(label)
        if not shape.beside:
            self._sums()
        self._levels(proved)
        if shape.beside:
            self._sums(stores=True)
            emit(f"le %left, %{label}")
            self._levels(proved)
        self._store()
        emit(*([] if shape.beside else [f"le %left, %{label}"]), *(["adds %y, %y, #2"] if shape.goes_by_twos else []))

    def _sums(self, stores: bool = False) -> None:
        """The sums of four pixels times two channels; the levels that are there are stored behind the loads that need not wait
        for them."""
        emit = self.emit
        for half in (0, 1):
            for pixel in (0, 1):
                self._pixel(pixel)
            if half == 0:
                if stores:
                    self._store()
                emit("begin %q.a, %q.b")
            for vector, sums in zip(("%q.a", "%q.b"), SUMS):
                emit(f"vmov {vector}[{2 + half}], {vector}[{half}], {', '.join(sums)}")

    def _levels(self, proved: bool) -> None:
        """These sums become levels in the place of those of a."""
        emit, shape = self.emit, self.shape
        emit(*(f"vshl.i32 {sums}, {sums}, #{shape.bits}" for sums in ("%q.a", "%q.b") if shape.bits))
        emit("vadd.i32 %q.a, %q.a, %bias_a", "vadd.i32 %q.b, %q.b, %bias_b")
        if proved and shape.shift:
            emit("vqdmulh.s32 %q.a, %q.a, %multiplier_a", "vqdmulh.s32 %q.b, %q.b, %multiplier_b")
            emit(f"vqrshrnb.s32 %q.a, %q.a, #{shape.shift}", f"vqrshrnt.s32 %q.a, %q.b, #{shape.shift}")
            emit("vqadd.s16 %q.a, %q.a, %constant")
        elif proved:
            self._levels_fused()
        elif shape.fixed:
            emit("ldrd %shift_a, %shift_b, [%numbers, #-8]")
            emit_fixed(emit, shape.fixed, ("%q.a", "%q.b"), ("%multiplier_a", "%multiplier_b"), "%one")
            emit("vrshl.s32 %q.a, %shift_a", "vrshl.s32 %q.b, %shift_b")
            emit_levels_of_8(emit, shape.fixed, "%q.a", "%q.b", "%q.a", "%constant")
        else:
            self._levels_of_floats()
        emit("vqmovnb.s16 %q.a, %q.a")

    def _levels_fused(self) -> None:
        emit = self.emit
        for channel, constant in (("a", "%constant"), ("b", "%constant_b")):
            if self.shape.vectors > 1:
                emit(f"vdup.32 %q.multiplier_{channel}, %multiplier_{channel}")
            emit(f"vfmas.f32 %q.{channel}, %q.multiplier_{channel}, {constant}")
        emit("vmovnt.i32 %q.a, %q.b")

    def _levels_of_floats(self) -> None:
        emit = self.emit
        emit("vcvt.f32.s32 %q.a, %q.a", "vcvt.f32.s32 %q.b, %q.b")
        emit("vmul.f32 %q.a, %q.a, %multiplier_a", "vmul.f32 %q.b, %q.b, %multiplier_b")
        if self.shape.adds:
            emit("vadd.f32 %q.a, %q.a, %constant", "vadd.f32 %q.b, %q.b, %constant", why="rounded by the addition")
            emit("vmovnt.i32 %q.a, %q.b")
        else:
            emit("vcvtn.s32.f32 %q.a, %q.a", "vcvtn.s32.f32 %q.b, %q.b", "vqmovnb.s32 %q.a, %q.a", "vqmovnt.s32 %q.a, %q.b")
            emit("vqadd.s16 %q.a, %q.a, %constant")

    def _store(self) -> None:
        """Stores the levels."""
        self.emit("vstrb.16 %q.a, [%to, %q.places]")
        self.emit.add("%to", "%to", 4 * self.shape.distance)

    def _pixel(self, pixel: int) -> None:
        """The sums of one pixel; the first two take lanes 0 and 2, the others 1 and 3."""
        emit, shape = self.emit, self.shape
        size = "w.u32" if shape.aligned else "b.u8"
        for vector in reversed(range(shape.vectors)):  # the last load moves the pointer
            emit(f"vldr{size} %q.data, " + (f"[%from, #{16 * vector}]" if vector else f"[%from], #{shape.pixel_step}"))
            for channel in (0, 1):
                operation = "vmladav" if vector == shape.vectors - 1 else "vmladava"
                emit(f"{operation}.s8 {SUMS[channel][pixel]}, %q.weights{2 * vector + channel}, %q.data")
