# SPDX-License-Identifier: MIT
"""Pools over 1, 2 or 3 spatial axes, and over all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.means import Order, added_up
from aidge_build.operators.bands import windowed_rows
from aidge_build.operators.base import Activated, Operator, TensorType, require
from aidge_build.operators.pool_part import part_of_map
from aidge_build.operators.reduce import first_in_rows
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers
from aidge_build.operators.window import Window, overlaid, windows

_BUFFER = 2048 - 3  # positions of a row, pads included, that onnxruntime adds up column by column


@dataclass(frozen=True)
class Pool(Activated):
    """Base of the pools with a window: input [N, C, spatial...], output [N, C, spatial...]."""

    window: Window = Window((1,), (1,), (1,), (0,), (0,))

    def infer(self, inputs):
        (data,) = inputs
        dims = self.window.output_dims(data.dims[2:])
        for axis, (size, count) in enumerate(zip(data.dims[2:], dims)):
            require(not self._misses_input(axis, size, count), "a window looks only at pads, through the gaps of its dilation")
        return (TensorType((*data.dims[:2], *dims), data.dtype),)

    def shares(self, shown: numpy.ndarray, data: numpy.ndarray, result: numpy.ndarray) -> numpy.ndarray:
        """Returns dy / dx for each place of each window [N, C, out..., kernel...], given the elements of the windows (zeros in
        pads)."""
        raise NotImplementedError

    def backward(self, gradients, inputs, outputs):
        gradient, shown = self.unclamp(gradients[0], outputs[0]), windows(inputs[0], self.window, 0)
        wide = (..., *(None,) * self.window.rank)
        return (overlaid(gradient[wide] * self.shares(shown, inputs[0], outputs[0][wide]), self.window, inputs[0].shape),)

    def band(self, inputs, outputs, first, last):
        return windowed_rows(self, inputs, outputs, first, last)

    @classmethod
    def has_backward(cls):
        return cls.shares is not Pool.shares

    @classmethod
    def examples(cls):
        plain, wide = Window((2, 2), (2, 2), (1, 1), (0, 0), (0, 0)), Window((3, 2), (2, 1), (1, 2), (1, 0), (0, 1), True)
        return cls(window=plain), cls(window=wide, minimum=-0.61, maximum=1.33), cls(window=Window((3,), (1,), (2,), (2,), (2,)))

    @classmethod
    def samples(cls):
        return tuple(Sample(one, (numbers(*((2, 2, 5, 6), (2, 2, 9))[one.window.rank == 1]),)) for one in cls.examples())

    def _misses_input(self, axis: int, size: int, count: int) -> bool:
        """Whether one of the `count` windows has no position inside the axis.

        Pads are smaller than the kernel's extent, so it must begin before the input and step over all of it.
        """
        window = self.window
        dilation, stride, begin = window.dilations[axis], window.strides[axis], window.pads_begin[axis]
        if dilation <= size:
            return False
        starts = (index * stride - begin for index in range(min(count, begin // stride + 1)))
        return any(start < 0 and start % dilation >= size for start in starts)

    @property
    def _kernel_axes(self) -> tuple[int, ...]:
        return tuple(range(-self.window.rank, 0))


def _window(source) -> Window:
    data = source.input(0)
    require(data.rank >= 3, f"the input has rank {data.rank}, wants at least 3")
    window = Window.from_onnx(source, data.dims[2:])
    for extent, begin, end in zip(window.extents, window.pads_begin, window.pads_end):
        require(max(begin, end) < extent, f"the pads {begin} and {end} are not smaller than the {extent} positions of the kernel")
    return window


@operator("MaxPool")
class MaxPooling(Pool):
    """The largest element of each window; pads never win. Source: ONNX operator MaxPool (without the output Indices)."""

    hands_on: ClassVar = True

    @property
    def type(self) -> str:
        return f"MaxPooling{self.window.rank}D"

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides")
        if source.is_read(1):
            return MaxPoolingIndices(window=_window(source), columns_first=bool(source.integer("storage_order", 0)))
        return cls(window=_window(source))  # storage_order only concerns Indices

    def forward(self, data):
        lowest = -numpy.inf if data.dtype.kind == "f" else numpy.iinfo(data.dtype).min
        return self.clamp(windows(data, self.window, lowest).max(axis=self._kernel_axes))

    def part(self, inputs, outputs, first, last):
        return part_of_map(self, inputs, outputs, first, last)

    def shares(self, shown, data, result):
        shown = windows(data, self.window, -numpy.inf)
        rows = shown.reshape(*shown.shape[: 2 + self.window.rank], -1)
        return (rows.argmax(-1)[..., None] == numpy.arange(rows.shape[-1])).reshape(shown.shape)


@dataclass(frozen=True)
class MaxPoolingIndices(MaxPooling):
    """MaxPooling that also gives the place of each largest element, the first of equal ones, counted over the whole input.

    With `columns_first` the spatial axes are counted with the last one slowest. Source: ONNX operator MaxPool.
    """

    band, part = Operator.band, Operator.part  # it counts the places of the whole input

    columns_first: bool = False

    @property
    def type(self) -> str:
        return "MaxPoolingIndices"

    def infer(self, inputs):
        (result,) = super().infer(inputs)
        return result, TensorType(result.dims, DType.int64)

    def forward(self, data):
        spatial = data.shape[2:]
        order = tuple(reversed(range(len(spatial)))) if self.columns_first else tuple(range(len(spatial)))
        places = numpy.arange(math.prod(spatial), dtype=numpy.float64).reshape([spatial[axis] for axis in order])
        places = places.transpose(numpy.argsort(order)) if spatial else places
        every = numpy.arange(data.shape[0] * data.shape[1], dtype=numpy.float64).reshape(*data.shape[:2], *(1,) * len(spatial))
        every = every * math.prod(spatial) + places
        lowest = -numpy.inf if data.dtype.kind == "f" else numpy.iinfo(data.dtype).min
        shown, numbers = windows(data, self.window, lowest), windows(every, self.window, -1)
        shape = shown.shape[: 2 + self.window.rank]
        shown, numbers = shown.reshape(*shape, -1), numbers.reshape(*shape, -1)
        best = numpy.where(numbers >= 0, shown, lowest).argmax(-1)[..., None]
        return (
            self.clamp(numpy.take_along_axis(shown, best, -1)[..., 0]),
            numpy.take_along_axis(numbers, best, -1)[..., 0].astype(numpy.int64),
        )


@operator("LpPool")
class LpPooling(Pool):
    """(sum of |x|^order)^(1 / order) over each window. Source: ONNX operator LpPool."""

    order: int = 2

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("auto_pad", "ceil_mode", "dilations", "kernel_shape", "p", "pads", "strides")
        order = source.integer("p", 2)
        require(order > 0, f"p is {order}")
        return cls(window=_window(source), order=order)

    def forward(self, data):
        sums = (numpy.abs(windows(data, self.window, 0)) ** self.order).sum(axis=self._kernel_axes)
        return self.clamp(sums ** (1 / self.order))

    def shares(self, shown, data, result):
        return numpy.sign(shown) * (numpy.abs(shown) / numpy.where(result == 0, 1, result)) ** (self.order - 1)


@operator("AveragePool")
class AvgPooling(Pool):
    """The mean of each window, over the positions inside the input or, with `count_include_pad`, inside the pads too.

    Positions that only ceil_mode adds beyond the end pad never count. Source: ONNX operator AveragePool.
    """

    by_steps: ClassVar = True

    count_include_pad: bool = False

    @property
    def type(self) -> str:
        return f"AvgPooling{self.window.rank}D"

    @property
    def counts_pads(self) -> bool:
        """Whether a window counts positions outside of the input: never without pads, whatever `count_include_pad` is."""
        return self.count_include_pad and self.window.has_pads

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides")
        return cls.of(source)

    @classmethod
    def of(cls, source) -> AvgPooling:
        """The pool that the attributes of a node describe."""
        return cls(window=_window(source), count_include_pad=bool(source.integer("count_include_pad", 0)))

    def counts(self, spatial: tuple[int, ...]) -> numpy.ndarray:
        """Returns the number of positions that each window counts: int64 [out...]."""
        result = numpy.ones((), numpy.int64)
        window = self.window
        for axis, (size, count) in enumerate(zip(spatial, window.output_dims(spatial))):
            first, last = (-window.pads_begin[axis], size + window.pads_end[axis]) if self.count_include_pad else (0, size)
            starts = numpy.arange(count)[:, None] * window.strides[axis] - window.pads_begin[axis]
            positions = starts + numpy.arange(window.kernel[axis]) * window.dilations[axis]
            result = result[..., None] * ((first <= positions) & (positions < last)).sum(1)
        return result

    def band(self, inputs, outputs, first, last):
        found = super().band(inputs, outputs, first, last)
        if found is None:
            return None
        ((low, high),), spatial = found.reads, inputs[0].dims[2:]
        beyond = self.count_include_pad and found.operator.window.pads_end[0] > self.window.pads_end[0]
        same_order = found.operator.order((high - low, *spatial[1:])) is self.order(spatial)
        return found if same_order and not beyond else None

    def part(self, inputs, outputs, first, last):
        return part_of_map(self, inputs, outputs, first, last)

    def order(self, spatial: tuple[int, ...]) -> Order:
        """Returns the order in which onnxruntime adds up the values of a window [all kernel axes but the last, the last]."""
        window = self.window
        plain = not window.has_pads and set(window.strides) == {1} == set(window.dilations)
        if plain and window.kernel == spatial:
            return Order.LANES
        width = spatial[-1] + window.pads_begin[-1] + window.pads_end[-1]
        vectors = window.strides[-1] <= 2 and max(window.kernel) <= 32 and width <= _BUFFER and set(window.dilations) == {1}
        beyond = window.ceil_mode and self.count_include_pad
        return Order.COLUMNS if window.rank >= 2 and vectors and not beyond else Order.TURN

    def forward(self, data):
        shown, spatial = windows(data, self.window, 0), data.shape[2:]
        shown = shown.reshape(*shown.shape[: 2 + self.window.rank], -1, self.window.kernel[-1])
        return self.clamp(added_up(shown, self.order(spatial)) / self.counts(spatial).astype(data.dtype))

    def shares(self, shown, data, result):
        return numpy.broadcast_to(1 / self.counts(data.shape[2:])[(..., *(None,) * self.window.rank)], shown.shape)


class AvgPoolingHalvesUp(AvgPooling):
    """AvgPooling of tensors that a file stores as uint8: under the contract `double` ties of stored values are rounded up."""

    @property
    def type(self) -> str:
        return f"AvgPoolingHalvesUp{self.window.rank}D"


class GlobalPooling(Activated):
    """Base of the pools over all spatial axes: input [N, C, spatial...], output [N, C, 1...]."""

    def infer(self, inputs):
        (data,) = inputs
        require(data.rank >= 3, f"the input has rank {data.rank}, wants at least 3")
        return (TensorType((*data.dims[:2], *(1,) * (data.rank - 2)), data.dtype),)

    def part(self, inputs, outputs, first, last):
        return part_of_map(self, inputs, outputs, first, last)

    @classmethod
    def samples(cls):
        return Sample(cls(), (numbers(2, 3, 4, 3),)), Sample(cls(maximum=0.3), (numbers(2, 3, 5),))


@operator("GlobalAveragePool")
class GlobalAveragePooling(GlobalPooling):
    """The mean of each channel. Source: ONNX operator GlobalAveragePool."""

    by_steps: ClassVar = True

    def order(self, spatial: tuple[int, ...]) -> Order:
        """Returns the order in which onnxruntime adds up the values of a map."""
        return Order.LANES

    def forward(self, data):
        length = math.prod(data.shape[2:])
        sums = added_up(data.reshape(*data.shape[:2], 1, length), self.order(data.shape[2:]))
        return self.clamp(sums / data.dtype.type(length)).reshape(*data.shape[:2], *(1,) * (data.ndim - 2))

    def backward(self, gradients, inputs, outputs):
        shape = inputs[0].shape
        return (numpy.broadcast_to(self.unclamp(gradients[0], outputs[0]) / math.prod(shape[2:]), shape),)


@operator("GlobalMaxPool")
class GlobalMaxPooling(GlobalPooling):
    """The largest element of each channel. Source: ONNX operator GlobalMaxPool."""

    hands_on: ClassVar = True

    def forward(self, data):
        return self.clamp(data.max(axis=tuple(range(2, data.ndim)), keepdims=True))

    def backward(self, gradients, inputs, outputs):
        axes = tuple(range(2, inputs[0].ndim))
        largest = inputs[0] == inputs[0].max(axis=axes, keepdims=True)
        return (self.unclamp(gradients[0], outputs[0]) * first_in_rows(largest, axes),)
