# SPDX-License-Identifier: MIT
"""DynamicQuantizeLinear: the range of the data, then their levels, 16 values in a turn and what is left four at a time.

Levels are those of a division, to the last bit, by two multiplications. With the reciprocal of the scale in two parts, r and t
x * r + (x * t) is, before its one rounding, within 3 * 2^-48 of x / s: the second part and its product
are rounded once each, the series of the reciprocal ends before the square of 2^-24. Rounding both to float32 may differ where the
middle m of two neighbouring floats lies between them, and to an integer only where one of the two is k + 1/2, k + 1/2 < 256:
its significand is a multiple of 2^15, so m is (2^16 * n + or - 1) * 2^e. With the significands S of s and X of x that quotient is
|2^j * X - (2^16 * n +- 1) * S| / (m * S) away from m, j >= 24, the divisor below 2^49: less than 3 * 2^-48 only where the
numerator, which is S or -S in its low 16 bits, is within 6. Scales whose low 16 bits are that close to 0 take divisions; 0
itself need not, for an m is no quotient of two floats, and the next such numerator is 2^16.
"""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.dynamic import is_above_0

from ..assembly import Assembler, c_function, function
from ..conditions import MVE


@kernel(
    "DynamicQuantizeLinear",
    ImplSpec(inputs=(IOSpec(DType.float32, SAME),), outputs=(IOSpec(DType.uint8, SAME), IOSpec(DType.any)), features=MVE),
)
class DynamicQuantize(KernelNode):
    def call(self) -> Call:
        parameters = "const float *input, uint8_t *output, float *scale, uint8_t *zero_point, int32_t count"
        is_above = is_above_0(self.view)
        body = [
            "aidge_helium_measured found;",
            "float range[2];",
            f"aidge_helium_{_RANGES[is_above]}(input, range, count);",
            "if (aidge_helium_measure(range, &found) != 0) {",
            f"    aidge_helium_{_LEVELS[is_above]}(input, output, &found, count);",
            "} else {",
            "    aidge_helium_levels_c(input, output, &found, count);",
            "}",
            "*scale = found.scale;",
            "*zero_point = (uint8_t)found.zero_point;",
        ]
        name = "aidge_helium_dynamic_quantize" + "_above_0" * is_above
        return Call(
            name,
            ("float32/dynamic_quantize.h",),
            (Input(0), *map(Output, range(3)), Literal(self.inputs[0].elements)),
            "products as exact as divisions",
            (_range_text(is_above), _levels_text(is_above), c_function(name, parameters, body)),
            facts=computed("16 values"),
        )


_RANGES = ("range", "highest")
_LEVELS = ("levels", "levels_above_0")


LARGE = 0x4B400000  # the bits of 1.5 * 2^23: a float to which that is added is rounded to an integer, in its low 16 bits


def _turns(emit: Assembler, count: str, before: list[str], of_16: list[str], of_4: list[str]) -> None:
    """Turns of 16 values, with `before` ahead of them, while there are so many, then of 4; `count`, r12 and lr change."""
    emit(f"lsrs r12, {count}, #4", "wls lr, r12, 2f", *before)
    emit.label(1)
    emit(*of_16, "le lr, 1b")
    emit.label(2)
    emit(f"ands {count}, {count}, #15", f"wlstp.32 lr, {count}, 4f")
    emit.label(3)
    emit(*of_4, "letp lr, 3b")
    emit.label(4)


def _range_text(is_above: bool) -> str:
    emit = Assembler()
    emit("push {r4, lr}", "mov r4, #0x80000000", "movs r3, #0", "vdup.32 q2, r3", why="- 0 and 0")
    emit(*([] if is_above else ["vdup.32 q1, r4"]))
    highest = ["vldrw.u32 q0, [r0], #16", "vmax.s32 q2, q2, q0"]  # floats of one sign have the order of integers
    turn = highest if is_above else [*highest, "vmax.u32 q1, q1, q0"]
    _turns(emit, "r2", [], 4 * turn, turn)
    emit(*([] if is_above else ["vmaxv.u32 r4, q1"]), "vmaxv.s32 r3, q2", "strd r4, r3, [r1]", "pop {r4, pc}")
    plain = "    aidge_helium_range_c(x, range, count);"
    purpose = "- 0 and the highest of numbers above 0." if is_above else "The lowest and the highest of the numbers and 0."
    return function(
        f"aidge_helium_{_RANGES[is_above]}", purpose, "const float *x, float *range, int32_t count", emit.lines, plain
    )


def _quotient(numbers: str, quotient: str) -> list[str]:
    """Quotients of four numbers. r4, r5: the reciprocal of the scale."""
    return [f"vmul.f32 {quotient}, {numbers}, r5", f"vfma.f32 {quotient}, {numbers}, r4"]


def _levels_text(is_above: bool) -> str:
    """Where no number is below 0, the zero point is 0 and no level above 255: the highest number is 255 scales, rounded."""
    emit = Assembler()
    emit("push {r4-r6, lr}", "vpush {d8-d9}", "ldrd r4, r5, [r2, #4]", "ldr r6, [r2, #12]", why="reciprocal, zero point")
    of_16 = [f"vld4{part}.32 {{q0, q1, q2, q3}}, [r0]{'!' * (part == 3)}" for part in range(4)]
    for register in range(4):
        of_16 += [*_quotient(f"q{register}", "q4"), f"vadd.f32 q{register}, q4, r12"]
    of_16 += ["vmovnt.i32 q0, q2", "vmovnt.i32 q1, q3"]
    of_4 = ["vldrw.u32 q0, [r0], #16", *_quotient("q0", "q1"), "vcvtn.s32.f32 q1, q1"]
    if is_above:
        of_16 += ["vmovnt.i16 q0, q1"]
    else:
        of_16 += ["vqadd.s16 q0, q0, r6", "vqadd.s16 q1, q1, r6", "vqmovunb.s16 q0, q0", "vqmovunt.s16 q0, q1"]
        of_4 += ["vqadd.s32 q1, q1, r6", "vqmovunb.s32 q1, q1", "vqmovnb.u16 q1, q1"]
    large = ["movw r12, #0", f"movt r12, #{LARGE >> 16}"]
    _turns(emit, "r3", large, [*of_16, "vstrb.8 q0, [r1], #16"], [*of_4, "vstrb.32 q1, [r1], #4"])
    emit("vpop {d8-d9}", "pop {r4-r6, pc}")
    return function(
        f"aidge_helium_{_LEVELS[is_above]}",
        "Levels of a run-time scale" + ("; the zero point is 0." if is_above else " and zero point."),
        "const float *x, uint8_t *y, const aidge_helium_measured *numbers, int32_t count",
        emit.lines,
        "    aidge_helium_levels_c(x, y, numbers, count);",
    )
