# SPDX-License-Identifier: MIT
"""Broadcasting of two tensors as the struct of broadcast.h: axes are merged if both tensors allow it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Argument, Constant, Input, Struct
from aidge_build.graph.format import layout
from aidge_build.graph.tensor import Tensor

OUTER_AXES = 4


def operand(index: int, name: str, tensor: Tensor, output: Tensor) -> Argument:
    """Returns the argument for an input: a pointer, or a constant in the output's storage order."""
    if not tensor.is_constant:
        return Input(index)
    dims = (1,) * (output.rank - tensor.rank) + tensor.dims
    return Constant(name, numpy.ascontiguousarray(tensor.data.reshape(dims).transpose(output.storage.order)))


def broadcast(first: Tensor, second: Tensor, output: Tensor) -> Struct:
    """Returns the shape of an element-wise operation on two tensors in the output's storage order."""
    *outer, inner = merged_loops((first, second), output, OUTER_AXES)
    dims, first_steps, second_steps = (tuple(column) for column in zip(*outer))
    return Struct(
        "aidge_kit_broadcast_shape",
        {
            "runs": math.prod(dims),
            "length": inner[0],
            "first_step": inner[1],
            "second_step": inner[2],
            "dims": dims,
            "first_steps": first_steps,
            "second_steps": second_steps,
        },
    )


def merged_loops(tensors: Sequence[Tensor], output: Tensor, outer_axes: int) -> list[list[int]]:
    """Returns `outer_axes` loops and an inner loop over the output, slowest first, each as [size, step in elements of each
    tensor].

    Neighbouring axes are merged if all tensors allow it; loops of size 1 fill up. AidgeError if more loops are needed.
    """
    steps = [_steps(tensor, output) for tensor in tensors]
    axes: list[list[int]] = []
    for axis in output.storage.order:
        size, *moves = output.dims[axis], *(step[axis] for step in steps)
        if size == 1:
            continue
        if axes and all(outer == size * inner for outer, inner in zip(axes[-1][1:], moves)):
            axes[-1] = [axes[-1][0] * size, *moves]
        else:
            axes.append([size, *moves])
    once = [1] + [0] * len(tensors)
    axes = axes or [once]
    if len(axes) > outer_axes + 1:
        raise AidgeError(
            f"broadcasting {' and '.join(str(list(tensor.dims)) for tensor in tensors)} needs {len(axes)} loops, "
            f"the kernel has {outer_axes + 1}",
            code="KERNEL",
        )
    return [once] * (outer_axes + 1 - len(axes)) + axes


def _steps(tensor: Tensor, output: Tensor) -> list[int]:
    """The step in elements along each logical axis of the output; 0 where the tensor repeats."""
    dims = (1,) * (output.rank - tensor.rank) + tensor.dims
    return [0 if size == 1 else stride for size, stride in zip(dims, layout(dims, output.storage, tensor.dtype).strides)]
