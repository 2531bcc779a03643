# SPDX-License-Identifier: MIT
"""A tensor with one block replaced: the usual meaning of a ScatterND with constant indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aidge_build.operators.base import TensorType, require
from aidge_build.operators.kinds import Moved
from aidge_build.operators.sample import Sample, numbers


@dataclass(frozen=True)
class Replace(Moved):
    """Y = X with the second input written over its elements from `starts` on. It has no ONNX name: only recipes make it."""

    joins: ClassVar = True

    starts: tuple[int, ...] = ()

    def rounds(self, inputs, outputs):
        return False

    def infer(self, inputs):
        data, block = inputs
        require(data.dtype is block.dtype, f"the data is {data.dtype.name}, the block {block.dtype.name}")
        fits = len(self.starts) == data.rank == block.rank and all(
            0 <= start and start + few <= many for start, few, many in zip(self.starts, block.dims, data.dims)
        )
        require(fits, f"the block {list(block.dims)} at {list(self.starts)} is not inside of {list(data.dims)}")
        return (TensorType(data.dims, data.dtype),)

    def forward(self, data, block):
        result = data.copy()
        result[tuple(slice(start, start + size) for start, size in zip(self.starts, block.shape))] = block
        return result

    @classmethod
    def samples(cls):
        return (
            Sample(cls((1, 2)), (numbers(3, 4), numbers(2, 1, seed=1))),
            Sample(cls((0,)), (numbers(3), numbers(3, seed=1))),
        )

    def forward_quantized(self, values, inputs, outputs):
        return (self.forward(*values),)
