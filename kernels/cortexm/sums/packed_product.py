# SPDX-License-Identifier: MIT
"""Products of a block of a row with packed weights of all columns, 4 columns at a time, added to floats.

| data | in scratch | a product with two taps of a column |
|---|---|---|
| int8 levels | halfwords | SMLAD |
| integers with one exponent | words | SMLAWB and SMLAWT, over 2^16 |

A halfword of weights has fields of several columns, of one tap, less the centre of their range. AND with a shifted operand leaves
one field at the top of both halfwords of a word: a number times 2^(16 - bits) with its sign. The stream has for each group the
words of all pairs of taps, the zero points as bytes if there are any, and 4 scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.packed_product import PackedProduct

from ..core.assembly import Routine
from ..core.conditions import GROUP
from ..core.float32 import in_turns, listed, values
from .dense import split_steps

PARAMETERS = "const int32_t *stream, const {element} *x, float *totals, const aidge_kit_row_block *block"
HALF_BITS = 16
TAPS = 4  # of a step
_SUMS = [f"%sum{column}" for column in range(GROUP)]
LEVELS = "const float *values, int16_t *x, aidge_kit_row_block *block, int32_t count"


@dataclass(frozen=True)
class Sums:
    """A function for a block of so many taps, at most `unroll` steps of 4 taps in the text."""

    block: int
    bits: int
    are_levels: bool
    has_zero_points: bool
    unroll: int

    @classmethod
    def of(cls, product: PackedProduct, unroll: int) -> Sums:
        """The function for a layer."""
        return cls(product.block, product.bits, product.integer_bits == 0, product.has_zero_points, unroll)

    @property
    def name(self) -> str:
        form = "levels" if self.are_levels else "integers"
        return f"aidge_cortexm_block_{form}_{self.block}x{self.bits}{'_zeros' * self.has_zero_points}_u{self.unroll}"

    @property
    def element(self) -> str:
        """The C type of the data."""
        return "int16_t" if self.are_levels else "int32_t"

    @property
    def element_bytes(self) -> int:
        return 2 if self.are_levels else 4

    @property
    def fields(self) -> int:
        """The weights in a halfword."""
        return HALF_BITS // self.bits

    @property
    def shift(self) -> int:
        """Sums are their own times 2^shift."""
        return HALF_BITS - self.bits if self.are_levels else -self.bits

    def stream(self, product: PackedProduct) -> numpy.ndarray:
        """The constants of a layer."""
        centre, padding = 1 << self.bits - 1, (0, -product.columns % GROUP)
        weights = numpy.pad(product.weights - centre, ((0, 0), padding, (0, 0)))
        zero_points = numpy.pad(product.zero_points - centre, ((0, 0), padding)).astype(numpy.int8)
        scales = numpy.pad(numpy.ldexp(product.scales, -self.shift), ((0, 0), padding)).astype("<f4")
        found: list[numpy.ndarray] = []
        for block in range(len(weights)):
            for first in range(0, weights.shape[1], GROUP):
                group = slice(first, first + GROUP)
                found.append(self._words(weights[block, group]))
                found += [numpy.ascontiguousarray(zero_points[block, group]).view("<i4")] if self.has_zero_points else []
                found.append(scales[block, group].view("<i4"))
        return numpy.concatenate(found)

    def _words(self, weights: numpy.ndarray) -> numpy.ndarray:
        """The words of 4 columns: fields from the top, first the columns of a pair of taps."""
        columns, taps = weights.shape
        halves = weights.reshape(columns, taps // 2, 2).transpose(1, 0, 2).reshape(-1, self.fields, 2)
        shifts = HALF_BITS - self.bits * (1 + numpy.arange(self.fields))
        low, high = ((halves & (1 << self.bits) - 1) << shifts[None, :, None]).sum(axis=1).T
        return (low | high << HALF_BITS).astype(numpy.uint32).view(numpy.int32)

    def text(self) -> str:
        """The C text."""
        code = Routine()
        code("%enter.floats")
        code("vldr %s.unit, [%block]")
        if self.has_zero_points:
            code("ldr %minus, [%block, #4]", "- sum of the data")
            code(f"{'lsl' if self.shift > 0 else 'asr'} %minus, %minus, #{abs(self.shift)}")
        code("ldr %groups, [%block, #8]")
        half = (1 << HALF_BITS) - (1 << HALF_BITS - self.bits)
        code.constant("%mask", half << HALF_BITS | half)
        code.align()
        code.label("group", f"{GROUP} columns")
        self._products(code)
        self._floats(code)
        code("subs %groups, %groups, #1")
        code("bne %group")
        code("%leave %stream")
        parameters = PARAMETERS.format(element=self.element)
        comment = f"A block of {self.block} taps times all columns; returns the next block of the stream."
        return code.function(self.name, parameters, comment, result="const int32_t *")

    def _products(self, code: Routine) -> None:
        steps = self.block // TAPS
        ahead, body = split_steps(steps - 1, self.unroll, start=0)
        if body:
            code(f"add %end, %x, #{self.element_bytes * self.block}")
        for index in range(1 + ahead):
            self._step(code, index == 0)
        if body:
            code.label("turn", f"{TAPS * body} taps")
            for _ in range(body):
                self._step(code)
            code("cmp %x, %end")
            code("bne %turn")
        code(f"sub %x, %x, #{self.element_bytes * self.block}")

    def _step(self, code: Routine, is_first: bool = False) -> None:
        """4 taps."""
        words = [f"%word{index}" for index in range(TAPS // 2 * GROUP // self.fields)]
        _load(code, "%stream", words, "weights")
        for pair in range(TAPS // 2):
            if not self.are_levels or pair == 0:
                _load(code, "%x", ["%x0", "%x1"], "taps")
            for column, total in enumerate(_SUMS):
                word, field = divmod(pair * GROUP + column, self.fields)
                number = words[word] if field + 1 == self.fields else "%number"
                code(f"and {number}, %mask, {words[word]}{f', lsl #{self.bits * field}' * (field > 0)}")
                self._multiply(code, total, number, pair, is_first and pair == 0)

    def _multiply(self, code: Routine, total: str, number: str, pair: int, is_first: bool) -> None:
        """Products of two taps."""
        if self.are_levels:
            code(f"smuad {total}, {number}, %x{pair}" if is_first else f"smlad {total}, {number}, %x{pair}, {total}")
            return
        code(f"smulwb {total}, %x0, {number}" if is_first else f"smlawb {total}, %x0, {number}, {total}")
        code(f"smlawt {total}, %x1, {number}, {total}")

    def _floats(self, code: Routine) -> None:
        """Sums less zero points, times scales, are added to the totals."""
        products, scales, totals = (values(name, GROUP) for name in ("product", "scale", "total"))
        if self.has_zero_points:
            code("ldr %zeros, [%stream], #4", "zero points")
            for column, total in enumerate(_SUMS):
                code(f"sxtb %zero, %zeros{f', ror #{8 * column}' * (column > 0)}")
                code(f"mla {total}, %zero, %minus, {total}")
        for first in (0, 2):
            code(f"vmov {', '.join((*products[first : first + 2], *_SUMS[first : first + 2]))}")
        code(f"vldmia %stream!, {listed(scales)}")
        code(f"vldm %totals, {listed(totals)}")
        texts = "vcvt.f32.s32 {0}, {0}", "vmul.f32 {1}, {1}, %s.unit", "vmul.f32 {0}, {0}, {1}", "vadd.f32 {2}, {2}, {0}"
        for text in texts:
            for names in zip(products, scales, totals):
                code(text.format(*names))
        code(f"vstmia %totals!, {listed(totals)}")


def _load(code: Routine, pointer: str, names: Sequence[str], comment: str) -> None:
    """Words at a pointer, which moves on."""
    code(
        {
            1: f"ldr {names[0]}, [{pointer}], #4",
            2: f"ldrd {names[0]}, {names[-1]}, [{pointer}], #8",
        }.get(len(names), f"ldm {pointer}!, {listed(names)}"),
        comment,
    )


def round_levels() -> str:
    """The text of a function that makes int8 levels, as halfwords, of a block of a row. A float is rounded by an addition:
    its level is in the low halfword of the sum."""
    code, reals = Routine(), values("real", 4)

    def round_values(count: int) -> None:
        some = reals[:count]
        code(f"vldmia %values!, {listed(some)}")
        for operation, factor in (("vmul", "reciprocal"), ("vadd", "rounding")):
            for real in some:
                code(f"{operation}.f32 {real}, {real}, %s.{factor}")
        if count == 1:
            code(f"vmov %level, {reals[0]}")
            code("strh %level, [%x], #2")
            code("sxtah %sum, %sum, %level")
            return
        for pair in (0, 1):
            code(f"vmov %low{pair}, %high{pair}, {', '.join(reals[2 * pair : 2 * pair + 2])}")
            code(f"pkhbt %low{pair}, %low{pair}, %high{pair}, lsl #16")
            code(f"smlad %sum, %low{pair}, %ones, %sum")
        code("strd %low0, %low1, [%x], #8")

    code("%enter.floats")
    code("vldr %s.reciprocal, [%block]")
    code("movs %rounding, #0")
    code("movt %rounding, #0x4b40", "1.5 * 2^23")
    code("vmov %s.rounding, %rounding")
    code.constant("%ones", 0x10001)
    code("movs %sum, #0")
    in_turns(code, 4, round_values)
    code("rsb %sum, %sum, #0")
    code("str %sum, [%block, #4]")
    code("%leave")
    comment = "Levels of floats, and minus their sum; the block has the reciprocal of their scale."
    return code.function("aidge_cortexm_round_levels", LEVELS, comment)


BLOCK_LEVELS = """/* A block of a row as int8 levels in halfwords. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_block_levels(const float *values, int16_t *x, aidge_kit_row_block *block, int32_t count)
{
    const float scale = aidge_kit_block_scale(values, count, &block->unit);
    if (block->unit > 0.0f) {
        aidge_cortexm_round_levels(values, x, block, count);
    } else {
        (void)memset(x, 0, (uint32_t)count * sizeof *x);
        block->minus_sum = 0;
    }
    block->unit = scale;
}"""
