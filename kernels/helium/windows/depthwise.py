# SPDX-License-Identifier: MIT
"""Depthwise convolution with the channels in the lanes: 16 channels of one pixel at a time, any window.

Products of two taps fit 16 bits together and are widened at once; four registers hold the sums of 16 channels. If weights are
no bytes, or data have a zero point of run time, both are halfwords, whose products have 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from ..core import floats
from ..core.assembly import BYTE_REACH, Access, Assembler, function, walk
from ..core.floats import FloatNumbers, Floats
from ..core.geometry import Geometry
from ..core.rounding import Fixed, emit_fixed, emit_levels_of_8, multiplier_words, shift_words, zero_point_word

LANES = 16
HEAD_BYTES = 16  # of a stream: input zero point, zero point, lowest, highest
MOST_POINTERS = 10
# Channels of the four vectors of sums: what VMULLB, VMULLT and VMOVLB, VMOVLT make of 16 bytes.
LANE_CHANNELS = (slice(0, LANES, 4), slice(2, LANES, 4), slice(1, LANES, 4), slice(3, LANES, 4))
IN_LINE = tuple(slice(first, LANES, 4) for first in range(4))  # those of results in float32, which VST4 stores
PARAMETERS = "const int8_t *const *rows, int8_t *y, const int8_t *stream, int32_t pixels"


@dataclass(frozen=True)
class Depthwise:
    """`rows` x `taps` windows, taps `tap_step` bytes apart, pixels `pixel_step` bytes apart; `adds`, `fixed`: levels are
    rounded as in rounding.py. `wide`: weights are int16. `floats`, of wide ones: sums become float32, data may be unsigned."""

    channels: int
    rows: int
    taps: int
    tap_step: int
    pixel_step: int
    clamps: bool = False
    adds: bool = False
    bits: int = 0  # by which sums are shifted before the rest of the bias is added: finer.py
    fixed: Fixed | None = None
    wide: bool = False
    floats: Floats | None = None

    @property
    def name(self) -> str:
        kind = "dynamic_depthwise" if self.floats else "depthwise"
        return (
            f"aidge_helium_{kind}_{self.rows}x{self.taps}_step_{self.tap_step}_{self.pixel_step}_channels_{self.channels}"
            f"{'_clamped' if self.clamps else ''}{'_adding' if self.adds else ''}{self.fixed.way if self.fixed else ''}"
            f"{f'_finer_{self.bits}' if self.bits else ''}{self.floats.name if self.floats else '_wide' if self.wide else ''}"
        )

    @staticmethod
    def instructions_for(shape: Geometry) -> int:
        """The instructions of one image, nearly."""
        taps, blocks = shape.kernel_height * shape.kernel_width, -(-shape.channels // LANES)
        block = 28 + 3 * bool(shape.channels % LANES) + 19 * (taps // 2) + 12 * (taps % 2)
        return shape.out_height * (40 + shape.in_width * shape.channels // 5 + shape.out_width * (10 + blocks * block))

    @staticmethod
    def float_instructions_for(shape: Geometry) -> int:
        """The same where sums become float32, nearly."""
        taps, blocks = shape.kernel_height * shape.kernel_width, -(-shape.channels // LANES)
        pixels = shape.batches * shape.out_height * shape.out_width
        return pixels * (10 + blocks * (44 + 13 * taps + 13 * bool(shape.channels % LANES)))

    @property
    def blocks(self) -> int:
        return -(-self.channels // LANES)

    def text(self) -> str:
        """The C text."""
        return function(
            self.name,
            f"Pixels of {self.channels} channels, windows of {self.rows} x {self.taps} taps.",
            PARAMETERS.replace("int8_t *y", "float *y") + floats.PARAMETERS if self.floats else PARAMETERS,
            _Printer(self).lines(),
        )

    def stream(self, taps: numpy.ndarray, numbers: LinearConstants) -> numpy.ndarray:
        """`taps` [channels, rows, taps] and the numbers of the layer, by blocks of 16 channels: biases, weights, and for each
        four channels the fractions of their biases with `bits`, multipliers, and shifts of fixed-point factors."""
        padded = self._padded(taps)
        bias, multipliers, shifts = (numpy.zeros(self.blocks * LANES, "<i4") for _ in range(3))
        bias[: self.channels], multipliers[: self.channels] = numbers.bias, multiplier_words(numbers)
        if self.fixed:
            shifts[: self.channels] = shift_words(numbers)
        parts = [
            numpy.array(
                [numbers.input_zero_point, zero_point_word(numbers, self.bits), numbers.low, numbers.high], "<i4"
            ).tobytes()
        ]
        for first in range(0, self.blocks * LANES, LANES):
            block = slice(first, first + LANES)
            parts += [(bias >> self.bits)[block][lanes].tobytes() for lanes in LANE_CHANNELS]
            parts.append(self._weights(padded[block]))
            for lanes in LANE_CHANNELS:
                parts += [(bias & (1 << self.bits) - 1)[block][lanes].tobytes()] if self.bits else []
                parts += [part[block][lanes].tobytes() for part in (multipliers, *([shifts] if self.fixed else []))]
        return numpy.frombuffer(b"".join(parts), numpy.int8)

    def float_stream(self, taps: numpy.ndarray, numbers: FloatNumbers) -> numpy.ndarray:
        """The same for results in float32: sums of the weights where biases are, factors and biases."""
        padded = self._padded(taps)
        columns = [numpy.zeros(self.blocks * LANES, kind) for kind in ("<i4", "<f4", "<f4")]
        for column, found in zip(columns, (numbers.sums, numbers.factors, numbers.bias)):
            column[: self.channels] = found
        sums, factors, bias = (column.reshape(self.blocks, LANES) for column in columns)
        parts = [bytes(HEAD_BYTES)]
        for block in range(self.blocks):
            parts += [sums[block][lanes].tobytes() for lanes in IN_LINE]
            parts.append(self._weights(padded[LANES * block : LANES * (block + 1)]))
            parts += [column[block][lanes].tobytes() for lanes in IN_LINE for column in (factors, bias)]
        return numpy.frombuffer(b"".join(parts), numpy.int8)

    def _padded(self, taps: numpy.ndarray) -> numpy.ndarray:
        """Weights of whole blocks [channels, taps]."""
        padded = numpy.zeros((self.blocks * LANES, self.rows * self.taps), "<i2" if self.wide else numpy.int8)
        padded[: self.channels] = taps.reshape(self.channels, -1)
        return padded

    def _weights(self, block: numpy.ndarray) -> bytes:
        """Those of 16 channels tap by tap; wide ones of even channels before those of odd ones."""
        lanes = [*range(0, LANES, 2), *range(1, LANES, 2)] if self.wide else [*range(LANES)]
        return numpy.ascontiguousarray(block[lanes].T).tobytes()


class _Printer:
    """Prints one depthwise convolution."""

    def __init__(self, shape: Depthwise):
        self.shape, self.emit = shape, Assembler()
        self.sums = [f"%q.sum{number}" for number in range(4)]
        self.taps = [(row, tap) for row in range(shape.rows) for tap in range(shape.taps)]
        self.is_partial = shape.channels % LANES > 0
        choices = [[row for row, _ in self.taps]]
        if len(self.taps) <= MOST_POINTERS - self.is_partial - 2 * shape.clamps:
            choices.append(list(range(len(self.taps))))
        self.pointer_of = min(choices, key=lambda choice: (self._extra(choice), len(set(choice))))
        self.pointers = [f"%data{number}" for number in range(max(self.pointer_of) + 1)]
        self.accesses, self.ends = self._addresses(self.pointer_of)

    @property
    def advance(self) -> int:
        """From behind the last block to the next pixel."""
        return self.shape.pixel_step - LANES * self.shape.blocks

    def _extra(self, choice: list[int]) -> int:
        accesses, ends = self._addresses(choice)
        per_block = sum(access.before != 0 for access in accesses) + sum(end != 0 for end in ends)
        return per_block * self.shape.blocks + (len(ends) if self.advance else 0)

    def _addresses(self, choice: list[int]) -> tuple[list[Access], list[int]]:
        found: dict[int, Access] = {}
        ends = []
        for pointer in range(max(choice) + 1):
            positions = [position for position, chosen in enumerate(choice) if chosen == pointer]
            home = self.taps[positions[0]][1] * self.shape.tap_step
            offsets = [self.taps[position][1] * self.shape.tap_step for position in positions]
            accesses, end = walk(f"%data{pointer}", home, offsets, BYTE_REACH, LANES)
            found.update(zip(positions, accesses))
            ends.append(end)
        return [found[position] for position in range(len(choice))], ends

    def lines(self):
        shape, emit = self.shape, self.emit
        emit("%enter")
        emit.add("%first", "%stream", HEAD_BYTES)
        if shape.floats:
            emit("ldr %data, [%argument.4]", "ldrd %zero_point, %scale, [%data]", why="- zero point, scale")
        else:
            emit(*(["ldrd %low, %high, [%stream, #8]"] if shape.clamps else []), "ldr %zero_point, [%stream, #4]")
        for number, pointer in enumerate(self.pointers):
            row, tap = self.taps[self.pointer_of.index(number)]
            emit(f"ldr {pointer}, [%rows, #{4 * row}]")
            emit.add(pointer, pointer, tap * shape.tap_step)
        emit.label("pixel")
        emit("mov %numbers, %first")
        if self.is_partial:
            emit(f"movw %left, #{shape.channels}", why="channels that are left")
        emit(f"movw %blocks, #{shape.blocks}", "dls %blocks, %blocks")
        emit.label("block")
        self._sums()
        for pointer, end in zip(self.pointers, self.ends):
            emit.add(pointer, pointer, end)
        if shape.floats:
            self._store_floats(shape.floats)
        else:
            self._store()
        emit("le %blocks, %block")
        for pointer in self.pointers:
            emit.add(pointer, pointer, self.advance)
        emit.add("%y", "%y", (shape.channels - LANES * shape.blocks) * (4 if shape.floats else 1))
        emit("subs %pixels, %pixels, #1", "bne %pixel", "%leave")
        return emit.lines

    def _sums(self) -> None:
        """The sums of 16 channels."""
        shape, emit = self.shape, self.emit
        emit(*(f"vldrw.u32 {sum_}, [%numbers], #16" for sum_ in self.sums), why="biases of 16 channels")
        if shape.floats:
            emit(*(f"vmul.i32 {sum_}, {sum_}, %zero_point" for sum_ in self.sums), why="or sums of weights")
        if shape.wide:
            for position in range(len(self.taps)):
                self._halfwords(position)
            return
        for first in range(0, len(self.taps) - 1, 2):
            self._pair(first)
        if len(self.taps) % 2:
            self._products(len(self.taps) - 1)
            self._widen()

    def _load(self, position: int) -> None:
        access, pointer = self.accesses[position], self.pointers[self.pointer_of[position]]
        if access.before:
            self.emit.add(pointer, pointer, access.before)
        self.emit(f"vldrb.u8 %q.data, {access.address}")

    def _halfwords(self, position: int) -> None:
        """One tap: products of the even channels, then of the odd ones."""
        emit, sign = self.emit, self.shape.floats.letter if self.shape.floats else "s"
        self._load(position)
        places = ((0, 2), (1, 3)) if self.shape.floats else ((0, 1), (2, 3))
        for half, (even, odd) in zip("bt", places):
            emit("vldrh.u16 %q.weights, [%numbers], #16", f"vmovl{half}.{sign}8 %q.wide, %q.data")
            emit("vmullb.s16 %q.even, %q.wide, %q.weights", "vmullt.s16 %q.odd, %q.wide, %q.weights")
            for sum_, products in ((self.sums[even], "%q.even"), (self.sums[odd], "%q.odd")):
                emit(f"vadd.i32 {sum_}, {sum_}, {products}")

    def _products(self, position: int) -> None:
        """Products of the even channels and of the odd ones."""
        self._load(position)
        self.emit("vldrw.u32 %q.weights, [%numbers], #16")
        self.emit("vmullb.s8 %q.even, %q.data, %q.weights", "vmullt.s8 %q.odd, %q.data, %q.weights")

    def _pair(self, first: int) -> None:
        """Two taps: their products are added in 16 bits (the generator has made sure that they fit)."""
        self._products(first)
        self._load(first + 1)
        self.emit("vldrw.u32 %q.weights, [%numbers]", "vmullb.s8 %q.product, %q.data, %q.weights")
        self.emit("vadd.i16 %q.even, %q.even, %q.product")
        self.emit("vldrw.u32 %q.weights, [%numbers], #16", why="again: there is no further register")
        self.emit("vmullt.s8 %q.product, %q.data, %q.weights", "vadd.i16 %q.odd, %q.odd, %q.product")
        self._widen()

    def _widen(self) -> None:
        for products, sums in (("%q.even", self.sums[:2]), ("%q.odd", self.sums[2:])):
            self.emit(f"vmovlb.s16 %q.low, {products}", f"vmovlt.s16 %q.high, {products}")
            self.emit(*(f"vadd.i32 {sum_}, {sum_}, {wide}" for sum_, wide in zip(sums, ("%q.low", "%q.high"))))

    def _store(self) -> None:
        emit, shape = self.emit, self.shape
        for sum_ in self.sums:
            self._round(sum_)
        first, second, third, last = self.sums
        if shape.adds:
            emit(f"vmovnt.i32 {first}, {second}", f"vmovnt.i32 {third}, {last}")
        elif shape.fixed:
            emit_levels_of_8(emit, shape.fixed, first, second, first, "%zero_point")
            emit_levels_of_8(emit, shape.fixed, third, last, third, "%zero_point")
        else:
            emit(f"vqmovnb.s32 {first}, {first}", f"vqmovnt.s32 {first}, {second}")
            emit(f"vqmovnb.s32 {third}, {third}", f"vqmovnt.s32 {third}, {last}")
            emit(*(f"vqadd.s16 {levels}, {levels}, %zero_point" for levels in (first, third)))
        emit(f"vqmovnb.s16 {first}, {first}", f"vqmovnt.s16 {first}, {third}")
        if shape.clamps:
            emit("vdup.8 %q.limit, %low", f"vmax.s8 {first}, {first}, %q.limit")
            emit("vdup.8 %q.limit, %high", f"vmin.s8 {first}, {first}, %q.limit")
        if self.is_partial:
            emit("vctp.8 %left", "subs %left, %left, #16", "vpst", f"vstrbt.8 {first}, [%y], #16")
        else:
            emit(f"vstrb.8 {first}, [%y], #16")

    def _round(self, sum_: str) -> None:
        """A sum becomes a level of 32 bits, or of these less the zero point."""
        emit, shape = self.emit, self.shape
        if shape.bits:
            emit(f"vshl.i32 {sum_}, {sum_}, #{shape.bits}", "vldrw.u32 %q.rest, [%numbers], #16")
            emit(f"vadd.i32 {sum_}, {sum_}, %q.rest", why="what a bias has beside whole products")
        emit("vldrw.u32 %q.factors, [%numbers], #16")
        if shape.fixed:
            emit_fixed(emit, shape.fixed, (sum_,), ("%q.factors",), "%q.sign")
            emit("vldrw.u32 %q.shifts, [%numbers], #16", f"vrshl.s32 {sum_}, {sum_}, %q.shifts")
            return
        emit(f"vcvt.f32.s32 {sum_}, {sum_}", f"vmul.f32 {sum_}, {sum_}, %q.factors")
        emit(f"vadd.f32 {sum_}, {sum_}, %zero_point" if shape.adds else f"vcvtn.s32.f32 {sum_}, {sum_}")

    def _store_floats(self, form: Floats) -> None:
        emit, sums = self.emit, self.sums
        for sum_ in sums:
            emit("vldrw.u32 %q.factors, [%numbers], #16", "vldrw.u32 %q.bias, [%numbers], #16")
            emit("vmul.f32 %q.factors, %q.factors, %scale", f"vcvt.f32.s32 {sum_}, {sum_}")
            emit(f"vmul.f32 {sum_}, {sum_}, %q.factors", f"vadd.f32 {sum_}, {sum_}, %q.bias")
        form.highest(emit, "%q.highest", "%bits")
        form.clamp(emit, sums, "%q.highest")
        whole = [f"vst4{part}.32 {{{', '.join(sums)}}}, [%y]{'!' * (part == 3)}" for part in range(4)]
        if not self.is_partial:
            emit(*whole)
            return
        if self.shape.blocks > 1:
            emit("subs %left, %left, #16", "blt %some", *whole, "b %stored")
            emit.label("some")
            emit("add %left, %left, #16")
        emit("movs %from, #0", "vidup.u32 %q.places, %from, #4", why="every fourth channel")
        for place, sum_ in enumerate(sums):
            emit(f"add %found, %left, #{3 - place}", "lsrs %found, %found, #2", "vctp.32 %found", why="those that there are")
            emit("vpst", f"vstrwt.32 {sum_}, [%y, %q.places, uxtw #2]", "adds %y, %y, #4")
        emit("adds %y, %y, #48")
        if self.shape.blocks > 1:
            emit.label("stored")
