# SPDX-License-Identifier: MIT
"""Broadcasting as numpy and ONNX define it, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.operators.base import require


def broadcast_dims(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Returns the dims to which these dims broadcast (ONNX: multidirectional broadcasting); refuses dims that do not fit."""
    require(len(shapes) > 0, "it has no input")
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(dims)) + tuple(dims) for dims in shapes]
    result = []
    for sizes in zip(*padded):
        others = {size for size in sizes if size != 1}
        require(len(others) <= 1, f"the dims {' and '.join(str(list(dims)) for dims in shapes)} do not broadcast")
        result.append(others.pop() if others else 1)
    return tuple(result)


def summed_to(gradient: numpy.ndarray, shape: tuple[int, ...]) -> numpy.ndarray:
    """Returns the gradient of a tensor of this shape that was broadcast: the sum over all copies of each element."""
    extra = tuple(range(gradient.ndim - len(shape)))
    repeated = tuple(len(extra) + axis for axis, size in enumerate(shape) if size == 1 and gradient.shape[len(extra) + axis] != 1)
    summed = gradient.sum(extra + repeated, keepdims=True) if extra or repeated else gradient
    return summed.reshape(shape)
