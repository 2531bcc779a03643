# SPDX-License-Identifier: MIT
"""Products of a block of a row with packed weights of all columns, 8 columns at a time, added to floats.

The data are int8 levels, or integers of 22 bits as three digits of 8 bits. The stream has for each group of 8 columns the weights
in the order of the text, the zero points as bytes if there are any, and 8 scales.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.packed_product import PackedProduct

from ..core.assembly import Assembler, function
from ..core.nibbles import BITS, CENTRE, emit_low, emit_mask, packed

GROUP, LANES, DIGITS = 8, 16, 3
HALF = GROUP // 2  # columns whose sums are in one vector
BYTE_CENTRE = 128
PARAMETERS = "const int8_t *stream, const int8_t *x, float *totals, const aidge_kit_row_block *block"


@dataclass(frozen=True)
class Sums:
    """A function for a block of so many vectors of taps. Columns l and l + 4 of a group are a pair: its sums are lane l of the
    vectors `low` and `high`; weights of 4 bits share bytes."""

    vectors: int
    bits: int
    digits: int
    has_zero_points: bool

    @classmethod
    def of(cls, product: PackedProduct) -> Sums:
        """The function for a layer."""
        return cls(product.block // LANES, product.bits, DIGITS if product.integer_bits else 1, product.has_zero_points)

    @property
    def name(self) -> str:
        form = "digits" if self.digits == DIGITS else "levels"
        return f"aidge_helium_block_{form}_{self.vectors}x{self.bits}{'_zeros' * self.has_zero_points}"

    @property
    def shares_bytes(self) -> bool:
        """Whether a pair does."""
        return self.bits == BITS

    @property
    def factor(self) -> int:
        """The factor of the sums of high columns."""
        return 1 << BITS if self.shares_bytes and self.digits == 1 else 1

    @property
    def passes(self) -> list[tuple[int, ...]]:
        """The pairs whose sums are computed together; two sums at once are moved to lanes that are two apart."""
        return [(0, 2), (1, 3)] if self.digits == 1 else [(pair,) for pair in range(HALF)]

    def stream(self, product: PackedProduct) -> numpy.ndarray:
        """The constants of a layer."""
        padding = (0, -product.columns % GROUP)
        weights = numpy.pad(product.weights, ((0, 0), padding, (0, 0)))
        zero_points, scales = (numpy.pad(values, ((0, 0), padding)) for values in (product.zero_points, product.scales))
        columns = numpy.arange(weights.shape[1]).reshape(-1, GROUP)
        return numpy.concatenate(
            [
                part
                for block in range(len(weights))
                for group in columns
                for part in self._group(weights[block, group], zero_points[block, group], scales[block, group])
            ]
        ).view(numpy.int8)

    def _group(self, weights: numpy.ndarray, zero_points: numpy.ndarray, scales: numpy.ndarray) -> Iterator[numpy.ndarray]:
        """Parts, as bytes, of a block of 8 columns."""
        for pairs in self.passes:
            for first in range(0, weights.shape[1], LANES):
                taps = weights[:, first : first + LANES]
                for pair in pairs:
                    yield from self._bytes(taps[pair], taps[pair + HALF])
        factors = numpy.repeat([1, self.factor], HALF)
        if self.has_zero_points:
            centres = numpy.repeat([0, CENTRE], HALF) if self.shares_bytes else BYTE_CENTRE
            yield ((zero_points - centres) * factors).astype(numpy.int8).view(numpy.uint8)
        yield (scales / factors).astype("<f4").view(numpy.uint8)

    def _bytes(self, low: numpy.ndarray, high: numpy.ndarray) -> list[numpy.ndarray]:
        if self.shares_bytes:
            return [packed(low, high)]
        return [(column - BYTE_CENTRE).astype(numpy.int8).view(numpy.uint8) for column in (low, high)]

    def text(self) -> str:
        """The C text."""
        return function(
            self.name,
            f"A block of {LANES * self.vectors} taps times all columns; returns the next block of the stream.",
            PARAMETERS,
            self._lines(),
            "const int8_t *",
        )

    def _lines(self):
        emit = Assembler()
        emit("%enter")
        emit("ldrd %unit, %minus, [%block]", "ldr %groups, [%block, #8]", why="of the data, and minus their sum")
        if self.shares_bytes:
            emit_mask(emit, "%q.mask")
            if not self.has_zero_points:
                emit(f"lsls %minus, %minus, #{CENTRE.bit_length() - 1}", why="the centre of low numbers")
        emit("dls %groups, %groups")
        emit.label("group")
        emit("begin %q.low", "begin %q.high")
        for pairs in self.passes:
            self._products(emit, pairs)
            self._gather(emit, pairs)
        self._floats(emit)
        emit("le %groups, %group", "%leave %stream")
        return emit.lines

    def _products(self, emit: Assembler, pairs: Sequence[int]) -> None:
        """The sums of some pairs."""
        for vector in range(self.vectors):
            for digit in range(self.digits):
                place = f", #{LANES * vector}" if self.digits == 1 and vector else ""
                emit(f"vldrb.u8 %q.x{digit}, [%x{place}]" + f", #{LANES}" * (self.digits > 1))
            for pair in pairs:
                emit(f"vldrb.u8 %q.weights, [%stream], #{LANES}")
                if self.shares_bytes:
                    emit_low(emit, "%q.numbers", "%q.weights", "%q.mask")
                self._multiply(emit, f"low{pair}", "%q.numbers" if self.shares_bytes else "%q.weights", vector == 0)
                if not self.shares_bytes:
                    emit(f"vldrb.u8 %q.weights, [%stream], #{LANES}")
                self._multiply(emit, f"high{pair}", "%q.weights", vector == 0)
        if self.digits > 1:
            emit.add("%x", "%x", -LANES * self.digits * self.vectors)

    def _multiply(self, emit: Assembler, sums: str, weights: str, is_first: bool) -> None:
        for digit in range(self.digits):
            emit(f"vmladav{'' if is_first else 'a'}.s8 %{sums}_{digit}, %q.x{digit}, {weights}")

    def _gather(self, emit: Assembler, pairs: Sequence[int]) -> None:
        """The sums go to their lanes; digits are joined before."""
        if self.digits == 1:
            for half in ("low", "high"):
                first, second = (f"%{half}{pair}_0" for pair in pairs)
                emit(f"vmov %q.{half}[{pairs[1]}], %q.{half}[{pairs[0]}], {first}, {second}")
            return
        (pair,) = pairs
        low, high = ([f"%{half}{pair}_{digit}" for digit in range(DIGITS)] for half in ("low", "high"))
        shift = 0
        if self.shares_bytes:
            emit(*(f"subs {one}, {one}, {other}" for one, other in zip(high, low)), f"asrs {high[0]}, {high[0]}, #{BITS}")
            shift = BITS
        for half, sums, less in (("low", low, 0), ("high", high, shift)):
            emit(*(f"add {sums[0]}, {sums[0]}, {sums[digit]}, lsl #{8 * digit - less}" for digit in range(1, DIGITS)))
            emit(f"vmov.32 %q.{half}[{pair}], {sums[0]}")

    def _floats(self, emit: Assembler) -> None:
        """Sums less zero points, times scales, are added to the totals."""
        halves = ("%q.low", "%q.high")
        if self.shares_bytes and self.digits == 1:
            emit("vsub.i32 %q.high, %q.high, %q.low", why="16 times its sums")
        if self.has_zero_points:
            for half in halves:
                emit("vldrb.s32 %q.zeros, [%stream], #4", f"vmla.s32 {half}, %q.zeros, %minus")
        elif self.shares_bytes:
            emit("vadd.i32 %q.low, %q.low, %minus")
        for half in halves:
            emit("vldrw.u32 %q.scale, [%stream], #16", "vmul.f32 %q.scale, %q.scale, %unit")
            emit(f"vcvt.f32.s32 {half}, {half}", f"vmul.f32 {half}, {half}, %q.scale")
        for place, half in enumerate(halves):
            emit(f"vldrw.u32 %q.total, [%totals{', #16' * place}]", f"vadd.f32 {half}, %q.total, {half}")
        emit("vstrw.32 %q.low, [%totals], #16", "vstrw.32 %q.high, [%totals], #16")
