# SPDX-License-Identifier: MIT
"""float32 softmax: rows of neighbouring values four values at a time, others four rows at a time."""

from __future__ import annotations

import dataclasses

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.softmax_float32 import SoftmaxFloat32, along_one_axis, over_several_axes
from aidge_build.contract.node import kernel

from ..assembly import Assembler, function
from ..conditions import MVE

LONGEST_IN_REGISTERS = 8  # values of a row: two vectors, so no register of the caller's
SAVED = 36 + 16  # bytes of registers on the stack: an argument lies behind them
ROWS = "aidge_helium_softmax_rows_float32"
PARAMETERS = "const float *input, float *output, const float *numbers, int32_t rows"
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
        arguments = Input(0), Output(0), Constant("numbers", numpy.array(NUMBERS, numpy.float32)), outer
        if length.value > LONGEST_IN_REGISTERS:
            return dataclasses.replace(call, function=ROWS, arguments=(*arguments, length), texts=(_rows_text(),))
        name = f"{ROWS}_{length.value}{'x1' if outer.value == 1 else ''}"
        text = _short_rows_text(name, length.value, outer.value == 1)
        return dataclasses.replace(call, function=name, arguments=arguments, texts=(text,))


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
    _exponentials(emit, "q0", "q1", "q2")
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
    return _function(ROWS, "rows of", f"{PARAMETERS}, int32_t length", emit, "length")


def _short_rows_text(name: str, length: int, is_alone: bool) -> str:
    """Rows, or the only one, that stay in registers.

    Where a row is longer than a vector, the second one holds its last four values: some stand in both.
    """
    first, second = ["s8", "s9", "s10", "s11"], ["s12", "s13", "s14", "s15"]  # q2, q3
    behind, step = 4 * (length - 4), 4 * length
    emit = Assembler()
    emit("push {r4-r11, lr}", "ldm r2, {r4-r12}")
    if length < 4:
        emit(f"mov r2, #{length}", "vctp.32 r2")
    if not is_alone:
        emit("dls lr, r3")
        emit.label(1)
    emit("ldr r2, [r0]", why="the largest value, from the first one on")
    if length < 4:
        emit("vpstt", f"vldrwt.u32 q0, [r0], #{step}", "vmaxnmvt.f32 r2, q0")
    elif length == 4:
        emit(f"vldrw.u32 q0, [r0], #{step}", "vmaxnmv.f32 r2, q0")
    else:
        emit(f"vldrw.u32 q1, [r0, #{behind}]", f"vldrw.u32 q0, [r0], #{step}", "vmaxnmv.f32 r2, q0", "vmaxnmv.f32 r2, q1")
        _differences(emit, "q1", "q3")
        _exponentials(emit, "q1", "q2", "q3")
    _differences(emit, "q0", "q2")
    _exponentials(emit, "q0", "q1", "q2")
    if length == 8:
        emit("vadd.f32 q0, q2, q3")
    total, *terms = ["s0", "s1", "s2", "s3"] if length == 8 else first[:length] + second[8 - length :]
    for term in terms:
        emit(f"vadd.f32 s0, {total}, {term}")
        total = "s0"
    emit("vmov.f32 s1, #1.0", f"vdiv.f32 s0, s1, {total}", "vmov r2, s0", "vmul.f32 q2, q2, r2")
    if length > 4:
        emit("vmul.f32 q3, q3, r2", f"vstrw.32 q3, [r1, #{behind}]")
    emit(*(["vpst", f"vstrwt.32 q2, [r1], #{step}"] if length < 4 else [f"vstrw.32 q2, [r1], #{step}"]))
    emit(*([] if is_alone else ["le lr, 1b"]), "pop {r4-r11, pc}")
    return _function(name, f"rows of {length}", PARAMETERS, emit, str(length))


def _differences(emit: Assembler, values: str, other: str) -> None:
    """From the largest value, which is in r2, to `values`."""
    emit(f"vdup.32 {other}, r12", f"vsub.f32 {values}, {values}, r2")
    emit(f"vmin.u32 {values}, {values}, {other}", why="of magnitudes, which have all a sign but 0 and what is NaN")


def _exponentials(emit: Assembler, x: str, power: str, result: str) -> None:
    emit(f"vmul.f32 {power}, {x}, r4", f"vcvtn.s32.f32 {power}, {power}", f"vcvt.f32.s32 {result}, {power}")
    emit(*(f"vfma.f32 {x}, {result}, r{place}" for place in (5, 6)), f"vmul.f32 {result}, {x}, r7")
    emit(f"vadd.f32 {result}, {result}, r8", *(f"vfmas.f32 {result}, {x}, r{place}" for place in (9, 10, 11, 11)))
    emit(f"vshl.i32 {power}, {power}, #23", f"vadd.i32 {result}, {result}, {power}", why="times a power of two")


def _function(name: str, rows: str, parameters: str, emit: Assembler, length: str) -> str:
    return function(
        name,
        f"Softmax of {rows} neighbouring float32 values. May work in place.",
        parameters,
        emit.lines,
        f"    (void)numbers;\n    aidge_helium_softmax_rows_c(input, output, rows, {length});",
    )
