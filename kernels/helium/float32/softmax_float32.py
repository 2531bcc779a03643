# SPDX-License-Identifier: MIT
"""float32 softmax: rows of neighbouring values four values at a time, others four rows at a time."""

from __future__ import annotations

import dataclasses

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.float_functions import EXPONENTIAL, REDUCTION, exponential_of_rounded, exponential_of_rows
from aidge_build.contract.kernel_kit.float_steps import VECTORS
from aidge_build.contract.kernel_kit.rows import softmax_specs
from aidge_build.contract.kernel_kit.softmax_float32 import SoftmaxFloat32
from aidge_build.contract.node import kernel
from aidge_build.graph.dtype import DType

from ..core.assembly import Assembler, function
from ..core.conditions import MVE

ROWS = "aidge_helium_softmax_rows_float32"
PARAMETERS = "const float *input, float *output, const float *numbers, int32_t rows, int32_t length"
# As softmax.h has them: 1 / ln 2, - ln 2 in two parts, the polynomial. Last what a difference becomes that is below: e^x is a
# subnormal float there, which is 0 to the instructions of vectors.
NUMBERS = (*REDUCTION, *EXPONENTIAL, -87.6)


@kernel("Softmax", softmax_specs(DType.float32, REAL, features=MVE))
class HeliumSoftmax(SoftmaxFloat32):
    function, source = "aidge_helium_softmax_float32", "float32/softmax.h"
    of_neighbours, of_others = "4 values", "4 rows"
    unit, lanes, exponentials = VECTORS, 4, (exponential_of_rows, exponential_of_rounded)

    def call(self) -> Call:
        call = super().call()
        *_, outer, length, inner = call.arguments
        if inner != Literal(1):
            return call
        arguments = Input(0), Output(0), Constant("numbers", numpy.array(NUMBERS, numpy.float32)), outer
        return dataclasses.replace(call, function=ROWS, arguments=(*arguments, length), texts=(_rows_text(),))


def _rows_text() -> str:
    powers = ("%inverse", "%high", "%low", *(f"%p{degree}" for degree in range(5, -1, -1)))
    emit = Assembler()
    emit("%enter")
    emit(f"ldm %numbers, {{{', '.join(powers)}, %least}}", "vdup.32 q4, %least", "ldr %length, [%argument.4]")
    emit.label("row")
    emit("ldr %largest, [%input]", "mov %from, %input", "wlstp.32 lr, %length, %known", why="the largest, from the first one on")
    emit.label("values")
    emit("vldrw.u32 q0, [%from], #16", "vmaxnmv.f32 %largest, q0", "letp lr, %values")
    emit.label("known")
    emit("vmov.i32 q3, #0", "mov %from, %input", "mov %to, %output", "wlstp.32 lr, %length, %added")
    emit.label("powers")
    emit("vldrw.u32 q0, [%from], #16", "vsub.f32 q0, q0, %largest")
    emit("vmin.u32 q0, q0, q4", why="of magnitudes, which have all a sign but 0 and what is NaN")
    _exponentials(emit, *powers)
    emit("vadd.f32 q3, q3, q2", "vstrw.32 q2, [%to], #16", "letp lr, %powers")
    emit.label("added")
    emit("vadd.f32 s12, s12, s13", "vadd.f32 s14, s14, s15", "vadd.f32 s12, s12, s14")
    emit("vmov.f32 s13, #1.0", "vdiv.f32 s12, s13, s12", "vmov %factor, s12")
    emit("mov %to, %output", "wlstp.32 lr, %length, %done")
    emit.label("quotients")
    emit("vldrw.u32 q0, [%to]", "vmul.f32 q0, q0, %factor", "vstrw.32 q0, [%to], #16", "letp lr, %quotients")
    emit.label("done")
    emit("add %input, %input, %length, lsl #2", "add %output, %output, %length, lsl #2", "subs %rows, %rows, #1", "bne %row")
    emit("%leave")
    purpose = "Softmax of rows of neighbouring float32 values. May work in place."
    return function(ROWS, purpose, PARAMETERS, emit.lines)


def _exponentials(emit: Assembler, inverse: str, high: str, low: str, *powers: str) -> None:
    """Replaces the values in q0 by their exponentials in q2: two raised to a whole number, times a polynomial of the rest."""
    emit(f"vmul.f32 q1, q0, {inverse}", "vcvtn.s32.f32 q1, q1", "vcvt.f32.s32 q2, q1")
    emit(f"vfma.f32 q0, q2, {high}", f"vfma.f32 q0, q2, {low}", f"vdup.32 q2, {powers[0]}")
    emit(*(f"vfmas.f32 q2, q0, {power}" for power in powers[1:]))
    emit("vshl.i32 q1, q1, #23", "vadd.i32 q2, q2, q1", why="times a power of two")
