# SPDX-License-Identifier: MIT
"""Element-wise operators of any number of inputs and any types: one loop, generated with the operator's expression in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Literal, Output, Struct
from aidge_build.contract.kernel_kit.broadcast import merged_loops, operand
from aidge_build.graph.tensor import Tensor

OUTER_AXES = 5
_LETTERS = "abcdefgh"  # the loop has names of its own, such as i


def operand_names(count: int) -> tuple[str, ...]:
    """The names of so many operands in an expression: a to h, then a8, a9, ..."""
    return tuple(_LETTERS[place] if place < len(_LETTERS) else f"a{place}" for place in range(count))


@dataclass(frozen=True)
class Expression:
    """One element: `value` over the operands (`operand_names`), the parameters p[0], p[1], ... of their type, and the
    `integers` k[0], k[1], ... of 32 bits; `steps` go before it.

    `name` tells it from every other expression over the same types. `sources` are files of this library.
    """

    name: str
    value: str
    steps: tuple[str, ...] = ()
    parameters: tuple[float, ...] = ()
    sources: tuple[str, ...] = ()
    integers: tuple[int, ...] = ()


def each(expression: Expression, tensors: Sequence[Tensor], positions: Sequence[int], output: Tensor) -> Call:
    """The call of the loop over `output`; `tensors` are the given operands, `positions` their places among the node's inputs."""
    types = "_".join([tensor.dtype.name for tensor in tensors] + [output.dtype.name])
    function = f"aidge_ref_each_{expression.name}_{types}"
    kind = f"aidge_ref_each_{len(tensors)}"
    pointers: list[Argument] = [
        operand(position, f"operand_{position}", tensor, output) for position, tensor in zip(positions, tensors)
    ]
    parameters = []
    if expression.parameters:
        parameters = [Constant("parameters", numpy.array(expression.parameters, tensors[0].dtype.numpy))]
    if expression.integers:
        parameters.append(Constant("integers", numpy.array(expression.integers, numpy.int32)))
    arguments, shape = (*pointers, Output(0), *parameters), _shape(tensors, output)
    if shape["runs"] == 1:
        function = f"aidge_ref_each_run_{expression.name}_{types}"
        sizes = map(Literal, (shape["length"], *shape["steps"]))
        text = _run_text(function, expression, tensors, output)
        return Call(function, ("shared/each.h", *expression.sources), (*arguments, *sizes), texts=(text,))
    return Call(
        function,
        ("shared/each.h", *expression.sources),
        (*arguments, Struct(f"{kind}_shape", shape)),
        texts=(_shape_text(kind, len(tensors)), _text(function, kind, expression, tensors, output)),
    )


def _shape(tensors: Sequence[Tensor], output: Tensor) -> dict[str, Any]:
    """Runs along the fastest axis of the output, then the outer axes; neighbouring axes are merged where all operands allow
    it."""
    *outer, inner = merged_loops(tensors, output, OUTER_AXES)
    columns = list(zip(*outer))
    return {
        "runs": math.prod(columns[0]),
        "length": inner[0],
        "steps": tuple(inner[1:]),
        "dims": columns[0],
        "outer_steps": tuple(step for column in columns[1:] for step in column),
    }


def _shape_text(kind: str, count: int) -> str:
    return (
        f"/* Runs of `length` elements, then up to {OUTER_AXES} outer axes, the last one fastest; steps of "
        f"{count} operands in elements. */\n"
        f"typedef struct {{\n    int32_t runs, length;\n    int32_t steps[{count}], dims[{OUTER_AXES}], "
        f"outer_steps[{count * OUTER_AXES}];\n}} {kind}_shape;"
    )


def _axis(place: int) -> str:
    """The index of an operand's step along an outer axis."""
    return f"{place * OUTER_AXES} + axis" if place else "axis"


def _parameters(expression: Expression, tensors: Sequence[Tensor], output: Tensor) -> list[str]:
    """The parameters that every form of the function has."""
    found = [f"const {tensor.dtype.c_type} *x{letter}" for tensor, letter in zip(tensors, operand_names(len(tensors)))]
    found.append(f"{output.dtype.c_type} *output")
    found += [f"const {tensors[0].dtype.c_type} *p"] if expression.parameters else []
    return found + (["const int32_t *k"] if expression.integers else [])


def _run_text(function: str, expression: Expression, tensors: Sequence[Tensor], output: Tensor) -> str:
    """One run of elements: nothing but the loop."""
    letters = operand_names(len(tensors))
    parameters = [*_parameters(expression, tensors, output), "int32_t length", *(f"int32_t step_{letter}" for letter in letters)]
    lines = [
        f"static void {function}({', '.join(parameters)})",
        "{",
        "    for (; length > 0; length--) {",
        *(f"        const {tensor.dtype.c_type} {letter} = *x{letter};" for tensor, letter in zip(tensors, letters)),
        *(f"        {step}" for step in expression.steps),
        f"        *output++ = {expression.value};",
        *(f"        x{letter} += step_{letter};" for letter in letters),
        "    }",
        "}",
    ]
    return "\n".join(lines)


def _text(function: str, kind: str, expression: Expression, tensors: Sequence[Tensor], output: Tensor) -> str:
    letters = operand_names(len(tensors))
    parameters = _parameters(expression, tensors, output)
    parameters.append(f"const {kind}_shape *shape")
    lines = [
        f"static void {function}({', '.join(parameters)})",
        "{",
        "    int32_t index[5] = {0, 0, 0, 0, 0};",
        "    int32_t run, i, axis;",
        "    for (run = 0; run < shape->runs; run++) {",
        "        for (i = 0; i < shape->length; i++) {",
    ]
    lines += [
        f"            const {tensor.dtype.c_type} {letter} = x{letter}[i * shape->steps[{place}]];"
        for place, (tensor, letter) in enumerate(zip(tensors, letters))
    ]
    lines += [f"            {step}" for step in expression.steps]
    lines += [
        f"            output[i] = {expression.value};",
        "        }",
        "        output += shape->length;",
        "        for (axis = 4; axis >= 0; axis--) {",
        "            index[axis] += 1;",
    ]
    lines += [f"            x{letter} += shape->outer_steps[{_axis(place)}];" for place, letter in enumerate(letters)]
    lines += ["            if (index[axis] < shape->dims[axis]) {", "                break;", "            }"]
    lines += [
        f"            x{letter} -= shape->outer_steps[{_axis(place)}] * shape->dims[axis];"
        for place, letter in enumerate(letters)
    ]
    return "\n".join([*lines, "            index[axis] = 0;", "        }", "    }", "}"])
