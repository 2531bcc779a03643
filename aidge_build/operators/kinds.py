# SPDX-License-Identifier: MIT
"""The kinds of operators: base classes with the shape rule, the gradient, the memory model and the samples that a kind shares.

    Unary               one input
      ElementWise       each element by itself              forward or function, derivative
      ForAxis           rows along an axis to such rows     along_rows, rows_backward
      ReduceAxis        axes to one element                 reduced, derivative
      Moved             elements copied to other places     forward
    Binary              two inputs
      ElementWiseBinary pairs of elements, equal dims       forward or function, derivatives
      Broadcast         pairs of elements, broadcast dims   forward or function, derivatives

Convolutions (`conv.Convolution`) and pools (`pool.Pool`) have kinds of their own, and share the sliding window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.attributes import attribute
from aidge_build.operators.axes import counted_axes, counted_axis
from aidge_build.operators.bands import ROWS, band_of_rows, same_rows
from aidge_build.operators.base import Operator, TensorType, as_tuple, require
from aidge_build.operators.broadcasting import broadcast_dims, summed_to
from aidge_build.operators.groups import CHANNELS, same_channels
from aidge_build.operators.sample import Sample, numbers


def _own(cls: type, base: type, *names: str) -> bool:
    """Whether the class replaces one of these methods of its kind."""
    return any(getattr(cls, name) is not getattr(base, name) for name in names)


class Unary(Operator):
    """One input, one output: by default of the same dims and type."""

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, self.result_type(data.dtype)),)

    def result_type(self, dtype: DType) -> DType:
        """The element type of the output."""
        return dtype


class ElementWise(Unary):
    """y = function(x) for each element. A subclass states `function` or `forward`, and `derivative` to be trained through.

    Samples are between the two numbers of `domain`, and not at the `kinks`.
    """

    function: ClassVar[Callable]
    domain: ClassVar[tuple[float, float]] = (-2.0, 2.0)
    kinks: ClassVar[tuple[float, ...]] = (0.0,)

    def forward(self, data):
        return type(self).function(data)

    def derivative(self, data: numpy.ndarray, result: numpy.ndarray) -> numpy.ndarray | float:
        """Returns dy / dx at each element."""
        raise NotImplementedError

    def backward(self, gradients, inputs, outputs):
        return (gradients[0] * self.derivative(inputs[0], outputs[0]),)

    @classmethod
    def has_backward(cls):
        return _own(cls, ElementWise, "derivative", "backward")

    @classmethod
    def sample_values(cls, *dims: int) -> numpy.ndarray:
        """Returns values of the domain."""
        return numbers(*dims, low=cls.domain[0], high=cls.domain[1], kinks=cls.kinks)

    @classmethod
    def samples(cls):
        return tuple(Sample(one, (cls.sample_values(*dims),)) for one in cls.examples() for dims in ((2, 3, 4), (7,), ()))

    def takes_over(self, inputs, outputs):
        return (0,)

    def group(self, inputs, outputs, channels):
        return same_channels(self, inputs, outputs)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last)


@dataclass(frozen=True)
class ForAxis(Unary):
    """y = function(row) for each row along `axis`, or with `until_end` over this axis and all after it (ONNX before opset 13).

    A negative axis counts from the end.
    """

    axis: int = attribute(-1)
    until_end: bool = False

    def infer(self, inputs):
        (data,) = inputs
        require(data.rank > 0 or self.until_end, "the input has no axis")
        if not self.until_end:
            counted_axis(self.axis, data.rank)
        return (TensorType(data.dims, self.result_type(data.dtype)),)

    def along_rows(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Returns the results for rows along the last axis."""
        raise NotImplementedError

    def rows_backward(self, gradient: numpy.ndarray, rows: numpy.ndarray, result: numpy.ndarray) -> numpy.ndarray:
        """Returns the gradient of the rows; the last axis of all arrays is a row."""
        raise NotImplementedError

    def forward(self, data):
        return self.from_rows(self.along_rows(self.rows(data)), data.shape)

    def backward(self, gradients, inputs, outputs):
        result = self.rows_backward(self.rows(gradients[0]), self.rows(inputs[0]), self.rows(outputs[0]))
        return (self.from_rows(result, inputs[0].shape),)

    @classmethod
    def has_backward(cls):
        return _own(cls, ForAxis, "rows_backward", "backward")

    def group(self, inputs, outputs, channels):
        axis = counted_axis(self.axis, inputs[0].rank, beyond=1)
        return same_channels(self, inputs, outputs) if axis > CHANNELS else None

    def band(self, inputs, outputs, first, last):
        axis = counted_axis(self.axis, inputs[0].rank, beyond=1)
        apart = axis > ROWS or axis < ROWS and not self.until_end
        return same_rows(self, inputs, outputs, first, last) if apart else None

    def row_length(self, dims: tuple[int, ...]) -> int:
        """Returns the number of elements of a row."""
        return math.prod(dims[self.axis :]) if self.until_end else dims[self.axis]

    def rows(self, data: numpy.ndarray) -> numpy.ndarray:
        """Returns the data with its rows along the last axis."""
        if self.until_end:
            return data.reshape(math.prod(data.shape[: self.axis]), -1)
        return numpy.moveaxis(data, self.axis, -1)

    def from_rows(self, rows: numpy.ndarray, shape: tuple[int, ...]) -> numpy.ndarray:
        """Returns the result of `rows`, back in the order of the data."""
        return rows.reshape(shape) if self.until_end else numpy.moveaxis(rows, -1, self.axis)

    @classmethod
    def examples(cls):
        return cls(), cls(axis=1), cls(axis=1, until_end=True)

    @classmethod
    def samples(cls):
        return tuple(Sample(operator, (numbers(2, 3, 4),)) for operator in cls.examples())


