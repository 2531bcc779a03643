# SPDX-License-Identifier: MIT
"""DynamicQuantizeLinear: the range of the data, then their levels, 16 values in a turn and what is left four at a time.

One function, in which range, scale and zero point stay in registers: of 50 values they cost as much as the levels.

Levels are those of a division, to the last bit, by two multiplications. With the reciprocal of the scale in two parts, r and t
x * r + (x * t) is, before its one rounding, within 3 * 2^-48 of x / s: the second part and its product
are rounded once each, the series of the reciprocal ends before the square of 2^-24. Rounding both to float32 may differ where the
middle m of two neighbouring floats lies between them, and to an integer only where one of the two is k + 1/2, k + 1/2 < 256:
its significand is a multiple of 2^15, so m is (2^16 * n + or - 1) * 2^e. With the significands S of s and X of x that quotient is
|2^j * X - (2^16 * n +- 1) * S| / (m * S) away from m, j >= 24, the divisor below 2^49: less than 3 * 2^-48 only where the
numerator, which is S or -S in its low 16 bits, is within 6. Scales whose low 16 bits are that close to 0 take divisions; 0
itself need not, for an m is no quotient of two floats, and the next such numerator is 2^16. Scales from 2^-59 to below 2^59 are
those where nothing on the way underflows but what is far below half a level.
"""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.dynamic import bits_of, end_name, is_above_0
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.assembly import Assembler, function
from ..core.conditions import MVE


@kernel(
    "DynamicQuantizeLinear",
    ImplSpec(inputs=(IOSpec(DType.float32, SAME),), outputs=(IOSpec(DType.uint8, SAME), IOSpec(DType.any)), features=MVE),
)
class DynamicQuantize(KernelNode):
    def call(self) -> Call:
        is_above, top = is_above_0(self.view), self.operator.maximum
        name = f"aidge_helium_dynamic_quantize{'_above_0' * is_above}{end_name(top)}"
        return Call(
            name,
            ("core/helium.h",),
            (Input(0), *map(Output, range(3)), Literal(self.inputs[0].elements)),
            "products as exact as divisions",
            (_text(name, is_above, top),),
            facts=computed("16 values"),
        )


LARGE = 0x4B400000  # the bits of 1.5 * 2^23: a float to which that is added is rounded to an integer, in its low 16 bits
STEPS = 0x437F0000  # the bits of 255
LEAST_SCALE, TOO_LARGE_A_SCALE = 0x22000000, 0x5D000000  # the bits of 2^-59 and 2^59
TOO_CLOSE = 6


def _text(name: str, is_above: bool, top: float) -> str:
    """If numbers below 0 count as 0, the zero point is 0, and no level above 255: the highest number is 255 scales, rounded.
    The level of a number beyond the end of a clamp is 255.

    r0, r1: numbers and levels; r2, r3: where the scale and the zero point go; r7: all numbers; r8: their count."""
    emit = Assembler()
    emit("push {r4-r8, lr}", "ldr r8, [sp, #24]", "mov r7, r0")
    _range(emit, is_above, top)
    _scale(emit)
    emit("vmov.f32 s2, #1.0", "vdiv.f32 s3, s2, s0", "vfms.f32 s2, s3, s0", "vmul.f32 s2, s2, s3", why="the reciprocal")
    emit("vmov r5, r4, s2, s3")
    _zero_point(emit, is_above)
    emit("strb r6, [r3]")
    _levels(emit, is_above, top < math.inf)
    emit("pop {r4-r8, pc}")
    emit.label(5)
    emit(f"cmp r12, #{TOO_CLOSE}", "beq 6b", why="16 bits of 0")
    emit.label(7)
    _divisions(emit, is_above)
    emit("pop {r4-r8, pc}")
    return function(
        name,
        "Levels of numbers" + (" above 0; their zero point is 0." if is_above else ", from their own range including 0."),
        "const float *input, uint8_t *output, float *scale, uint8_t *zero_point, int32_t count",
        emit.lines,
    )


def _turns(emit: Assembler, before: list[str], of_16: list[str], of_4: list[str]) -> None:
    """Turns of 16 values, with `before` ahead of them, while there are so many, then of 4; r12 and lr change."""
    emit("lsrs r12, r8, #4", "wls lr, r12, 2f", *before)
    emit.label(1)
    emit(*of_16, "le lr, 1b")
    emit.label(2)
    emit("ands r12, r8, #15", "wlstp.32 lr, r12, 4f")
    emit.label(3)
    emit(*of_4, "letp lr, 3b")
    emit.label(4)


