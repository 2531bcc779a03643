# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors: 4 rows by 4 columns at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aidge_build.contract.call import Call, Input, Output, computed
from aidge_build.contract.kernel_kit.float_steps import FPU
from aidge_build.contract.kernel_kit.matmul_float32 import (
    FEW_ROWS_BY_COLUMNS,
    MATRICES,
    ONE_ROW_OF_FOURS,
    STORED,
    STORED_APART,
    STORED_SEEN,
    MatMulFloat32,
    StoredMatMul,
    StoredProduct,
    is_inner,
    position_bytes,
    product_spec,
    seen_spec,
    shape_of,
    stored_spec,
)
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import Routine
from ..core.float32 import FEATURES, in_turns, listed, values

SIZES = 52  # the byte of `columns`, `inner` and `step` in aidge_kit_product_float32
PARAMETERS = "const float *a, const float *b, float *y, const aidge_kit_product_float32 *shape"
OF_BYTES = PARAMETERS.replace("float *b", "int8_t *b")
AT_ONCE = 4  # columns, and rows as long as there are so many


def _few_columns(view: NodeView) -> str:
    columns = view.outputs[0].dims[-1]
    return "" if columns >= AT_ONCE else f"{columns} columns, wants at least {AT_ONCE}"


FEW = Predicate("at least 4 columns", _few_columns)


def block_text(count: int, of_bytes: bool = False) -> str:
    """The function of `count` rows by 4 columns: elements of a row of the second matrix are neighbours."""
    sums, rows, code = values("sum", AT_ONCE * count), [f"%row{row}" for row in range(count)], Routine()

    def multiply(together: int) -> None:
        """So many columns of the first matrix with as many rows of the second one."""
        numbers = [values(f"first{row}_", together) for row in range(count)]
        for row, part in zip(rows, numbers):
            code(f"vldmia {row}!, {listed(part)}")
        for step in range(together):
            columns = values(f"second{step}_", AT_ONCE)
            if of_bytes:
                _load_bytes(code, "%b", columns)
            else:
                code(f"vldmia %b, {listed(columns)}")
            code("add %b, %b, %step")
            for place, total in enumerate(sums):
                code(f"vfma.f32 {total}, {numbers[place // AT_ONCE][step]}, {columns[place % AT_ONCE]}")

    code("%enter")
    code(f"ldrd %count, %step, [%shape, #{SIZES + 4}]")
    if not of_bytes:
        code("lsl %step, %step, #2", "bytes of a row of the second matrix")
    code(f"mov {rows[0]}, %a")
    for before, after in zip(rows, rows[1:]):
        code(f"add {after}, {before}, %count, lsl #2")
    _clear(code, sums)
    in_turns(code, 2, multiply)
    if count > 1:
        code(f"ldr %width, [%shape, #{SIZES}]", "elements of a row of the product")
    for row in range(count):
        code(f"vstmia %y, {listed(sums[AT_ONCE * row : AT_ONCE * (row + 1)])}")
        if row < count - 1:
            code("add %y, %y, %width, lsl #2")
    code("%leave")
    purpose = f"{count} row{'s' * (count > 1)} by 4 columns, fused multiply-add."
    return code.function(*_named(f"{count}x4", of_bytes), purpose, _in_c(count, "shape->step, 1", of_bytes))


def columns_text(of_bytes: bool = False) -> str:
    """The function of a row by 4 columns that are stored in one piece each."""
    sums, columns, code = values("sum", AT_ONCE), ["%b", *(f"%b{column}" for column in range(1, AT_ONCE))], Routine()

    def multiply(together: int) -> None:
        """So many elements of the row with as many of each column."""
        numbers = values("first", together)
        code(f"vldmia %a!, {listed(numbers)}")
        for column, (pointer, total) in enumerate(zip(columns, sums)):
            elements = values(f"second{column}_", together)
            if of_bytes:
                _load_bytes(code, pointer, elements)
                code(f"adds {pointer}, {pointer}, #{together}")
            else:
                code(f"vldmia {pointer}!, {listed(elements)}")
            for first, second in zip(numbers, elements):
                code(f"vfma.f32 {total}, {first}, {second}")

    code("%enter")
    code(f"ldrd %count, %step, [%shape, #{SIZES + 4}]")
    for before, after in zip(columns, columns[1:]):
        code(f"add {after}, {before}, %step" + ("" if of_bytes else ", lsl #2"))
    _clear(code, sums)
    in_turns(code, 4, multiply)
    code(f"vstmia %y, {listed(sums)}")
    code("%leave")
    purpose = "1 row by 4 columns that are stored in one piece each, fused multiply-add."
    return code.function(*_named("columns", of_bytes), purpose, _in_c(1, "1, shape->step", of_bytes))


