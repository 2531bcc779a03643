# SPDX-License-Identifier: MIT
"""Softmax, LogSoftmax and Hardmax along an axis, or over all axes from one on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.softmax import quantized_softmax, softmax_table
from aidge_build.operators.base import Operator
from aidge_build.operators.kinds import ForAxis
from aidge_build.operators.register import operator


class ScoresAlongAxis(ForAxis):
    """How the three are written in ONNX. None of them derives from another: no question about one is true of another."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis")
        data = source.input(0)
        old = source.opset < 13
        axis = source.axis("axis", 1 if old else -1, data.rank, beyond=1 if old else 0)
        return cls(axis, old and math.prod(data.dims[axis + 1 :]) != 1 or axis == data.rank)


@operator("Softmax")
class Softmax(ScoresAlongAxis):
    """y = e^x / sum of e^x over one row; a row runs along `axis`, or with `until_end` over this axis and all after it.

    On quantized tensors it is integer arithmetic with a table, see `aidge_build.operators.arithmetic.softmax`.
    Source: ONNX operator Softmax; `until_end` is its meaning before opset 13.
    """

    def along_rows(self, rows):
        terms = numpy.exp(rows - rows.max(axis=-1, keepdims=True))
        return terms / terms.sum(axis=-1, keepdims=True)

    def rows_backward(self, gradient, rows, result):
        return result * (gradient - (gradient * result).sum(axis=-1, keepdims=True))

    def forward_quantized(self, values, inputs, outputs):
        (data,), (tensor,), (output,) = values, inputs, outputs
        if tensor.dtype not in (DType.int8, DType.uint8):  # the table has an entry for each difference of two levels
            return Operator.forward_quantized(self, values, inputs, outputs)
        table = softmax_table(tensor.quantization.scale, output.quantization.scale, self.row_length(tensor.dims))
        rows = self.rows(data).astype(numpy.int64)
        levels = quantized_softmax(rows, table, output.quantization.zero_point, *output.dtype.range)
        return (self.from_rows(levels, data.shape).astype(output.dtype.numpy),)


@dataclass(frozen=True)
class ZeroedRows(ForAxis):
    """Y = X, but zeros for a row with NaN as its first element: a softmax has NaN in a whole row or not at all. It has no ONNX
    name: only recipes make it."""

    def along_rows(self, rows):
        return numpy.where(numpy.isnan(rows[..., :1]), 0, rows)

    def rows_backward(self, gradient, rows, result):
        return numpy.where(numpy.isnan(rows[..., :1]), 0, gradient)


@operator("LogSoftmax")
class LogSoftmax(ScoresAlongAxis):
    """y = ln(Softmax(x)). Source: ONNX operator LogSoftmax."""

    def along_rows(self, rows):
        rows = rows - rows.max(axis=-1, keepdims=True)
        return rows - numpy.log(numpy.exp(rows).sum(axis=-1, keepdims=True))

    def rows_backward(self, gradient, rows, result):
        return gradient - numpy.exp(result) * gradient.sum(axis=-1, keepdims=True)


@operator("Hardmax")
class Hardmax(ScoresAlongAxis):
    """1 at the first largest element of each row, 0 elsewhere. Source: ONNX operator Hardmax."""

    def along_rows(self, rows):
        return (rows.argmax(axis=-1)[..., None] == numpy.arange(rows.shape[-1])).astype(rows.dtype)

    def rows_backward(self, gradient, rows, result):
        return numpy.zeros(rows.shape)  # it jumps, and is level elsewhere
