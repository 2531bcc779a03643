# SPDX-License-Identifier: MIT
"""Distances between the rows of two matrices."""

from __future__ import annotations

import numpy

from aidge_build.operators.attributes import attribute
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


@operator("com.microsoft::CDist")
class CDist(Operator):
    """y[i, j] = the Euclidean distance (or its square) of row i of the first matrix and row j of the second.

    Source: com.microsoft operator CDist.
    """

    metric: str = attribute("sqeuclidean", among=("sqeuclidean", "euclidean"))

    def infer(self, inputs):
        first, second = inputs
        require(first.rank == second.rank == 2, f"the inputs have the dims {list(first.dims)} and {list(second.dims)}")
        require(first.dims[1] == second.dims[1], f"rows of {first.dims[1]} and of {second.dims[1]} elements")
        require(first.dtype is second.dtype, f"the inputs are {first.dtype.name} and {second.dtype.name}")
        return (TensorType((first.dims[0], second.dims[0]), first.dtype),)

    def forward(self, first, second):
        squares = ((first[:, None] - second[None]) ** 2).sum(-1)
        return numpy.sqrt(squares) if self.metric == "euclidean" else squares

    def backward(self, gradients, inputs, outputs):
        first, second = inputs
        slope = 1 / outputs[0] if self.metric == "euclidean" else 2.0
        pulled = (gradients[0] * slope)[..., None] * (first[:, None] - second[None])
        return pulled.sum(1), -pulled.sum(0)

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * inputs[0].dims[1]

    @classmethod
    def samples(cls):
        pair = numbers(3, 4), numbers(2, 4, seed=1)
        return tuple(Sample(cls(metric), pair) for metric in ("sqeuclidean", "euclidean"))