@dataclass(frozen=True)
class ReduceAxis(Unary):
    """y = function over `axes`, negative ones counted from the end; they stay with length 1 if `keep` is set (ONNX: keepdims)."""

    function: ClassVar[Callable]
    domain: ClassVar[tuple[float, float]] = (-2.0, 2.0)

    axes: tuple[int, ...] = attribute(())
    keep: bool = attribute(True, name="keepdims")

    def infer(self, inputs):
        (data,) = inputs
        reduced = counted_axes(self.axes, data.rank)
        dims = (1 if axis in reduced else size for axis, size in enumerate(data.dims) if self.keep or axis not in reduced)
        return (TensorType(tuple(dims), self.result_type(data.dtype)),)

    def forward(self, data):
        return type(self).function(data, axis=self.axes, keepdims=self.keep)

    def derivative(self, data: numpy.ndarray, result: numpy.ndarray) -> numpy.ndarray | float:
        """Returns dy / dx at each element; the reduced axes of `result` have length 1."""
        raise NotImplementedError

    def backward(self, gradients, inputs, outputs):
        data = inputs[0]
        reduced = counted_axes(self.axes, data.ndim)
        kept = tuple(1 if axis in reduced else size for axis, size in enumerate(data.shape))
        derivative = self.derivative(data, outputs[0].reshape(kept))
        return (numpy.broadcast_to(gradients[0].reshape(kept) * derivative, data.shape),)

    def band(self, inputs, outputs, first, last):
        reduced = counted_axes(self.axes, inputs[0].rank)
        apart = all(axis > ROWS or self.keep and axis < ROWS for axis in reduced)
        return band_of_rows(self, inputs, outputs, (first, last)) if apart else None

    @classmethod
    def has_backward(cls):
        return _own(cls, ReduceAxis, "derivative", "backward")

    @classmethod
    def examples(cls):
        return cls(axes=(0, 1, 2)), cls(axes=(1,)), cls(axes=(0, 2), keep=False)

    @classmethod
    def samples(cls):
        return tuple(Sample(one, (numbers(2, 3, 4, low=cls.domain[0], high=cls.domain[1]),)) for one in cls.examples())


