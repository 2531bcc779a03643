# SPDX-License-Identifier: MIT
"""int8 ReduceMax and ReduceMin: 16 values of a row at a time, or 16 results."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.conditions import MVE
from .reductions import NEIGHBOURS, sizes_of

_SIDE = IOSpec(DType.int8, ROW_MAJOR)
_KINDS = {"ReduceMax": ("max", "INT8_MIN"), "ReduceMin": ("min", "INT8_MAX")}


@kernel(sorted(_KINDS), ImplSpec(_SIDE, features=MVE, predicates=(SAME_QUANTIZATION, NEIGHBOURS)))
class ReduceInt8(KernelNode):
    def call(self) -> Call:
        outer, count, inner = sizes_of(self.view)
        kind, start = _KINDS[self.node.type]
        form = _ROWS if inner == 1 else _LANES
        sizes = (outer, count) if inner == 1 else (outer, count, inner)
        function = f"aidge_helium_{kind}_of_{'rows' if inner == 1 else 'columns'}_int8"
        text = form.replace("FUNCTION", function).replace("KIND", kind).replace("START", start)
        arguments = (Input(0), Output(0), *map(Literal, sizes))
        return Call(function, ("core/mve.h",), arguments, texts=(text,), facts=computed("16 values"))


_ROWS = """/* The KIND of each row of neighbouring values. */
static void FUNCTION(const int8_t *x, int8_t *y, int32_t rows, int32_t count)
{
    for (; rows > 0; rows--) {
        int32_t left = count;
        int8_t found = START;
        for (; left >= 16; left -= 16) {
            found = vKINDvq_s8(found, vldrbq_s8(x));
            x += 16;
        }
        if (left > 0) {
            const mve_pred16_t there = vctp8q((uint32_t)left);
            found = vKINDvq_p_s8(found, vldrbq_z_s8(x, there), there);
            x += left;
        }
        *y++ = found;
    }
}"""

_LANES = """/* The KIND of each column of [count][columns]. */
static void FUNCTION(const int8_t *x, int8_t *y, int32_t matrices, int32_t count, int32_t columns)
{
    for (; matrices > 0; matrices--) {
        int32_t column, left;
        for (column = 0; column < columns; column += 16) {
            const int8_t *value = x + column;
            int8x16_t found = vdupq_n_s8(START);
            if (columns - column >= 16) {
                for (left = count; left > 0; left--) {
                    found = vKINDq_s8(found, vldrbq_s8(value));
                    value += columns;
                }
                vstrbq_s8(y + column, found);
            } else {
                const mve_pred16_t there = vctp8q((uint32_t)(columns - column));
                for (left = count; left > 0; left--) {
                    found = vKINDq_s8(found, vldrbq_z_s8(value, there));
                    value += columns;
                }
                vstrbq_p_s8(y + column, found, there);
            }
        }
        x += count * columns;
        y += columns;
    }
}"""
