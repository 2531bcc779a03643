# SPDX-License-Identifier: MIT
"""Reductions over axes."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.means import Order, added_up
from aidge_build.operators.axes import counted_axes
from aidge_build.operators.bands import ROWS
from aidge_build.operators.base import require
from aidge_build.operators.kinds import ReduceAxis
from aidge_build.operators.pool_part import part_of_map
from aidge_build.operators.register import operator


class Reduce(ReduceAxis):
    """Base of ONNX's reductions over axes; they stay with length 1 if `keep` is set.

    Axes are an attribute, or an input since opset 18 (ReduceSum: 13).
    """

    empties: ClassVar = True
    axes_are_input_since: ClassVar[int] = 18
    needs_elements: ClassVar[bool] = True

    @classmethod
    def from_onnx(cls, source):
        rank = source.input(0).rank
        if source.opset < cls.axes_are_input_since:
            source.expect_attributes("axes", "keepdims")
            axes = source.integers("axes", ())
        else:
            source.expect_attributes("keepdims", "noop_with_empty_axes")
            axes = source.constant_integers(1) if source.optional_input(1) is not None else ()
        if not axes and not source.integer("noop_with_empty_axes", 0):
            axes = tuple(range(rank))
        return cls(tuple(sorted(counted_axes(axes, rank))), bool(source.integer("keepdims", 1))), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        require(
            not self.needs_elements or all(data.dims[axis] for axis in self.axes), f"an axis of {list(data.dims)} has no element"
        )
        return super().infer(inputs)

    def value_of_nothing(self, dtype):
        """Returns the result of a reduction over no element if numpy refuses it; None if numpy defines it."""
        return None

    def forward(self, data):
        if not data.size and (value := self.value_of_nothing(DType(data.dtype.name))) is not None:
            return numpy.full(numpy.sum(data, axis=self.axes, keepdims=self.keep).shape, value, data.dtype)
        result = super().forward(data)
        return result.astype(data.dtype) if data.dtype.kind != "f" else result


def _mean(data: numpy.ndarray, axis: tuple[int, ...], keepdims: bool) -> numpy.ndarray:
    count = int(numpy.prod([data.shape[i] for i in axis], dtype=numpy.int64))
    if data.dtype.kind != "f":
        return data.sum(axis=axis, keepdims=keepdims) / count
    rows = numpy.moveaxis(data, axis, tuple(range(data.ndim - len(axis), data.ndim)))
    rows = rows.reshape(*rows.shape[: data.ndim - len(axis)], 1, count)
    means = added_up(rows, Order.TURN) / data.dtype.type(count)
    return numpy.expand_dims(means, axis) if keepdims else means


@operator("ReduceMean")
class ReduceMean(Reduce):
    """The mean over the axes. Source: ONNX operator ReduceMean."""

    by_steps: ClassVar = True  # value by value, as its kernels: on ties a following quantization shows the order
    function: ClassVar = staticmethod(_mean)

    def part(self, inputs, outputs, first, last):
        whole_map = self.keep and counted_axes(self.axes, inputs[0].rank) == tuple(range(ROWS, inputs[0].rank))
        return part_of_map(self, inputs, outputs, first, last) if whole_map else None

    def derivative(self, data, result):
        return result.size / data.size


@operator("ReduceSum")
class ReduceSum(Reduce):
    """The sum over the axes. Source: ONNX operator ReduceSum."""

    function: ClassVar = staticmethod(numpy.sum)
    axes_are_input_since: ClassVar = 13
    needs_elements: ClassVar = False

    def derivative(self, data, result):
        return 1.0


@operator("ReduceProd")
class ReduceProd(Reduce):
    """The product over the axes. Source: ONNX operator ReduceProd."""

    function: ClassVar = staticmethod(numpy.prod)
    needs_elements: ClassVar = False
    domain: ClassVar = (0.5, 2.0)

    def derivative(self, data, result):
        return result / data


def first_in_rows(found: numpy.ndarray, axes: tuple[int, ...]) -> numpy.ndarray:
    """Returns a mask of the first true element along the axes: among equal elements the first gets the gradient."""
    last = tuple(range(-len(axes), 0))
    moved = numpy.moveaxis(found, axes, last)
    rows = moved.reshape(*moved.shape[: moved.ndim - len(axes)], -1)
    first = (numpy.arange(rows.shape[-1]) == rows.argmax(-1)[..., None]) & rows
    return numpy.moveaxis(first.reshape(moved.shape), last, axes)


@operator("ReduceMax")
class ReduceMax(Reduce):
    """The largest element over the axes. Source: ONNX operator ReduceMax."""

    hands_on: ClassVar = True
    function: ClassVar = staticmethod(numpy.max)
    needs_elements: ClassVar = False

    def value_of_nothing(self, dtype):
        return -numpy.inf if dtype.is_float else False if dtype is DType.bool else dtype.range[0]

    def derivative(self, data, result):
        return first_in_rows(data == result, self.axes)


@operator("ReduceMin")
class ReduceMin(Reduce):
    """The smallest element over the axes. Source: ONNX operator ReduceMin."""

    hands_on: ClassVar = True
    function: ClassVar = staticmethod(numpy.min)
    needs_elements: ClassVar = False

    def value_of_nothing(self, dtype):
        return numpy.inf if dtype.is_float else True if dtype is DType.bool else dtype.range[1]

    def derivative(self, data, result):
        return first_in_rows(data == result, self.axes)
