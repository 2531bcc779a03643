# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors: 4 rows by 4 columns at a time."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.matmul_float32 import MatMulFloat32, product_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from ..core.assembly import Routine
from ..core.float32 import FEATURES, in_turns, listed, values

SIZES = 52  # the byte of `inner` and `columns` in aidge_kit_product_float32


def _few_columns(view: NodeView) -> str:
    columns = view.outputs[0].dims[-1]
    return "" if columns >= 4 else f"{columns} columns, wants at least 4"


def block_text() -> str:
    """The function of 4 rows by 4 columns."""
    sums, rows, code = values("sum", 16), [f"%row{row}" for row in range(4)], Routine()

    def multiply(count: int) -> None:
        """`count` columns of the first matrix with as many rows of the second one."""
        numbers = [values(f"first{row}_", count) for row in range(4)]
        for row, part in zip(rows, numbers):
            code(f"vldmia {row}!, {listed(part)}")
        for step in range(count):
            columns = values(f"second{step}_", 4)
            code(f"vldmia %b, {listed(columns)}")
            code("add %b, %b, %step")
            for place, total in enumerate(sums):
                code(f"vfma.f32 {total}, {numbers[place // 4][step]}, {columns[place % 4]}")

    code("%enter")
    code(f"ldrd %count, %step, [%shape, #{SIZES}]")
    code("lsl %step, %step, #2", "bytes of a row of the second matrix")
    code(f"mov {rows[0]}, %a")
    for before, after in zip(rows, rows[1:]):
        code(f"add {after}, {before}, %count, lsl #2")
    code("movs %zero, #0")
    for first, second in zip(sums[::2], sums[1::2]):
        code(f"vmov {first}, {second}, %zero, %zero")
    in_turns(code, 2, multiply)
    for row in range(4):
        code(f"vstmia %y, {listed(sums[4 * row : 4 * row + 4])}")
        if row < 3:
            code("add %y, %y, %step")
    code("%leave")
    return code.function(
        "aidge_cortexm_product_4x4",
        "const float *a, const float *b, float *y, const aidge_kit_product_float32 *shape",
        "4 rows by 4 columns, fused multiply-add.",
        "aidge_kit_product_rows(a, b, y, 4, shape->inner, shape->columns, 4);",
    )


@kernel("MatMul", product_spec(FEATURES, Predicate("at least 4 columns", _few_columns)))
class CortexmMatMulFloat32(MatMulFloat32):
    function, source = "aidge_cortexm_matmul_float32", "sums/matmul_float32.h"
    at_once = "4 rows x 4 columns"

    def call(self) -> Call:
        return replace(super().call(), texts=(block_text(), _DRIVER))


_DRIVER = """/* `rows` rows (4 or 1): the last 4 columns may lie over those before them. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_product_columns(const float *a, const float *b, float *y, int32_t rows,
                                                          const aidge_kit_product_float32 *shape)
{
    int32_t column = 0;
    while (column < shape->columns) {
        column = column + 4 <= shape->columns ? column : shape->columns - 4;
        if (rows == 4) {
            aidge_cortexm_product_4x4(a, b + column, y + column, shape);
        } else {
            aidge_cortexm_product_1x4(a, b + column, y + column, shape);
        }
        column += 4;
    }
}

/* Products of matrices of float32; at least 4 columns. */
static void aidge_cortexm_matmul_float32(const float *first, const float *second, float *output,
                                         const aidge_kit_product_float32 *shape)
{
    const int8_t *a = (const int8_t *)first;
    const int8_t *b = (const int8_t *)second;
    int32_t place[4] = {0, 0, 0, 0};
    do {
        const float *row = (const float *)(const void *)a;
        int32_t left, rows;
        for (left = shape->rows; left > 0; left -= rows) {
            rows = left >= 4 ? 4 : 1;
            aidge_cortexm_product_columns(row, (const float *)(const void *)b, output, rows, shape);
            row += rows * shape->inner;
            output += rows * shape->columns;
        }
    } while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &a, &b) != 0);
}"""
