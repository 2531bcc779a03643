# SPDX-License-Identifier: MIT
"""Products with the rows of a cache up to a position: what attention needs of keys and values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import require
from aidge_build.operators.matmul import MatMul
from aidge_build.operators.sample import Sample, numbers


@dataclass(frozen=True)
class SeenMatMul(MatMul):
    """MatMul with a third input, a position: rows of a cache after it are not read. The rows are the columns of the product,
    which are then 0, or with `inner` the axis of the sums, to which they then add nothing. A position that is no row: all are
    read. It has no ONNX name: only recipes make it."""

    inner: bool = False

    def infer(self, inputs):
        first, second, position = inputs
        require(position.elements == 1 and position.dtype in (DType.int32, DType.int64), "the position is no integer")
        return super().infer((first, second))

    def seen(self, second, position) -> int:
        """Returns how many rows of the cache are read."""
        rows, place = second.shape[-2 if self.inner else -1], int(position.reshape(()))
        return place + 1 if 0 <= place < rows else rows

    def forward(self, first, second, position):
        rows, seen = second.shape[-1], self.seen(second, position)
        if self.inner:
            return first[..., :seen] @ second[..., :seen, :]
        return numpy.where(numpy.arange(rows) < seen, first @ second, 0)

    def backward(self, gradients, inputs, outputs):
        first, second, position = inputs
        seen, by_first, by_second = self.seen(second, position), numpy.zeros_like(first), numpy.zeros_like(second)
        if self.inner:
            read = first[..., :seen], second[..., :seen, :]
            by_first[..., :seen], by_second[..., :seen, :] = super().backward(gradients, read, outputs)
        else:
            read = first, second[..., :seen]
            by_first, by_second[..., :seen] = super().backward((gradients[0][..., :seen],), read, outputs)
        return by_first, by_second, None

    @classmethod
    def samples(cls):
        values = numbers(2, 1, 3), numbers(2, 3, 4, seed=1), numpy.array([1])
        return Sample(cls(), values), Sample(cls(inner=True), values)
