# SPDX-License-Identifier: MIT
"""float32 softmax: rows of neighbouring values four values at a time, others four rows at a time."""

from __future__ import annotations

import dataclasses

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.node import kernel
from aidge_build.kernel_kit.softmax_float32 import SoftmaxFloat32, along_one_axis, over_several_axes

from ..assembly import Assembler, function
from ..conditions import MVE

SAVED = 36 + 16  # bytes of registers on the stack: an argument lies behind them
ROWS = "aidge_helium_softmax_rows_float32"
# As softmax.h has them: 1 / ln 2, - ln 2 in two parts, the polynomial. Last what a difference becomes that is below: e^x is a
# subnormal float there, which is 0 to the instructions of vectors.
NUMBERS = (1.44269504, -0.693359375, 2.12194440e-4, 8.31247773e-3, 4.18905504e-2, 1.66671157e-1, 4.99992281e-1, 1.0, -87.6)


@kernel("Softmax", along_one_axis(MVE))
class HeliumSoftmax(SoftmaxFloat32):
    function, source = "aidge_helium_softmax_float32", "float32/softmax.h"
    of_neighbours, of_others = "4 values", "4 rows"

    def call(self) -> Call:
        call = super().call()
        *_, outer, length, inner = call.arguments
        if inner != Literal(1):
            return call
        numbers = Constant("numbers", numpy.array(NUMBERS, numpy.float32))
        return dataclasses.replace(
            call, function=ROWS, arguments=(Input(0), Output(0), numbers, outer, length), texts=(_rows_text(),)
        )


@kernel("Softmax", over_several_axes(MVE))
class HeliumSoftmaxOfRows(HeliumSoftmax):
    """The same call; the spec differs."""


def _rows_text() -> str:
    emit = Assembler()
    emit("push {r4-r11, lr}", "vpush {d8-d9}", "ldm r2, {r4-r12}", "vdup.32 q4, r12")
    emit(f"ldr r2, [sp, #{SAVED}]", why="values of a row")
    emit.label(1)
    emit("push {r0, r1}", "ldr r12, [r0]", "wlstp.32 lr, r2, 3f", why="the largest value, from the first one on")
    emit.label(2)
    emit("vldrw.u32 q0, [r0], #16", "vmaxnmv.f32 r12, q0", "letp lr, 2b")
    emit.label(3)
    emit("ldr r0, [sp]", "vmov.i32 q3, #0", "wlstp.32 lr, r2, 5f")
    emit.label(4)
    emit("vldrw.u32 q0, [r0], #16", "vsub.f32 q0, q0, r12")
    emit("vmin.u32 q0, q0, q4", why="of magnitudes, which have all a sign but 0 and what is NaN")
    emit("vmul.f32 q1, q0, r4", "vcvtn.s32.f32 q1, q1", "vcvt.f32.s32 q2, q1", "vfma.f32 q0, q2, r5", "vfma.f32 q0, q2, r6")
    emit("vmul.f32 q2, q0, r7", "vadd.f32 q2, q2, r8", *(f"vfmas.f32 q2, q0, r{place}" for place in (9, 10, 11, 11)))
    emit("vshl.i32 q1, q1, #23", "vadd.i32 q2, q2, q1", why="times a power of two")
    emit("vadd.f32 q3, q3, q2", "vstrw.32 q2, [r1], #16", "letp lr, 4b")
    emit.label(5)
    emit("vadd.f32 s12, s12, s13", "vadd.f32 s14, s14, s15", "vadd.f32 s12, s12, s14")
    emit("vmov.f32 s13, #1.0", "vdiv.f32 s12, s13, s12", "vmov r12, s12", "vdup.32 q3, r12")
    emit("pop {r0, r1}", "mov r12, r1", "wlstp.32 lr, r2, 7f")
    emit.label(6)
    emit("vldrw.u32 q0, [r12]", "vmul.f32 q0, q0, q3", "vstrw.32 q0, [r12], #16", "letp lr, 6b")
    emit.label(7)
    emit("add r0, r0, r2, lsl #2", "add r1, r1, r2, lsl #2", "subs r3, #1", "bne 1b")
    emit("vpop {d8-d9}", "pop {r4-r11, pc}")
    return function(
        ROWS,
        "Softmax of rows of neighbouring float32 values. May work in place.",
        "const float *input, float *output, const float *numbers, int32_t rows, int32_t length",
        emit.lines,
        "    (void)numbers;\n    aidge_helium_softmax_rows_c(input, output, rows, length);",
    )
