# SPDX-License-Identifier: MIT
"""Operators that find places: the largest element, the k largest."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.bands import ROWS, band_of_rows
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


@operator("ArgMax")
class ArgMax(Operator):
    """The index of the largest element along `axis`, the first or the last of equal ones. Source: ONNX operator ArgMax."""

    axis: int = 0
    keep: bool = True
    last: bool = False

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis", "keepdims", "select_last_index")
        return cls(
            source.axis("axis", 0, source.input(0).rank),
            bool(source.integer("keepdims", 1)),
            bool(source.integer("select_last_index", 0)),
        )

    def infer(self, inputs):
        (data,) = inputs
        require(data.dims[self.axis] > 0, f"axis {self.axis} of {list(data.dims)} has no element")
        middle = (1,) if self.keep else ()
        return (TensorType((*data.dims[: self.axis], *middle, *data.dims[self.axis + 1 :]), DType.int64),)

    def band(self, inputs, outputs, first, last):
        apart = self.axis > ROWS or self.keep and self.axis < ROWS
        return band_of_rows(self, inputs, outputs, (first, last)) if apart else None

    def forward(self, data):
        found = self._index(numpy.flip(data, self.axis) if self.last else data)
        found = data.shape[self.axis] - 1 - found if self.last else found
        return (numpy.expand_dims(found, self.axis) if self.keep else found).astype(numpy.int64)

    def _index(self, data):
        return numpy.argmax(data, self.axis)


@operator("ArgMin")
class ArgMin(ArgMax):
    """The index of the smallest element along `axis`, the first or the last of equal ones. Source: ONNX operator ArgMin."""

    def _index(self, data):
        return numpy.argmin(data, self.axis)


@operator("TopK")
class TopK(Operator):
    """The k largest (or smallest) elements along `axis` in order, and their indices; of equal ones the first wins.

    Source: ONNX operator TopK, with a constant k.
    """

    axis: int = -1
    count: int = 1
    largest: bool = True

    @classmethod
    def from_onnx(cls, source):
        rank = source.input(0).rank
        if source.opset < 10:
            source.expect_attributes("axis", "k")
            count = source.integer("k")
        else:
            source.expect_attributes("axis", "largest", "sorted")
            counts = source.constant_integers(1)
            require(len(counts) == 1, f"k has {len(counts)} numbers, wants one")
            (count,) = counts
        return cls(source.axis("axis", -1, rank), count, bool(source.integer("largest", 1))), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        require(
            0 < self.count <= data.dims[self.axis], f"k is {self.count}, axis {self.axis} has {data.dims[self.axis]} elements"
        )
        dims = (*data.dims[: self.axis], self.count, *data.dims[self.axis + 1 :])
        return TensorType(dims, data.dtype), TensorType(dims, DType.int64)

    def forward(self, data):
        # A stable sort keeps the first of equal elements in front; so does reversing data and order, largest first.
        if self.largest:
            order = numpy.flip(
                data.shape[self.axis] - 1 - numpy.argsort(numpy.flip(data, self.axis), self.axis, kind="stable"), self.axis
            )
        else:
            order = numpy.argsort(data, self.axis, kind="stable")
        order = numpy.take(order, range(self.count), self.axis)
        return numpy.take_along_axis(data, order, self.axis), order.astype(numpy.int64)

    def backward(self, gradients, inputs, outputs):
        result = numpy.zeros(inputs[0].shape)
        numpy.put_along_axis(result, outputs[1], gradients[0], self.axis)
        return (result,)

    @classmethod
    def samples(cls):
        return tuple(Sample(cls(axis, 2, largest), (numbers(3, 4),)) for axis in (0, 1) for largest in (False, True))
