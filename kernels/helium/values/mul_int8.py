# SPDX-License-Identifier: MIT
"""int8 products, 8 values at a time, requantized in float32."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.rows_int8 import PROVED_PRODUCT, SMALL_FACTOR, ProductInt8
from aidge_build.contract.node import kernel
from aidge_build.graph.dtype import DType
from aidge_build.operators.double.products import product_factor

from ..core.assembly import Assembler, function
from ..core.repeats import RepeatsInt8, repeats_specs
from ..core.rounding import Fixed, emit_fixed

PARAMETERS = "const int8_t *a, const int8_t *b, int8_t *y, const int32_t *numbers, int32_t count"
ROUNDS_TWICE = Fixed(once=False, has_below=True, is_short=True)


class _ByFactor(RepeatsInt8, ProductInt8):
    """Base: a subclass knows the words of its factor."""

    function: ClassVar[str]
    note: ClassVar[str]

    def factor(self) -> tuple[int, ...]:
        raise NotImplementedError

    def call(self) -> Call:
        low, high, zero_point = self.bounds()
        first, second = (tensor.quantization.zero_point for tensor in self.inputs)
        multiplier, *shift = self.factor()
        clamps = (low, high) != DType.int8.range
        name = f"{self.function}{'_clamped' * clamps}"
        numbers = Constant("numbers", numpy.array([-first, -second, zero_point, multiplier, low, high, *shift], numpy.int32))
        text = _text(name, clamps, is_fixed=bool(shift))
        return self.by_rows(name, "core/helium.h", numbers, text, note=self.note, facts=computed("8 values"))


@kernel("Mul", repeats_specs(PROVED_PRODUCT))
class MulInt8(_ByFactor):
    function, note = "aidge_helium_mul_int8", "float32 proved equal on all 65,536 pairs of values"

    def factor(self) -> tuple[int, ...]:
        return (int(numpy.array([self.multiplier()], numpy.float32).view(numpy.int32)[0]),)


@kernel("Mul", repeats_specs(SMALL_FACTOR, rounding="double"))
class MulFixedInt8(_ByFactor):
    """By a fixed-point factor that rounds twice."""

    function, note = "aidge_helium_mul_fixed_int8", "fixed point that rounds twice"

    def factor(self) -> tuple[int, ...]:
        return product_factor(self.inputs, self.outputs[0])


def _text(name: str, clamps: bool, is_fixed: bool) -> str:
    emit = Assembler()
    emit("push {r4-r9, lr}", *(["vpush {d8-d11}"] if clamps else []))
    emit("ldm r3, {r4-r9}", why="zero points, multiplier, lowest and highest")
    emit(*(["ldr r12, [r3, #24]"] if is_fixed else []), f"ldr r3, [sp, #{28 + 32 * clamps}]", why="count")
    if clamps:
        emit("vdup.8 q4, r8", "vdup.8 q5, r9")
    emit("lsrs r8, r3, #3", "wls lr, r8, 2f")
    emit.label(1)
    _eight(emit, "", clamps, is_fixed)
    emit("le lr, 1b")
    emit.label(2)
    emit("ands r3, r3, #7", "beq 3f", "vctp.16 r3", why="the values left over")
    _eight(emit, "t", clamps, is_fixed)
    emit.label(3)
    emit(*(["vpop {d8-d11}"] if clamps else []), "pop {r4-r9, pc}")
    what = f"Products of int8 values, requantized {'by a fixed-point factor' if is_fixed else 'in float32'}."
    return function(name, what, PARAMETERS, emit.lines)


def _eight(emit: Assembler, then: str, clamps: bool, is_fixed: bool) -> None:
    """8 values; with `then` only those of the predicate are read and written, and what becomes of the others is no matter."""
    if then:
        emit("vpstt")
    emit(f"vldrb{then}.s16 q0, [r0], #8", f"vldrb{then}.s16 q1, [r1], #8")
    emit(
        "vadd.i16 q0, q0, r4",
        "vadd.i16 q1, q1, r5",
        "vmullb.s16 q2, q0, q1",
        "vmullt.s16 q3, q0, q1",
        why="products of both zero-centred values",
    )
    if is_fixed:
        emit_fixed(emit, ROUNDS_TWICE, ("q2", "q3"), ("r7", "r7"), "r8")
        emit("vrshl.s32 q2, r12", "vrshl.s32 q3, r12")
    for step in () if is_fixed else ("vcvt.f32.s32 q{0}, q{0}", "vmul.f32 q{0}, q{0}, r7", "vcvtn.s32.f32 q{0}, q{0}"):
        emit(step.format(2), step.format(3))
    emit("vqmovnb.s32 q0, q2", "vqmovnt.s32 q0, q3", "vqadd.s16 q0, q0, r6", "vqmovnb.s16 q0, q0")
    if clamps:
        emit("vmax.s8 q0, q0, q4", "vmin.s8 q0, q0, q5")
    if then:
        emit("vpst")
    emit(f"vstrb{then}.16 q0, [r2], #8")