class Moved(Operator):
    """Every element of an output is an element of input 0 (or of all inputs), or a fill value: Slice, Pad, Gather.

    The gradient takes the way that `forward` shows for numbered elements.
    """

    hands_on: ClassVar = True
    joins: ClassVar[bool] = False  # whether all inputs are moved (Concat), not only the first

    def number_places(self, *inputs: numpy.ndarray) -> tuple[numpy.ndarray, ...]:
        """Returns `forward` of the numbers of places; elements that come from no input must be 0."""
        return as_tuple(self.forward(*inputs))

    def backward(self, gradients, inputs, outputs):
        moved = len(inputs) if self.joins else 1
        sizes = [value.size for value in inputs[:moved]]
        firsts = numpy.cumsum([1, *sizes])  # 0: the element comes from no input
        places = [
            numpy.arange(first, first + value.size, dtype=numpy.float64).reshape(value.shape)
            for first, value in zip(firsts, inputs[:moved])
        ]
        sums = numpy.zeros(firsts[-1])
        for gradient, taken in zip(gradients, self.number_places(*places, *inputs[moved:])):
            sums += numpy.bincount(taken.astype(numpy.intp).reshape(-1), gradient.reshape(-1), firsts[-1])
        found = tuple(sums[first : first + size].reshape(value.shape) for first, size, value in zip(firsts, sizes, inputs))
        return (*found, *(None,) * (len(inputs) - moved))


class Binary(Operator):
    """Two inputs of one type, one output."""

    def infer(self, inputs):
        first, second = inputs
        require(first.dtype is second.dtype, f"the inputs are {first.dtype.name} and {second.dtype.name}")
        return (TensorType(self.result_dims(first.dims, second.dims), self.result_type(first.dtype)),)

    def result_dims(self, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the dims of the output; AidgeError if the inputs' dims do not fit."""
        raise NotImplementedError

    def result_type(self, dtype: DType) -> DType:
        """The element type of the output."""
        return dtype


class ElementWiseBinary(Binary):
    """y = function(a, b) for each pair of elements of two tensors with equal dims. `derivatives` makes it trainable."""

    function: ClassVar[Callable]
    domain: ClassVar[tuple[float, float]] = (-2.0, 2.0)
    other_domain: ClassVar[tuple[float, float]] = (-1.5, 2.3)  # of b

    def result_dims(self, first, second):
        require(first == second, f"the inputs have the dims {list(first)} and {list(second)}, want equal ones")
        return first

    def forward(self, first, second):
        return type(self).function(first, second)

    def derivatives(
        self, first: numpy.ndarray, second: numpy.ndarray, result: numpy.ndarray
    ) -> tuple[numpy.ndarray | float, numpy.ndarray | float]:
        """Returns dy / da and dy / db at each pair."""
        raise NotImplementedError

    def backward(self, gradients, inputs, outputs):
        shape = outputs[0].shape
        return tuple(
            summed_to(numpy.broadcast_to(gradients[0] * derivative, shape), value.shape)
            for derivative, value in zip(self.derivatives(*inputs, outputs[0]), inputs)
        )

    @classmethod
    def has_backward(cls):
        return _own(cls, ElementWiseBinary, "derivatives", "backward")

    @classmethod
    def sample_pairs(cls) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Returns the dims of the samples."""
        return ((2, 3), (2, 3)), ((5,), (5,))

    @classmethod
    def sample_values(cls, *dims: int, second: bool = False) -> numpy.ndarray:
        """Returns values of a, or of b."""
        low, high = cls.other_domain if second else cls.domain
        return numbers(*dims, low=low, high=high, seed=int(second))

    @classmethod
    def samples(cls):
        return tuple(
            Sample(operator, (cls.sample_values(*first), cls.sample_values(*second, second=True)))
            for operator in cls.examples()
            for first, second in cls.sample_pairs()
        )

    def takes_over(self, inputs, outputs):
        return tuple(index for index, tensor in enumerate(inputs) if tensor.dims == outputs[0].dims)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last, len(inputs))


class Broadcast(ElementWiseBinary):
    """y = function(a, b) for each pair of elements of two tensors with dims that broadcast."""

    def result_dims(self, first, second):
        return broadcast_dims(first, second)

    @classmethod
    def sample_pairs(cls):
        return ((2, 3), (2, 3)), ((2, 3, 2), (3, 1)), ((), (4,)), ((1, 3), (2, 1))
