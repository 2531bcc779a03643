# SPDX-License-Identifier: MIT
"""Broadcasting of two tensors as the struct of broadcast.h: axes are merged where both tensors allow it."""

from __future__ import annotations

import math

import numpy

from aidge_build.errors import AidgeError
from aidge_build.export.call import Argument, Constant, Input, Struct
from aidge_build.graph.format import Format, layout
from aidge_build.graph.tensor import Tensor

OUTER_AXES = 4


def operand(index: int, name: str, tensor: Tensor, output: Tensor) -> Argument:
    """How the kernel gets an input: by pointer, or as a constant in the output's storage order."""
    if not tensor.is_constant:
        return Input(index)
    dims = (1,) * (output.rank - tensor.rank) + tensor.dims
    return Constant(name, numpy.ascontiguousarray(tensor.data.reshape(dims).transpose(output.storage.order)))


def broadcast(first: Tensor, second: Tensor, output: Tensor) -> Struct:
    """The shape of an element-wise operation on two tensors that lie in the output's storage order."""
    order = output.storage.order
    steps = [_steps(tensor, output.rank, output.storage) for tensor in (first, second)]
    axes: list[list[int]] = []  # [size, first step, second step], slowest first
    for axis in order:
        size, *moves = output.dims[axis], *(step[axis] for step in steps)
        if size == 1:
            continue
        if axes and all(outer == size * inner for outer, inner in zip(axes[-1][1:], moves)):
            axes[-1] = [axes[-1][0] * size, *moves]
        else:
            axes.append([size, *moves])
    *outer, inner = axes or [[1, 0, 0]]
    if len(outer) > OUTER_AXES:
        raise AidgeError(f"broadcasting {list(first.dims)} and {list(second.dims)} needs {len(outer) + 1} loops, the kernel has "
                         f"{OUTER_AXES + 1}", code="KERNEL")
    outer = [[1, 0, 0]] * (OUTER_AXES - len(outer)) + outer
    dims, first_steps, second_steps = (tuple(column) for column in zip(*outer))
    return Struct("aidge_ref_broadcast_shape", {
        "runs": math.prod(dims), "length": inner[0], "first_step": inner[1], "second_step": inner[2],
        "dims": dims, "first_steps": first_steps, "second_steps": second_steps})


def _steps(tensor: Tensor, rank: int, storage: Format) -> list[int]:
    """The step in elements along each logical axis of the output; 0 where the tensor repeats."""
    dims = (1,) * (rank - tensor.rank) + tensor.dims
    strides = layout(dims, storage, tensor.dtype).strides
    return [0 if size == 1 else stride for size, stride in zip(dims, strides)]
