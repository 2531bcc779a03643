# SPDX-License-Identifier: MIT
"""Products of two int8 matrices, shared by kernels of several libraries; both matrices may be computed at run time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.linear_int8 import INT8, Linear
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.contracts import FloatFactors
from aidge_build.operators.arithmetic.requantize import multipliers

BATCH_AXES = 4


def _not_in_integers(view: NodeView) -> str:
    return view.operator.not_in_integers(view.inputs, view.outputs[0])


def _rank(view: NodeView) -> str:
    rank = max(tensor.rank for tensor in (*view.inputs, *view.outputs))
    return "" if rank <= BATCH_AXES + 2 else f"rank {rank}, wants at most {BATCH_AXES + 2}"


def product_spec(*predicates: Predicate, features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of int8 matrices with one scale each; their sums of products are proved to stay within int32."""
    return ImplSpec(
        IOSpec(DType.int8, ROW_MAJOR),
        features=features,
        predicates=(
            Predicate("one scale each, sums within int32", _not_in_integers),
            Predicate(f"at most {BATCH_AXES} batch axes", _rank),
            *predicates,
        ),
    )


def matrix_dims(inputs: Sequence[Tensor]) -> tuple[int, int, int]:
    """Returns rows, inner, columns; a vector is a row on the left, a column on the right."""
    first, second = inputs
    return (
        first.dims[-2] if first.rank > 1 else 1,
        first.dims[-1],
        second.dims[-1] if second.rank > 1 else 1,
    )


def batch_fields(inputs: Sequence[Tensor], output: Tensor) -> dict[str, tuple[int, ...]]:
    """Returns `dims`, `first_steps`, `second_steps`: the batch axes and their strides in elements, 0 where an operand repeats."""
    dims, steps = zip(*map(_batches, inputs))
    joint = tuple(max(sizes) for sizes in zip(*dims))
    return {"dims": joint, "first_steps": steps[0], "second_steps": steps[1]}


def _batches(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    missing = BATCH_AXES - max(tensor.rank - 2, 0)
    dims = (1,) * missing + tensor.dims[:-2]
    steps = (0,) * missing + tensor.layout.strides[:-2]
    return dims, tuple(0 if size == 1 else step for size, step in zip(dims, steps))


def product_shape(name: str, inputs: Sequence[Tensor], output: Tensor, **more: int) -> Struct:
    """Returns the struct of batches and matrices, and `more` fields after them."""
    rows, inner, columns = matrix_dims(inputs)
    return Struct(name, {**batch_fields(inputs, output), "rows": rows, "inner": inner, "columns": columns, **more})


def product_arguments(inputs: Sequence[Tensor], output: Tensor, *constants: Constant) -> tuple[Argument, ...]:
    """Returns the arguments of a function of any two matrices: both, the product, these constants, and batches and sizes."""
    return operand(inputs, 0), operand(inputs, 1), Output(0), *constants, product_shape("aidge_kit_matrices", inputs, output)


def product_call(
    function: str,
    inputs: Sequence[Tensor],
    pattern: numpy.ndarray,
    shapes: Sequence[Struct],
    sources: tuple[str, ...] = ("sums/matmul_int8.h",),
    **said,
) -> Call:
    """Returns the call of a library's function, with scratch for the second matrix as weights; `pattern`: the constants that
    surround the weights."""
    matrices = operand(inputs, 0), operand(inputs, 1)
    return Call(function, sources, (*matrices, Output(0), Constant("pattern", pattern), Scratch(), *shapes), **said)


def product_multiplier(inputs: Sequence[Tensor], output: Tensor) -> numpy.ndarray:
    """Returns the multiplier of the requantization, as an array of one element."""
    scales = [tensor.quantization.scale for tensor in (*inputs, output)]
    return numpy.atleast_1d(multipliers(*scales))


def product_range(inputs: Sequence[Tensor]) -> tuple[int, int]:
    """Returns the lowest and the highest sum that stored values of the operands' types give."""
    ends = [[end - tensor.quantization.zero_point for end in tensor.dtype.range] for tensor in inputs]
    sums = [inputs[0].dims[-1] * first * second for first in ends[0] for second in ends[1]]
    return min(sums), max(sums)


def columns_as_channels(view: NodeView, rows: numpy.ndarray) -> Linear:
    """Returns a fully connected layer with weights `rows`, int64 [channels, taps], in place of the columns of a second matrix
    that is computed at run time."""
    (output,), channels = view.outputs, len(rows)
    low, high = product_range(view.inputs)

    def each(value: int) -> numpy.ndarray:
        return numpy.full(channels, value, numpy.int64)

    return Linear(
        rows,
        each(0),
        FloatFactors(numpy.repeat(product_multiplier(view.inputs, output), channels)),
        each(low),
        each(high),
        output.quantization.zero_point,
        view.inputs[0].quantization.zero_point,
        INT8,
        each(0),
    )


def operand(inputs: Sequence[Tensor], index: int) -> Argument:
    """Returns the pointer to an operand, constant or not."""
    tensor = inputs[index]
    return Constant(("first", "second")[index], tensor.data) if tensor.is_constant else Input(index)