def _named(part: str, of_bytes: bool) -> tuple[str, str]:
    """The name of a function and its parameters."""
    return (f"{_NAME}_{part}_bytes", OF_BYTES) if of_bytes else (f"{_NAME}_{part}", PARAMETERS)


def _load_bytes(code: Routine, pointer: str, elements: Sequence[str]) -> None:
    """Levels become float32."""
    levels = [f"%level{number}" for number in range(len(elements))]
    for number, level in enumerate(levels):
        code(f"ldrsb {level}, [{pointer}, #{number}]")
    for place in range(0, len(elements) - 1, 2):
        code(f"vmov {elements[place]}, {elements[place + 1]}, {levels[place]}, {levels[place + 1]}")
    if len(elements) % 2:
        code(f"vmov {elements[-1]}, {levels[-1]}")
    for element in elements:
        code(f"vcvt.f32.s32 {element}, {element}")


def _clear(code: Routine, sums: Sequence[str]) -> None:
    code("movs %zero, #0")
    for first, second in zip(sums[::2], sums[1::2]):
        code(f"vmov {first}, {second}, %zero, %zero")


def _in_c(rows: int, steps: str, of_bytes: bool) -> str:
    return f"aidge_kit_product_rows{'_bytes' * of_bytes}(a, b, y, {rows}, {steps}, shape);"


def _layer(function: str, purpose: str, rows: str, place: str, compute: Sequence[str]) -> str:
    """The function of all batches; the last 4 columns may lie over the ones before them."""
    indented = "\n".join(f"                {line}" for line in compute)
    return f"""/* {purpose} */
static void {function}(const float *first, const float *second, float *output, const aidge_kit_product_float32 *shape)
{{
    const int8_t *a = (const int8_t *)first;
    const int8_t *b = (const int8_t *)second;
    int32_t place[4] = {{0, 0, 0, 0}};
    do {{
        const float *row = (const float *)(const void *)a;
        int32_t left, rows;
        for (left = shape->rows; left > 0; left -= rows) {{
            int32_t column = 0;
            rows = {rows};
            while (column < shape->columns) {{
                const float *matrix = (const float *)(const void *)b;
                column = column + 4 <= shape->columns ? column : shape->columns - 4;
                matrix += {place};
{indented}
                column += 4;
            }}
            row += rows * shape->inner;
            output += rows * shape->columns;
        }}
    }} while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &a, &b) != 0);
}}"""


_NAME, SOURCE, LAYER = "aidge_cortexm_product", "sums/matmul_float32.h", "aidge_cortexm_matmul_float32"
_BY_ROWS = _layer(
    LAYER,
    "Products of matrices of float32; at least 4 columns.",
    "left >= 4 ? 4 : 1",
    "column",
    (
        "if (rows == 4) {",
        f"    {_NAME}_4x4(row, matrix, output + column, shape);",
        "} else {",
        f"    {_NAME}_1x4(row, matrix, output + column, shape);",
        "}",
    ),
)
_BY_COLUMNS = _layer(
    f"{LAYER}_by_columns",
    "Products with a matrix of float32 of columns that are stored in one piece each; at least 4 columns.",
    "1",
    "column * shape->step",
    (f"{_NAME}_columns(row, matrix, output + column, shape);",),
)
_WITH_BYTES = (
    (f"{LAYER}(", f"{LAYER}_bytes("),
    ("_by_columns(", "_by_columns_bytes("),
    ("const float *second", "const int8_t *second"),
    ("(const int8_t *)second", "second"),
    ("const float *matrix = (const float *)(const void *)b", "const int8_t *matrix = b"),
    ("(row, matrix", "_bytes(row, matrix"),
    ("a matrix of float32", "a matrix of int8"),
    ("Products of matrices of float32", "Products of matrices of float32 and int8"),
)


def _texts(by_rows: bool, of_bytes: bool) -> tuple[str, tuple[str, ...]]:
    """The name of the function for all batches, and the texts that it needs."""
    blocks = (block_text(1, of_bytes), block_text(AT_ONCE, of_bytes)) if by_rows else (columns_text(of_bytes),)
    name, layer = (LAYER, _BY_ROWS) if by_rows else (f"{LAYER}_by_columns", _BY_COLUMNS)
    for old, new in _WITH_BYTES if of_bytes else ():
        layer = layer.replace(old, new)
    return name + "_bytes" * of_bytes, (*blocks, layer)


