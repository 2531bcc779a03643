# SPDX-License-Identifier: MIT
"""Products of bytes whose zero point and scale are given beside them, at run time mostly, scaled to float32.

Beside unsigned data weights are stored + 128, so that both factors are unsigned; what they lack, the zero points of the weights
with it, is an offset (finer.py). From each sum the zero point of the data times the sum of the weights goes.

That, and the factor times the scale, is prepared in scratch before a layer of many pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.dynamic import bias_of, bits_of
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.dynamic import FACTORS

from .assembly import Assembler
from .finer import offsets_of

UNSIGNED = 128
PARAMETERS = ", const aidge_helium_data *data"
# Of a function that runs a layer: its first lines, what pads hold, what it hands on.
BEGIN = (
    "const int8_t *x = (const int8_t *)input;",
    "const aidge_helium_data measured = {-(int32_t)zero_point[0], scale[0]};",
    "const aidge_helium_data *const data = &measured;",
)
PAD, FURTHER = "(int8_t)zero_point[0]", ", data"
PREPARED = ", const int32_t *prepared"
PREPARED_BYTES = 16  # of a pair of channels


@dataclass(frozen=True)
class Floats:
    """What sums become: `bounds` are none, 0 and none, or 0 and a number. `signed`: those of int8 data. `prepared`: numbers of
    pairs of channels that depend on the data are in scratch."""

    bounds: tuple[float, float]
    signed: bool = False
    prepared: bool = False

    @property
    def name(self) -> str:
        """The part of a function's name that says so."""
        lowest, highest = self.bounds
        clamp = f"_to_{self.highest_bits:x}" if highest < math.inf else "_relu" if lowest == 0 else ""
        return clamp + "_signed" * self.signed + "_prepared" * self.prepared

    @property
    def further(self) -> str:
        """The last parameter of a function that computes a block."""
        return PREPARED if self.prepared else PARAMETERS

    @property
    def letter(self) -> str:
        """Of the instructions that read data."""
        return "s" if self.signed else "u"

    @property
    def missing(self) -> int:
        """What stored weights have more."""
        return 0 if self.signed else UNSIGNED

    @property
    def of_driver(self) -> str:
        """The parameters of a function that runs a layer."""
        data = f"const {'' if self.signed else 'u'}int8_t *"
        return f"{data}input, {data}zero_point, const float *scale, float *y, const int8_t *stream"

    @property
    def highest_bits(self) -> int:
        """The pattern of a float32; 0 without a highest number."""
        return bits_of(self.bounds[1]) if self.bounds[1] < math.inf else 0

    def clamp(self, emit: Assembler, registers: Sequence[str], highest: str, place: str = "") -> None:
        """As integers, in whose order floats above 0 are; `highest`: the register for the highest number, which has it already
        or finds it at `place`."""
        if self.bounds[0] == 0:
            emit(*(f"vqshlu.s32 {register}, {register}, #0" for register in registers), why="0 where the sign is set")
        if self.highest_bits:
            emit(*([f"vldrw.u32 {highest}, {place}"] if place else []))
            emit(*(f"vmin.s32 {register}, {register}, {highest}" for register in registers))

    def highest(self, emit: Assembler, vector: str, number: str) -> None:
        """The highest number, if there is one, into all lanes of `vector`; `number` is a spare register."""
        if not self.highest_bits:
            return
        emit(f"movw {number}, #{self.highest_bits & 0xFFFF}", f"movt {number}, #{self.highest_bits >> 16}")
        emit(f"vdup.32 {vector}, {number}")


@dataclass(frozen=True, eq=False)
class FloatNumbers:
    """Of each output: what its weights lack and their sum, int64; factor and bias, float32."""

    offsets: numpy.ndarray
    sums: numpy.ndarray
    factors: numpy.ndarray
    bias: numpy.ndarray

    @classmethod
    def of(cls, inputs: Sequence[Tensor | None], weights: numpy.ndarray, missing: int) -> FloatNumbers:
        """`weights` [outputs, ...], as they are multiplied with centred data; `missing`: as of `Floats`."""
        sums = weights.reshape(len(weights), -1).astype(numpy.int64).sum(axis=1)
        return cls(offsets_of(weights) - missing, sums, inputs[FACTORS].data, bias_of(inputs))

    def part(self, outputs: slice) -> FloatNumbers:
        """Those of some outputs."""
        return FloatNumbers(self.offsets[outputs], self.sums[outputs], self.factors[outputs], self.bias[outputs])

    def words(self, pair: Sequence[int], step: int) -> bytes:
        """Of a pair of channels, and how many bytes further the next pair is stored."""
        numbers = numpy.concatenate([self.offsets[list(pair)], self.sums[list(pair)]]).astype("<i4").tobytes()
        factors = numpy.concatenate([self.factors[list(pair)], self.bias[list(pair)]]).astype("<f4").tobytes()
        return numbers + factors + numpy.array([step], "<i4").tobytes()


def emit_floats(emit: Assembler, form: Floats, numbers: str) -> None:
    """The sums of two channels in q0 and q1 become float32, not yet clamped; even registers change. `numbers`: where the stack
    has the address of what is known of the data, or, as a register or there, the address of what is prepared; q6: the
    sums of the windows."""
    emit("ldm r3!, {r0, r2, r4, r6, r8, r10, r12, lr}", why="offsets, sums of the weights, factors, biases")
    emit("vmla.s32 q0, q6, r0", "vmla.s32 q1, q6, r2")
    if not form.prepared:
        emit(f"ldr r0, {numbers}", "ldrd r0, r2, [r0]", "mul r4, r4, r0", "mul r6, r6, r0", why="- zero point, scale")
        emit("vmov s8, s9, r8, r10", "vmov s10, r2", "vmul.f32 s8, s8, s10", "vmul.f32 s9, s9, s10", "vmov r8, r10, s8, s9")
    elif numbers.startswith("r"):
        emit(f"ldm {numbers}!, {{r4, r6, r8, r10}}", why="what is prepared")
    else:
        emit(f"ldr r10, {numbers}", f"ldrd r4, r6, [r10], #{PREPARED_BYTES}", f"str r10, {numbers}", "ldrd r8, r10, [r10, #-8]")
    emit("vadd.i32 q0, q0, r4", "vadd.i32 q1, q1, r6")
    emit("vcvt.f32.s32 q0, q0", "vcvt.f32.s32 q1, q1", "vmul.f32 q0, q0, r8", "vmul.f32 q1, q1, r10")
    emit("vadd.f32 q0, q0, r12", "vadd.f32 q1, q1, lr")


def emit_stores(emit: Assembler, is_whole: bool) -> None:
    """q0 and q1 to where r5 and q7 say, all lanes or those that the predicate has; r5 moves on to the next pair. Leaves the flags
    of "there is another pair"."""
    emit("ldr r8, [r3], #4", "adds r0, r5, #4", why="how far the next pair lies")
    emit(
        *(
            ["vstrw.32 q0, [r5, q7]", "vstrw.32 q1, [r0, q7]"]
            if is_whole
            else ["vpstt", "vstrwt.32 q0, [r5, q7]", "vstrwt.32 q1, [r0, q7]"]
        )
    )
    emit("add r5, r8", "cmp r8, #0")
