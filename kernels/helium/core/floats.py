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
# Parts of a function that runs a layer: its first lines, the value of pads, the arguments that it passes on.
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
    """The conversion of sums: `bounds` are none, 0 and none, or 0 and a number. `signed`: data are int8. `prepared`: numbers of
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
        """The letter of the instructions that read data."""
        return "s" if self.signed else "u"

    @property
    def missing(self) -> int:
        """The amount by which stored weights are larger."""
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
    """For each output the offset of its weights and their sum, int64; factor and bias, float32."""

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
        """The numbers of a pair of channels, and the bytes to the next pair."""
        numbers = numpy.concatenate([self.offsets[list(pair)], self.sums[list(pair)]]).astype("<i4").tobytes()
        factors = numpy.concatenate([self.factors[list(pair)], self.bias[list(pair)]]).astype("<f4").tobytes()
        return numbers + factors + numpy.array([step], "<i4").tobytes()


def emit_floats(emit: Assembler, form: Floats) -> None:
    """The sums of two channels become float32, not yet clamped."""
    sums, factors, bias = ("%sum_a", "%sum_b"), ("%factor_a", "%factor_b"), ("%bias_a", "%bias_b")
    words = ("%offset_a", "%offset_b", *sums, *factors, *bias)
    emit(f"ldm %numbers!, {{{', '.join(words)}}}", why="offsets, sums of the weights, factors, biases")
    emit("vmla.s32 %q.a, %q.windows, %offset_a", "vmla.s32 %q.b, %q.windows, %offset_b")
    if form.prepared:
        emit(f"ldm %prepared!, {{{', '.join((*sums, *factors))}}}")
    else:
        emit("ldr %given, [%argument.4]", "ldrd %zero_point, %scale, [%given]", why="- zero point, scale")
        emit(*(f"mul {sum_}, {sum_}, %zero_point" for sum_ in sums))
        emit("begin %q.factors", "vmov %q.factors[2], %q.factors[0], %factor_a, %factor_b")
        emit("vmul.f32 %q.factors, %q.factors, %scale", "vmov %factor_a, %factor_b, %q.factors[2], %q.factors[0]")
    for vector, sum_, factor, number in zip(("%q.a", "%q.b"), sums, factors, bias):
        emit(f"vadd.i32 {vector}, {vector}, {sum_}", f"vcvt.f32.s32 {vector}, {vector}", f"vmul.f32 {vector}, {vector}, {factor}")
        emit(f"vadd.f32 {vector}, {vector}, {number}")


def emit_stores(emit: Assembler, is_whole: bool) -> None:
    """Stores both vectors, all lanes or those that the predicate has. The output moves on to the next pair. Leaves the flags of
    "there is another pair"."""
    emit("ldr %step, [%numbers], #4", "adds %next, %y, #4", why="how far the next pair lies")
    if is_whole:
        emit("vstrw.32 %q.a, [%y, %q.places]", "vstrw.32 %q.b, [%next, %q.places]")
    else:
        emit("vpstt", "vstrwt.32 %q.a, [%y, %q.places]", "vstrwt.32 %q.b, [%next, %q.places]")
    emit("add %y, %y, %step", "cmp %step, #0")