@kernel("MatMul", product_spec(FEATURES, FEW))
class CortexmMatMulFloat32(MatMulFloat32):
    function, source, at_once = LAYER, SOURCE, "4 rows x 4 columns"

    def call(self) -> Call:
        name, texts = _texts(True, self.inputs[1].dtype is DType.int8)
        return replace(super().call(), function=name, texts=texts)


@kernel("StoredMatMul", stored_spec(FEATURES, FEW, FEW_ROWS_BY_COLUMNS), STORED)
class CortexmStoredMatMulFloat32(StoredMatMul):
    """The keys and values of attention, for example, where a cache holds them."""

    def call(self) -> Call:
        product = StoredProduct.of(self.view)
        arguments = (*product.arguments, Output(0), shape_of((product.first, product.second), self.outputs[0]))
        name, texts = _texts(product.reads_rows, product.second.dtype is DType.int8)
        at_once = CortexmMatMulFloat32.at_once if product.reads_rows else "1 row x 4 columns"
        return Call(name, (SOURCE,), arguments, texts=texts, facts=computed(at_once), steps=product.steps(FPU))


@kernel("MatMul", product_spec(FEATURES, FEW, second=DType.int8))
class CortexmBytesMatMul(CortexmMatMulFloat32):
    """A second matrix of bytes: rows of a cache."""


@kernel("StoredMatMul", stored_spec(FEATURES, FEW, FEW_ROWS_BY_COLUMNS, second=DType.int8), STORED)
class CortexmStoredBytesMatMul(CortexmStoredMatMulFloat32):
    """The same as they are stored."""


@kernel("SeenMatMul", seen_spec(FEATURES, ONE_ROW_OF_FOURS, MATRICES))
class CortexmSeenMatMul(KernelNode):
    """Rows of a cache up to a position."""

    def call(self) -> Call:
        return _seen(self.view, StoredProduct(*self.inputs[:2], (Input(0), Input(1), Input(2))))


@kernel("StoredSeenMatMul", seen_spec(FEATURES, STORED_APART, ONE_ROW_OF_FOURS), STORED_SEEN)
class CortexmStoredSeenMatMul(StoredMatMul):
    """The same as they are stored."""

    def call(self) -> Call:
        return _seen(self.view, StoredProduct.of(self.view))


def _seen(view: NodeView, product: StoredProduct) -> Call:
    of_bytes, reads_rows = product.second.dtype is DType.int8, product.reads_rows
    block, _ = _named("1x4" if reads_rows else "columns", of_bytes)
    inner, c_type = is_inner(view), "int8_t" if of_bytes else "float"
    name = f"{LAYER}_seen_{'inner' if inner else 'columns'}{'' if reads_rows else '_by_columns'}{'_bytes' * of_bytes}"
    body = [
        "const int8_t *a = (const int8_t *)first;",
        f"const int8_t *b = {'second' if of_bytes else '(const int8_t *)second'};",
        "int32_t place[4] = {0, 0, 0, 0};",
        "aidge_kit_product_float32 part;",
        f"const int32_t seen = aidge_kit_seen(position, bytes, shape->{'inner' if inner else 'columns'});",
        "part = *shape;",
        *(["part.inner = seen;"] if inner else []),
        "do {",
        "    const float *const row = (const float *)(const void *)a;",
        "    int32_t column;",
        f"    for (column = 0; column < {'shape->columns' if inner else 'seen'}; column += 4) {{",
        f"        const {c_type} *const matrix = {'b' if of_bytes else '(const float *)(const void *)b'};",
        f"        {block}(row, matrix + column{'' if reads_rows else ' * shape->step'}, output + column, &part);",
        "    }",
        *([] if inner else ["    aidge_kit_clear(output + seen, shape->columns - seen);"]),
        "    output += shape->columns;",
        "} while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &a, &b) != 0);",
    ]
    parameters = (
        f"const float *first, const {c_type} *second, const void *position, float *output, int32_t bytes, "
        "const aidge_kit_product_float32 *shape"
    )
    lines = "\n".join(f"    {line}" for line in body)
    layer = f"/* The rows of a cache up to a position. */\nstatic void {name}({parameters})\n{{\n{lines}\n}}"
    shape = shape_of((product.first, product.second), view.outputs[0])
    arguments = (*product.arguments, Output(0), position_bytes(view), shape)
    texts = (block_text(1, of_bytes) if reads_rows else columns_text(of_bytes), layer)
    steps = product.seen_steps(view, FPU)
    return Call(name, (SOURCE, "kit/seen.h"), arguments, texts=texts, facts=computed("1 row x 4 columns"), steps=steps)
