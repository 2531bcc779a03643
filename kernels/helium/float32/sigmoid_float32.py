# SPDX-License-Identifier: MIT
"""float32 Sigmoid: 1 / (1 + e) or e / (1 + e) with e the exponential of -|x|, four values at a time.

As exact far below 0 as elsewhere, which the curve of curve.py is not; operations and numbers are those of
kit/functions_float32.h.
"""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.float_functions import (
    EXACT_EXPONENTIAL,
    REDUCTION,
    FunctionSteps,
    logistic_of_rounded,
)
from aidge_build.contract.kernel_kit.float_steps import VECTORS
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.assembly import Assembler, function
from ..core.conditions import MVE

# 1 / ln 2; ln 2 in two parts, negative; the polynomial but for its last two coefficients, 1; from which size on e is 0.
NUMBERS = (*REDUCTION, *EXACT_EXPONENTIAL, 87.0)
ONE = 0x3F800000
NAME = "aidge_helium_sigmoid_float32"
FLOAT = IOSpec(DType.float32, SAME)


@kernel("Sigmoid", ImplSpec(FLOAT, features=MVE, predicates=(REAL,)))
class SigmoidFloat32(ElementWise):
    def call(self) -> Call:
        return Call(
            NAME,
            ("core/helium.h",),
            (
                Input(0),
                Output(0),
                Constant("numbers", numpy.array(NUMBERS, numpy.float32)),
                Literal(self.outputs[0].elements),
            ),
            texts=(_text(),),
            facts=computed("4 values"),
            steps=FunctionSteps(VECTORS, logistic_of_rounded),
        )


def _text() -> str:
    emit = Assembler()
    emit("push {r4-r11, lr}", "vpush {d8-d15}", "ldm r2, {r4-r11}", f"mov r12, #{ONE:#x}", "vdup.32 q6, r12")
    emit("wlstp.32 lr, r3, 2f", "ldr r3, [r2, #32]")
    emit.label(1)
    emit("vldrw.u32 q0, [r0], #16", "vabs.f32 q1, q0", "vneg.f32 q5, q1")
    emit("vmul.f32 q2, q5, r4", "vcvtn.s32.f32 q2, q2", "vcvt.f32.s32 q3, q2", why="e^x = 2^n e^r")
    emit("vfma.f32 q5, q3, r5", "vfma.f32 q5, q3, r6", "vdup.32 q4, r7")
    emit(*(f"vfmas.f32 q4, q5, {number}" for number in ("r8", "r9", "r10", "r11")))
    emit("vmul.f32 q3, q5, q5", "vfma.f32 q5, q3, q4", "vadd.f32 q4, q5, r12")
    emit("vshl.i32 q2, q2, #23", "vadd.i32 q4, q4, q2", "vpt.f32 gt, q1, r3", "vmovt.i32 q4, #0")
    emit("vadd.f32 q5, q4, r12", "vsub.f32 q3, q5, r12", "vsub.f32 q3, q3, q4", why="what 1 + e loses")
    emit("vpt.f32 ge, q0, zr", "vmovt q4, q6", *(f"vdiv.f32 s{16 + lane}, s{16 + lane}, s{20 + lane}" for lane in range(4)))
    emit("vfma.f32 q4, q4, q3", "vstrw.32 q4, [r1], #16", "letp lr, 1b")
    emit.label(2)
    emit("vpop {d8-d15}", "pop {r4-r11, pc}")
    return function(
        NAME,
        "1 / (1 + e^-x). May work in place.",
        "const float *x, float *y, const float *numbers, int32_t count",
        emit.lines,
    )
