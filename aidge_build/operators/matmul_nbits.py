# SPDX-License-Identifier: MIT
"""Products with weights of a few bits, which stay packed: integers with a scale and a zero point for each block."""

from __future__ import annotations

import math

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import attribute, operator
from aidge_build.operators.sample import Sample, numbers

INT8_LEVEL = 4  # the accuracy_level that asks for products of int8
SMALLEST = numpy.float32(2.0**-87)  # a block of smaller values is a block of zeros: no step of the arithmetic underflows


@operator("com.microsoft::MatMulNBits")
class MatMulNBits(Operator):
    """y = x w + bias with w[k, n] = (q[n, k] - zero point) * scale, one of each for every `block` elements of a column.

    Inputs: x [..., depth], the packed q (uint8, the first element in the lowest bits, each column padded to whole blocks),
    scales [columns * blocks], packed zero points (half of the range where there are none), bias [columns]. Source: onnxruntime's
    operator MatMulNBits; a product with what a blocked DequantizeLinear makes of elements of 2 or 4 bits becomes it, too.

    With an `accuracy_level` of 4 each block of a row of x becomes int8 levels with a scale of its own before it is multiplied
    (`levels_of_blocks`).
    """

    depth: int = attribute(16, name="K")
    columns: int = attribute(1, name="N")
    bits: int = attribute(4, among=(2, 4, 8))
    block: int = attribute(name="block_size", default=16)
    accuracy_level: int = attribute(default=0, among=(0, 1, 2, 3, INT8_LEVEL))

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("K", "N", "accuracy_level", "bits", "block_size", "weight_prepacked")
        depth, columns, bits, block = (source.integer(name, 4) for name in ("K", "N", "bits", "block_size"))
        level = source.integer("accuracy_level", 0)
        require(level in range(INT8_LEVEL + 1), f"an accuracy_level of {level} is not supported (0 to {INT8_LEVEL} are)")
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
        return cls(depth, columns, bits, block, level), given

    @property
    def multiplies_int8(self) -> bool:
        """Whether the data becomes int8 levels, block by block."""
        return self.accuracy_level == INT8_LEVEL

    @property
    def has_levels_inside(self):
        return self.multiplies_int8

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
        if self.multiplies_int8:
            return self._product_of_levels(data, packed, *self.parameters(scales, zero_points), bias)
        result = data @ self.weights(packed, scales, zero_points)
        return result if bias is None else result + bias

    def _product_of_levels(self, data, packed, scales, zero_points, bias) -> numpy.ndarray:
        """Returns the product that the kernels compute: bias + the sums of block 0 * its scales + the sums of block 1 ..., each
        operation rounded to float32."""
        shape = (self.columns, self.blocks, self.block)
        weights = self.unpacked(packed, self.blocks * self.block).reshape(shape).astype(numpy.float64) - zero_points[:, :, None]
        levels, units = levels_of_blocks(data.reshape(-1, self.depth), self.block)
        result = numpy.zeros((len(levels), self.columns), numpy.float32)
        if bias is not None:
            result += bias.astype(numpy.float32)
        for block in range(self.blocks):
            sums = levels[:, block].astype(numpy.float64) @ weights[:, block].T
            result += sums.astype(numpy.float32) * (units[:, block, None] * scales[:, block].astype(numpy.float32))
        return result.reshape(*data.shape[:-1], self.columns).astype(data.dtype)

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


def levels_of_blocks(rows: numpy.ndarray, block: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns int8 levels [rows, blocks, block] and their scales [rows, blocks], float32, of float rows; zeros follow a row.

    The scale is the largest magnitude of the block over 127. A level is the value times the reciprocal of the scale, rounded to
    float32, then to an integer, half to even. A block without a magnitude of at least `SMALLEST` is zeros with the scale 0; a
    block with a value that is not finite is zeros with the scale NaN. Source: onnxruntime's kernels of MatMulNBits.
    """
    padded = numpy.pad(rows.astype(numpy.float32), ((0, 0), (0, -rows.shape[1] % block)))
    values = padded.reshape(len(rows), -1, block)
    largest = numpy.abs(values).max(axis=2)
    has_levels = numpy.isfinite(largest) & (largest >= SMALLEST)
    values = numpy.where(has_levels[:, :, None], values, numpy.float32(0))
    scales = numpy.where(has_levels, largest, 127) / numpy.float32(127)
    levels = numpy.rint(values * (numpy.float32(1) / scales)[:, :, None]).astype(numpy.int8)
    others = numpy.where(numpy.isfinite(largest), numpy.float32(0), numpy.float32(numpy.nan))
    return levels, numpy.where(has_levels, scales, others)


def packed_columns(levels: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Returns numbers [columns, count] as bytes [columns, ...], the first number in the lowest bits."""
    together = 8 // bits
    padded = numpy.pad(levels.astype(numpy.int64), ((0, 0), (0, -levels.shape[1] % together)))
    return (padded.reshape(len(levels), -1, together) << numpy.arange(0, 8, bits)).sum(axis=2).astype(numpy.uint8)
