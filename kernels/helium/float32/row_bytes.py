# SPDX-License-Identifier: MIT
"""Rows as bytes with a scale each: four values at a time."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.assembly import Assembler, c_function, function, loop
from ..core.conditions import MVE

NAME = "aidge_helium_row_bytes"
_REAL = IOSpec(DType.float32, ROW_MAJOR)


@kernel("RowBytes", ImplSpec(inputs=(_REAL,), outputs=(IOSpec(DType.int8, ROW_MAJOR), _REAL), features=MVE))
class RowBytes(KernelNode):
    def call(self) -> Call:
        rows, *others = self.inputs[0].dims
        name, texts = texts_of(rows, math.prod(others))
        return Call(name, ("core/helium.h",), (Input(0), Output(0), Output(1)), texts=texts, facts=computed("4 values"))


def texts_of(rows: int, count: int) -> tuple[str, tuple[str, ...]]:
    """The function for these rows of `count` values, and the C texts that it needs."""
    name = f"{NAME}_{rows}x{count}"
    row = [
        "float largest = 1e-30f;",
        "float factor = 0.0f;",
        f"{NAME}_largest(input, {count}, &largest);",
        "scales[row] = 0.0f;",
        "if (largest > 1e-30f) {",
        "    factor = 127.0f / largest;",
        "    scales[row] = largest / 127.0f;",
        "}",
        f"{NAME}_levels(input, output, {count}, &factor);",
        f"input += {count};",
        f"output += {count};",
    ]
    body = ["int32_t row;", *loop("row", rows, row)]
    return name, (_largest(), _levels(), c_function(name, "const float *input, int8_t *output, float *scales", body))


def _largest() -> str:
    emit = Assembler()
    emit("%enter", "ldr %found, [%largest]", "dlstp.32 lr, %count")
    emit.label("values")
    emit("vldrw.u32 %q.x, [%x], #16", "vmaxnmav.f32 %found, %q.x", "letp lr, %values", "str %found, [%largest]", "%leave")
    purpose = "The largest magnitude of a row and of what is there; NaN does not count."
    return function(f"{NAME}_largest", purpose, "const float *x, int32_t count, float *largest", emit.lines)


def _levels() -> str:
    emit = Assembler()
    emit("%enter", "ldr %by, [%factor]", "dlstp.32 lr, %count")
    emit.label("values")
    emit("vldrw.u32 %q.x, [%x], #16", "vmul.f32 %q.x, %q.x, %by", "vcvtn.s32.f32 %q.x, %q.x")
    emit("vstrb.32 %q.x, [%y], #4", "letp lr, %values", "%leave")
    purpose = "Products with the factor, rounded to int8; NaN becomes 0."
    parameters = "const float *x, int8_t *y, int32_t count, const float *factor"
    return function(f"{NAME}_levels", purpose, parameters, emit.lines)