def _range(emit: Assembler, is_above: bool, top: float) -> None:
    """s0: the range; s1: the lowest number, where it is not 0."""
    emit("movs r4, #0", "vdup.32 q2, r4")
    emit(*([] if is_above else ["mov r5, #0x80000000", "vdup.32 q1, r5"]))
    highest = ["vldrw.u32 q0, [r0], #16", "vmax.s32 q2, q2, q0"]  # floats of one sign have the order of integers
    turn = highest if is_above else [*highest, "vmax.u32 q1, q1, q0"]
    _turns(emit, [], 4 * turn, turn)
    emit("vmaxv.s32 r4, q2", "mov r0, r7")
    if top < math.inf:
        emit(f"movw r5, #{bits_of(top) & 0xFFFF}", f"movt r5, #{bits_of(top) >> 16}", "cmp r4, r5", "it gt", "movgt r4, r5")
    emit(*(["vmov s0, r4"] if is_above else ["vmaxv.u32 r5, q1", "vmov s0, s1, r4, r5", "vsub.f32 s0, s0, s1"]))


def _scale(emit: Assembler) -> None:
    """s0: the scale. To label 6 if products may replace divisions, to label 5 if that is not sure, else to label 7."""
    emit("movw r6, #0", f"movt r6, #{STEPS >> 16}", "vmov s2, r6", "vdiv.f32 s0, s0, s2", "vmov r6, s0", "str r6, [r2]")
    emit(f"sub r12, r6, #{LEAST_SCALE:#x}", f"cmp r12, #{TOO_LARGE_A_SCALE - LEAST_SCALE:#x}", "bhs 7f")
    emit(f"add r12, r6, #{TOO_CLOSE}", "uxth r12, r12", f"cmp r12, #{2 * TOO_CLOSE}", "bls 5f")
    emit.label(6)


def _zero_point(emit: Assembler, is_above: bool) -> None:
    """r6: the zero point; above 255 only where the scale is a denormal number."""
    if is_above:
        emit("movs r6, #0")
    else:
        emit("vneg.f32 s1, s1", "vdiv.f32 s1, s1, s0", "vcvtn.s32.f32 s1, s1", "vmov r6, s1")


def _quotient(numbers: str, quotient: str) -> list[str]:
    """Quotients of four numbers. r4, r5: the reciprocal of the scale."""
    return [f"vmul.f32 {quotient}, {numbers}, r5", f"vfma.f32 {quotient}, {numbers}, r4"]


def _levels(emit: Assembler, is_above: bool, is_limited: bool) -> None:
    """Without a sign, what is below 0 becomes 0; limited: what is beyond 255 that."""
    of_4 = ["vldrw.u32 q0, [r0], #16", *_quotient("q0", "q1"), f"vcvtn.{'u' if is_above else 's'}32.f32 q1, q1"]
    if is_above:
        of_4 += [*(["vmin.u32 q1, q1, q2"] if is_limited else []), "vstrb.32 q1, [r1], #4"]
        emit(*(["vmov.i32 q2, #255"] if is_limited else []))
        _turns(emit, [], 4 * of_4, of_4)
        return
    of_4 += ["vqadd.s32 q1, q1, r6", "vqmovunb.s32 q1, q1", "vqmovnb.u16 q1, q1", "vstrb.32 q1, [r1], #4"]
    of_16 = [f"vld4{part}.32 {{q0, q1, q2, q3}}, [r0]{'!' * (part == 3)}" for part in range(4)]
    for register in range(4):
        of_16 += [*_quotient(f"q{register}", "q4"), f"vadd.f32 q{register}, q4, r12"]
    of_16 += ["vmovnt.i32 q0, q2", "vmovnt.i32 q1, q3", "vqadd.s16 q0, q0, r6", "vqadd.s16 q1, q1, r6"]
    of_16 += ["vqmovunb.s16 q0, q0", "vqmovunt.s16 q0, q1", "vstrb.8 q0, [r1], #16"]
    emit("vpush {d8-d9}")
    _turns(emit, ["movw r12, #0", f"movt r12, #{LARGE >> 16}"], of_16, of_4)
    emit("vpop {d8-d9}")


def _divisions(emit: Assembler, is_above: bool) -> None:
    """The same one number at a time for any scale; 1 instead of 0."""
    emit("vmov.f32 s2, #1.0", "vcmp.f32 s0, #0.0", "vmrs APSR_nzcv, fpscr", "vselgt.f32 s0, s0, s2", "vstr s0, [r2]")
    _zero_point(emit, is_above)
    emit(*([] if is_above else ["usat r6, #8, r6"]), "strb r6, [r3]", "dls lr, r8")
    emit.label(1)
    emit("vldmia r0!, {s1}", "vdiv.f32 s1, s1, s0", "vcvtn.s32.f32 s1, s1", "vmov r4, s1")
    emit("qadd r4, r4, r6", "usat r4, #8, r4", "strb r4, [r1], #1", "le lr, 1b")
