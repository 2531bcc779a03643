# SPDX-License-Identifier: MIT
"""Depthwise convolution with the channels in the lanes: 16 channels of one pixel at a time, any window.

Products of two taps fit 16 bits together and are widened at once; four registers hold the sums of 16 channels. Where weights are
no bytes, or data have a zero point of run time, both are halfwords, whose products have 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from ..core import floats
from ..core.assembly import BYTE_REACH, SAVED_BYTES, Access, Assembler, function, walk
from ..core.floats import FloatNumbers, Floats
from ..core.geometry import Geometry
from ..core.rounding import Fixed, emit_fixed, emit_levels_of_8, multiplier_words, shift_words, zero_point_word

LANES = 16
HEAD_BYTES = 16  # of a stream: input zero point, zero point, lowest, highest
POINTERS = ("r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12")
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
        """Of one image, nearly."""
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
    """Prints one depthwise convolution. r0: stream, r1: output, r2: zero point, then pointers; q0 to q3: sums."""

    def __init__(self, shape: Depthwise):
        self.shape, self.emit = shape, Assembler()
        self.taps = [(row, tap) for row in range(shape.rows) for tap in range(shape.taps)]
        registers = list(POINTERS)
        self.left = registers.pop() if shape.channels % LANES else ""
        self.low, self.high = (registers.pop(), registers.pop()) if shape.clamps else ("", "")
        self.pointers = registers
        choices = [[row for row, _ in self.taps]]
        if len(self.taps) <= len(registers):
            choices.append(list(range(len(self.taps))))
        self.pointer_of = min(choices, key=lambda choice: (self._extra(choice), len(set(choice))))
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
            accesses, end = walk(self.pointers[pointer], home, offsets, BYTE_REACH, LANES)
            found.update(zip(positions, accesses))
            ends.append(end)
        return [found[position] for position in range(len(choice))], ends

    def lines(self):
        shape, emit = self.shape, self.emit
        stack = 16 if shape.floats else 8
        emit.enter(stack)
        emit("str r3, [sp, #4]", why="pixels that are left")
        if shape.floats:
            emit(f"ldr r3, [sp, #{SAVED_BYTES + stack}]", "ldrd r3, r4, [r3]", "strd r3, r4, [sp, #8]", why="- zero point, scale")
        emit.add("r3", "r2", HEAD_BYTES)
        emit("str r3, [sp]", why="the first block's numbers")
        if shape.clamps:
            emit(f"ldrd {self.low}, {self.high}, [r2, #8]")
        emit("ldr r2, [r2, #4]", why="zero point")
        for pointer in range(len(self.ends)):
            row, tap = self.taps[self.pointer_of.index(pointer)]
            emit(f"ldr {self.pointers[pointer]}, [r0, #{4 * row}]")
            emit.add(self.pointers[pointer], self.pointers[pointer], tap * shape.tap_step)
        emit.label(1)
        emit("ldr r0, [sp]", why="a pixel")
        if self.left:
            emit(f"movw {self.left}, #{shape.channels}", why="channels that are left")
        emit(f"movw lr, #{shape.blocks}", "dls lr, lr")
        emit.label(2)
        for register in range(4):
            emit(f"vldrw.u32 q{register}, [r0], #16", why="biases of 16 channels" if register == 0 else "")
        if shape.floats:
            emit(
                "ldr r2, [sp, #8]", *(f"vmul.i32 q{register}, q{register}, r2" for register in range(4)), why="or sums of weights"
            )
        if shape.wide:
            for position in range(len(self.taps)):
                self._halfwords(position)
        else:
            for first in range(0, len(self.taps) - 1, 2):
                self._pair(first)
            if len(self.taps) % 2:
                self._products(len(self.taps) - 1)
                self._widen()
        for pointer, end in enumerate(self.ends):
            emit.add(self.pointers[pointer], self.pointers[pointer], end)
        if shape.floats:
            self._store_floats(shape.floats)
        else:
            self._store()
        emit("le lr, 2b")
        for pointer in range(len(self.ends)):
            emit.add(self.pointers[pointer], self.pointers[pointer], self.advance)
        emit.add("r1", "r1", (shape.channels - LANES * shape.blocks) * (4 if shape.floats else 1))
        emit("ldr r0, [sp, #4]", "subs r0, #1", "str r0, [sp, #4]", "bne 1b")
        emit.leave(stack)
        return emit.lines

    def _load(self, position: int, register: str) -> None:
        access, pointer = self.accesses[position], self.pointers[self.pointer_of[position]]
        if access.before:
            self.emit.add(pointer, pointer, access.before)
        self.emit(f"vldrb.u8 {register}, {access.address}")

    def _halfwords(self, position: int) -> None:
        """One tap: q5: weights, q6: data, of the even channels, then of the odd ones."""
        emit, sign = self.emit, self.shape.floats.letter if self.shape.floats else "s"
        self._load(position, "q4")
        sums = (("q0", "q2"), ("q1", "q3")) if self.shape.floats else (("q0", "q1"), ("q2", "q3"))
        for half, (even, odd) in zip("bt", sums):
            emit("vldrh.u16 q5, [r0], #16", f"vmovl{half}.{sign}8 q6, q4", "vmullb.s16 q7, q6, q5", "vmullt.s16 q6, q6, q5")
            emit(f"vadd.i32 {even}, {even}, q7", f"vadd.i32 {odd}, {odd}, q6")

    def _products(self, position: int) -> None:
        """q6: products of the even channels, q4: of the odd ones."""
        self._load(position, "q4")
        self.emit("vldrw.u32 q5, [r0], #16", "vmullb.s8 q6, q4, q5", "vmullt.s8 q4, q4, q5")

    def _pair(self, first: int) -> None:
        """Two taps: their products are added in 16 bits (the generator has made sure that they fit)."""
        self._products(first)
        self._load(first + 1, "q5")
        self.emit("vldrw.u32 q7, [r0]", "vmullb.s8 q7, q5, q7", "vadd.i16 q6, q6, q7")
        self.emit("vldrw.u32 q7, [r0], #16", why="again: there is no further register")
        self.emit("vmullt.s8 q5, q5, q7", "vadd.i16 q4, q4, q5")
        self._widen()

    def _widen(self) -> None:
        self.emit(
            "vmovlb.s16 q5, q6",
            "vmovlt.s16 q6, q6",
            "vadd.i32 q0, q0, q5",
            "vadd.i32 q1, q1, q6",
            "vmovlb.s16 q5, q4",
            "vmovlt.s16 q4, q4",
            "vadd.i32 q2, q2, q5",
            "vadd.i32 q3, q3, q4",
        )

    def _store(self) -> None:
        emit = self.emit
        for register in range(4):
            if self.shape.bits:
                emit(f"vshl.i32 q{register}, q{register}, #{self.shape.bits}", f"vldrw.u32 q{4 + register}, [r0], #16")
                emit(f"vadd.i32 q{register}, q{register}, q{4 + register}", why="what a bias has beside whole products")
            if self.shape.fixed:
                emit(f"vldrw.u32 q{4 + register}, [r0], #16")
                emit_fixed(emit, self.shape.fixed, (f"q{register}",), (f"q{4 + register}",), f"q{4 + register}")
                emit(f"vldrw.u32 q{4 + register}, [r0], #16", f"vrshl.s32 q{register}, q{register}, q{4 + register}")
                continue
            emit(
                f"vldrw.u32 q{4 + register}, [r0], #16",
                f"vcvt.f32.s32 q{register}, q{register}",
                f"vmul.f32 q{register}, q{register}, q{4 + register}",
                f"vadd.f32 q{register}, q{register}, r2" if self.shape.adds else f"vcvtn.s32.f32 q{register}, q{register}",
            )
        if self.shape.adds:
            emit("vmovnt.i32 q0, q1", "vmovnt.i32 q2, q3", "vqmovnb.s16 q4, q0", "vqmovnt.s16 q4, q2")
        elif self.shape.fixed:
            emit_levels_of_8(emit, self.shape.fixed, "q0", "q1", "q4", "r2")
            emit_levels_of_8(emit, self.shape.fixed, "q2", "q3", "q5", "r2")
            emit("vqmovnb.s16 q4, q4", "vqmovnt.s16 q4, q5")
        else:
            emit("vqmovnb.s32 q4, q0", "vqmovnt.s32 q4, q1", "vqmovnb.s32 q5, q2", "vqmovnt.s32 q5, q3")
            emit("vqadd.s16 q4, q4, r2", "vqadd.s16 q5, q5, r2", "vqmovnb.s16 q4, q4", "vqmovnt.s16 q4, q5")
        if self.shape.clamps:
            emit(f"vdup.8 q5, {self.low}", "vmax.s8 q4, q4, q5", f"vdup.8 q5, {self.high}", "vmin.s8 q4, q4, q5")
        if self.left:
            emit(f"vctp.8 {self.left}", f"subs {self.left}, #16", "vpst", "vstrbt.8 q4, [r1], #16")
        else:
            emit("vstrb.8 q4, [r1], #16")

    def _store_floats(self, form: Floats) -> None:
        emit, sums = self.emit, ("q0", "q1", "q2", "q3")
        emit("ldr r2, [sp, #12]", why="scale")
        for register in sums:
            emit(
                "vldrw.u32 q4, [r0], #16",
                "vldrw.u32 q5, [r0], #16",
                "vmul.f32 q4, q4, r2",
                f"vcvt.f32.s32 {register}, {register}",
            )
            emit(f"vmul.f32 {register}, {register}, q4", f"vadd.f32 {register}, {register}, q5")
        form.highest(emit, "q4", "r2")
        form.clamp(emit, sums, "q4")
        whole = [f"vst4{part}.32 {{q0, q1, q2, q3}}, [r1]{'!' * (part == 3)}" for part in range(4)]
        if not self.left:
            emit(*whole)
            return
        if self.shape.blocks > 1:
            emit(f"subs {self.left}, #16", "blt 4f", *whole, "b 5f")
            emit.label(4)
            emit(f"add {self.left}, #16")
        emit("movs r2, #0", "vidup.u32 q4, r2, #4", why="every fourth channel")
        for place, register in enumerate(sums):
            emit(f"add r2, {self.left}, #{3 - place}", "lsrs r2, r2, #2", "vctp.32 r2", why="those that there are")
            emit("vpst", f"vstrwt.32 {register}, [r1, q4, uxtw #2]", "adds r1, #4")
        emit("adds r1, #48")
        if self.shape.blocks > 1:
            emit.label(5)
