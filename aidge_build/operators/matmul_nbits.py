# SPDX-License-Identifier: MIT
"""Products with weights of a few bits, which stay packed: integers with a scale and a zero point for each block."""

from __future__ import annotations

import math

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import attribute, operator
from aidge_build.operators.sample import Sample, numbers


@operator("com.microsoft::MatMulNBits")
class MatMulNBits(Operator):
    """y = x w + bias with w[k, n] = (q[n, k] - zero point) * scale, one of each for every `block` elements of a column.

    Inputs: x [..., depth], the packed q (uint8, the first element in the lowest bits, each column padded to whole blocks),
    scales [columns * blocks], packed zero points (half of the range where there are none), bias [columns]. Source: onnxruntime's
    operator MatMulNBits; a product with what a blocked DequantizeLinear makes of elements of 2 or 4 bits becomes it, too.
    """

    depth: int = attribute(16, name="K")
    columns: int = attribute(1, name="N")
    bits: int = attribute(4, among=(2, 4, 8))
    block: int = attribute(name="block_size", default=16)

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("K", "N", "accuracy_level", "bits", "block_size", "weight_prepacked")
        depth, columns, bits, block = (source.integer(name, 4) for name in ("K", "N", "bits", "block_size"))
        require(bits in (2, 4, 8), f"weights of {bits} bits are not supported (2, 4 and 8 are)")
        require(
            min(depth, columns) > 0 and block > 0 and block % 8 == 0, f"blocks of {block} in a matrix of {depth} by {columns}"
        )
        reordered = source.optional_input(4) is not None or source.integer("weight_prepacked", 0)
        require(not reordered, "reordered weights are not supported")
        for place in (1, 2, 3, 5):
            source.optional_constant(place)
        given = [source.input_names[place] if place < len(source.input_names) else "" for place in (0, 1, 2, 3, 5)]
        while not given[-1]:
            given.pop()
        return cls(depth, columns, bits, block), given

    @property
    def blocks(self) -> int:
        """The number of blocks of a column."""
        return math.ceil(self.depth / self.block)

    def infer(self, inputs):
        data, packed, scales = inputs[:3]
        zero_points, bias = (*inputs[3:], None, None)[:2]
        require(
            data.rank > 0 and data.dims[-1] == self.depth, f"the data has the dims {list(data.dims)}, wants {self.depth} columns"
        )
        sizes = self.columns * self.blocks * (self.block * self.bits // 8), self.columns * self.blocks
        for what, tensor, size in (("weights", packed, sizes[0]), ("scales", scales, sizes[1]), ("bias", bias, self.columns)):
            require(tensor is None or tensor.elements == size, f"{tensor.elements if tensor else 0} {what}, wants {size}")
        wanted = self.columns * math.ceil(self.blocks * self.bits / 8)
        fits = zero_points is None or zero_points.dtype is DType.uint8 and zero_points.elements == wanted
        require(fits, f"the zero points are {zero_points}, wants {wanted} bytes")
        require(data.dtype.is_float and packed.dtype is DType.uint8, f"{data.dtype.name} data and {packed.dtype.name} weights")
        return (TensorType((*data.dims[:-1], self.columns), data.dtype),)

    def forward(self, data, packed, scales, zero_points=None, bias=None):
        result = data @ self.weights(packed, scales, zero_points)
        return result if bias is None else result + bias

    def weights(self, packed, scales, zero_points) -> numpy.ndarray:
        """Returns the matrix [depth, columns] in float64."""
        levels = self.unpacked(packed, self.blocks * self.block)[:, : self.depth].astype(numpy.float64)
        by_block = [
            values.astype(numpy.float64).repeat(self.block, 1)[:, : self.depth] for values in self.parameters(scales, zero_points)
        ]
        return ((levels - by_block[1]) * by_block[0]).T

    def parameters(self, scales, zero_points) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Returns scales and zero points [columns, blocks]."""
        shape = (self.columns, self.blocks)
        if zero_points is None:
            return scales.reshape(shape), numpy.full(shape, 1 << self.bits - 1, numpy.uint8)
        return scales.reshape(shape), self.unpacked(zero_points, self.blocks)

    def unpacked(self, content: numpy.ndarray, count: int) -> numpy.ndarray:
        """Returns the first `count` numbers of each column."""
        content = content.reshape(self.columns, -1)
        parts = [content >> shift & (1 << self.bits) - 1 for shift in range(0, 8, self.bits)]
        return numpy.stack(parts, axis=-1).reshape(self.columns, -1)[:, :count]

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * self.depth

    @classmethod
    def samples(cls):
        random = numpy.random.default_rng(0)
        packed = random.integers(0, 256, 3 * 2 * 4).astype(numpy.uint8)
        return (Sample(cls(12, 3, 4, 8), (numbers(2, 12), packed, numbers(6, seed=1), None, numbers(3, seed=2))),)


def packed_columns(levels: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Returns numbers [columns, count] as bytes [columns, ...], the first number in the lowest bits."""
    together = 8 // bits
    padded = numpy.pad(levels.astype(numpy.int64), ((0, 0), (0, -levels.shape[1] % together)))
    return (padded.reshape(len(levels), -1, together) << numpy.arange(0, 8, bits)).sum(axis=2).astype(numpy.uint8)
