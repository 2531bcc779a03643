# SPDX-License-Identifier: MIT
"""Transposed matrices: what most copies between two storage orders are."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, Struct
from aidge_build.contract.kernel_kit.terms import plus_product, times
from aidge_build.graph.dtype import DType

TOGETHER = (4, 2, 1)  # rows at a time
LARGEST = 4  # bytes of an element, to which all tensors are aligned


def transpose(copy: Struct, dtype: DType) -> Call | None:
    """The call for a copy of strided.py that transposes each of a batch of matrices; None for any other."""
    fields = copy.fields
    axes = list(zip(fields["dims"], fields["source_steps"], fields["target_steps"]))
    (batches, *outer), (columns, along, down), (rows, across, step) = axes[-3:]
    is_matrix = (along, down, across, step) == (1, rows, columns, 1) and min(rows, columns) > 1
    is_batch = batches == 1 or outer == [rows * columns] * 2
    if not (is_matrix and is_batch and all(size == 1 for size, _, _ in axes[:-3])) or dtype.size_bytes > LARGEST:
        return None
    name = f"aidge_ref_transpose_{dtype.name}"
    return Call(
        name,
        ("kit/copy.h",),
        (Input(0), Output(0), Literal(batches), Literal(rows), Literal(columns)),
        texts=(_text(name, dtype.c_type),),
    )


def _text(name: str, kind: str) -> str:
    lines = [
        f"/* to[column][row] = from[row][column] of each matrix of {kind}. */",
        f"static void {name}(const {kind} *from, {kind} *to, int32_t batches, int32_t rows, int32_t columns)",
        "{",
        "    int32_t left, column;",
        "    for (; batches > 0; batches--) {",
        f"        {kind} *first = to;",
    ]
    for count in TOGETHER:
        whole = f"for (left = rows; left >= {count}; left -= {count})"
        lines += [
            f"        {whole if count == TOGETHER[0] else f'if ((rows & {count}) != 0)'} {{",
            f"            {kind} *place = first;",
        ]
        lines += [f"            const {kind} *row_{index} = {plus_product('from', index, 'columns')};" for index in range(count)]
        lines += [
            "            for (column = columns; column > 0; column--) {",
            *(f"                place[{index}] = *row_{index}++;" for index in range(count)),
            "                place += rows;",
            "            }",
            f"            first += {count};",
            f"            from += {times('columns', count)};",
            "        }",
        ]
    return "\n".join([*lines, "        to += rows * columns;", "    }", "}"])
