# SPDX-License-Identifier: MIT
"""Softmax along an axis, or over all axes from one on."""

from __future__ import annotations

import math

import numpy

from aidge_build.arithmetic.softmax import quantized_softmax, softmax_table
from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import operator


@operator("Softmax")
class Softmax(Operator):
    """y = e^x / sum of e^x over one row; a row runs along `axis`, or with `until_end` over this axis and all after it.

    On quantized tensors it is integer arithmetic with a table, see `aidge_build.arithmetic.softmax`.
    Source: ONNX operator Softmax; `until_end` is its meaning before opset 13.
    """

    axis: int = -1
    until_end: bool = False

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis")
        data = source.input(0)
        old = source.opset < 13
        axis = source.axis("axis", 1 if old else -1, data.rank, beyond=1 if old else 0)
        return cls(axis, old and math.prod(data.dims[axis + 1:]) != 1 or axis == data.rank)

    def infer(self, inputs):
        (data,) = inputs
        require(data.rank > 0 or self.until_end, "the input has no axis")
        return (TensorType(data.dims, data.dtype),)

    def row_length(self, dims: tuple[int, ...]) -> int:
        """How many elements one row has."""
        return math.prod(dims[self.axis:]) if self.until_end else dims[self.axis]

    def forward(self, data):
        rows = self._rows(data)
        terms = numpy.exp(rows - rows.max(axis=-1, keepdims=True))
        return self._from_rows(terms / terms.sum(axis=-1, keepdims=True), data.shape)

    def forward_quantized(self, values, inputs, outputs):
        (data,), (tensor,), (output,) = values, inputs, outputs
        require(tensor.dtype in (DType.int8, DType.uint8), f"quantized Softmax of {tensor.dtype.name} is not supported")
        table = softmax_table(tensor.quantization.scale, output.quantization.scale, self.row_length(tensor.dims))
        rows = self._rows(data).astype(numpy.int64)
        levels = quantized_softmax(rows, table, output.quantization.zero_point, *output.dtype.range)
        return (self._from_rows(levels, data.shape).astype(output.dtype.numpy),)

    def _rows(self, data: numpy.ndarray) -> numpy.ndarray:
        if self.until_end:
            return data.reshape(math.prod(data.shape[:self.axis]), -1)
        return numpy.moveaxis(data, self.axis, -1)

    def _from_rows(self, rows: numpy.ndarray, shape: tuple[int, ...]) -> numpy.ndarray:
        return rows.reshape(shape) if self.until_end else numpy.moveaxis(rows, -1, self.axis)


@operator("LogSoftmax")
class LogSoftmax(Softmax):
    """y = ln(Softmax(x)). Source: ONNX operator LogSoftmax."""

    def forward(self, data):
        rows = self._rows(data)
        rows = rows - rows.max(axis=-1, keepdims=True)
        return self._from_rows(rows - numpy.log(numpy.exp(rows).sum(axis=-1, keepdims=True)), data.shape)

    def forward_quantized(self, values, inputs, outputs):
        return Operator.forward_quantized(self, values, inputs, outputs)


@operator("Hardmax")
class Hardmax(LogSoftmax):
    """1 at the first largest element of each row, 0 elsewhere. Source: ONNX operator Hardmax."""

    def forward(self, data):
        rows = self._rows(data)
        first = rows.argmax(axis=-1)[..., None] == numpy.arange(rows.shape[-1])
        return self._from_rows(first.astype(data.dtype), data.shape)
