# SPDX-License-Identifier: MIT
"""Layers of one image with random numbers, cut into bands of rows: what kernels get where layers are computed row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import harness
import numpy
from random_tensors import Randomness

from aidge_build.base.errors import AidgeError
from aidge_build.contract.library import Kernel
from aidge_build.contract.spec import NodeView
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.activation import Clip, Sigmoid
from aidge_build.operators.binary import Add, Mul, Sub
from aidge_build.operators.conv import Conv
from aidge_build.operators.pad import Pad
from aidge_build.operators.pool import AvgPooling, MaxPooling
from aidge_build.operators.rearrange import Concat
from aidge_build.operators.resize import Resize
from aidge_build.operators.window import Window

ROWS = 2  # the axis
WIDTHS = (16, 15, 10, 12, 6, 5, 1)
HEIGHTS = (16, 13, 25, 12, 9)
CHANNELS = (1, 3, 4, 5, 8, 16, 24, 64)
CLAMPS = ((-math.inf, math.inf), (0.0, math.inf), (0.0, 6.0))


@dataclass(frozen=True)
class Layer:
    """A case of a library with the kernel that it has for the whole layer, and the numbers of rows of its bands."""

    case: harness.Case
    kernel: Kernel
    rows: int

    @property
    def view(self) -> NodeView:
        return self.case.stored

    @property
    def ends(self) -> list[tuple[int, int]]:
        """The first, the second and the last two bands."""
        height = self.view.outputs[0].dims[ROWS]
        ends = [(first, min(height, first + self.rows)) for first in range(0, height, self.rows)]
        return list(dict.fromkeys([*ends[:2], *ends[-2:]]))

    @property
    def fewest(self) -> int:
        return min(last - first for first, last in self.ends)

    def bands(self) -> list[NodeView]:
        """None of them where the operator, the kernel or the storage order does not allow them."""
        view = self.view
        if view.outputs[0].rank <= ROWS or not self.kernel.node_class.demands(view).bands or view.outputs[0].dims[ROWS] < 2:
            return []
        bands = [view.band(first, last, self.rows, self.fewest) for first, last in self.ends]
        return [band for band in bands if band and _are_rows_apart(band)] if None not in bands else []

    def cases(self) -> Iterator[harness.Case]:
        """The bands that the kernel accepts, with their rows of the values."""
        layer, view = self, self.view

        class OfBand(type(self.case)):
            kernel = property(lambda self: layer.kernel)
            stored = property(lambda self: self.view)

        for first, last in self.ends:
            band, rows = (
                view.band(first, last, self.rows, self.fewest),
                view.operator.band(view.inputs, view.outputs, first, last),
            )
            if band is None or not _are_rows_apart(band) or self.rejection(band):
                continue
            values = tuple(
                value if read is None or value is None or tensor.is_constant else value[:, :, read[0] : read[1]]
                for tensor, value, read in zip(view.inputs, self.case.values, rows.reads)
            )
            yield OfBand(band, values)

    def rejection(self, band: NodeView) -> str:
        return self.kernel.spec.rejection(band, self.case.features, self.case.rounding)


def _are_rows_apart(view: NodeView) -> bool:
    """Whether the rows of every image that is computed lie one behind the other."""
    moving = [tensor for tensor in (*view.inputs, *view.outputs) if tensor and not tensor.is_constant and tensor.rank > ROWS]
    return all(all(tensor.dims[axis] == 1 for axis in _outside(tensor)) for tensor in moving)


def _outside(tensor: Tensor) -> tuple[int, ...]:
    order = tensor.storage.order
    return order[: order.index(ROWS)]


def layer(made: harness.Case, library: type[harness.Case], rows: int) -> Layer | None:
    """The layer with the kernel that the library prefers; None where it has none."""
    case = library(made.view, made.values)
    try:
        return Layer(case, case.kernel, rows)
    except AssertionError:
        return None


def random_layer(seed: int) -> harness.Case | None:
    """A layer of one image, int8 or, one in four, float32; None where the window does not fit."""
    random = Randomness(seed)
    is_float = random.integer(0, 3) == 0
    make = random.choice(_convolution, _convolution, _convolution, _depthwise, _depthwise, _pool, _elements, _joined, _moved)
    dims = (1, random.choice(*CHANNELS), random.choice(*HEIGHTS), random.choice(*WIDTHS))
    try:
        return make(random, dims, is_float)
    except AidgeError:
        return None


def _data(random: Randomness, dims: tuple[int, ...], is_float: bool, name: str = "x") -> tuple[Tensor, numpy.ndarray]:
    if is_float:
        return random.real(*dims, name=name), random.float32(*dims)
    return random.data(*dims, name=name), random.int8(*dims)


def _window(random: Randomness, width: int) -> Window:
    size = random.choice((1, 1), (3, 3), (3, 3), (3, 1), (2, 2), (5, 5)) if width > 1 else random.choice((3, 1), (1, 1), (4, 1))
    stride, rows = random.choice(1, 1, 2), random.choice(1, 1, 1, 2)
    pads = [tuple(min(random.integer(0, 2), extent - 1) for extent in size) for _ in range(2)]
    return Window(size, (stride, stride), (rows, rows), *pads)


def _linear(random: Randomness, dims: tuple[int, ...], is_float: bool, outputs: int, groups: int) -> harness.Case:
    low, high = random.choice(*CLAMPS)
    window = _window(random, dims[3])
    depthwise = 1 < groups == dims[1] == outputs
    operator = Conv(minimum=low, maximum=high, window=window, groups=groups, depthwise=depthwise)
    data, values = _data(random, dims, is_float)
    kernel = (outputs, dims[1] // groups, *window.kernel)
    if is_float:
        weights = constant("w", random.float32(*kernel) / numpy.float32(math.sqrt(math.prod(kernel[1:]))))
        return harness.case(operator, [data, weights, random.bias(outputs, "float32")], [values])
    weights = random.weights(*kernel)
    weights = constant("w", numpy.maximum(weights.data, -127), weights.quantization)  # as quantizers make them
    around = 0.05 * 0.01 * 50 * math.sqrt(math.prod(kernel[1:]))
    return harness.case(operator, [data, weights, random.bias(outputs)], [values], quantization=random.quantization(around))


def narrow_convolution(width: int, dilation: int, channels: int = 32) -> harness.Case:
    """A convolution of three rows over an image with so few pixels in a row, as a signal's whose positions are rows."""
    random = Randomness(10 * width + dilation)
    data, values = _data(random, (1, channels, 24, width), False)
    window = Window((3, min(width, 2)), (1, 1), (dilation, 1), (dilation, 0), (dilation, min(width, 2) - 1))
    weights = random.weights(12, channels, *window.kernel)
    weights = constant("w", numpy.maximum(weights.data, -127), weights.quantization)
    return harness.case(
        Conv(window=window),
        [data, weights, random.bias(12)],
        [values],
        quantization=random.quantization(25 * math.sqrt(channels) / 100),
    )


def _convolution(random: Randomness, dims: tuple[int, ...], is_float: bool) -> harness.Case:
    groups = random.choice(1, 1, 1, 2) if dims[1] % 2 == 0 else 1
    return _linear(random, dims, is_float, groups * random.choice(1, 4, 5, 8, 16, 20), groups)


def _depthwise(random: Randomness, dims: tuple[int, ...], is_float: bool) -> harness.Case:
    return _linear(random, dims, is_float, dims[1], dims[1])


def _pool(random: Randomness, dims: tuple[int, ...], is_float: bool) -> harness.Case:
    window = replace(_window(random, dims[3]), dilations=(1, 1))
    data, values = _data(random, dims, is_float)
    kind = random.choice(AvgPooling, MaxPooling)
    fields = {} if is_float else {"quantization": data.quantization if kind is MaxPooling else random.quantization(0.03)}
    return harness.case(kind(window=window), [data], [values], **fields)


def _elements(random: Randomness, dims: tuple[int, ...], is_float: bool) -> harness.Case:
    first, second = (_data(random, dims, is_float, name) for name in "ab")
    kind = random.choice(Add, Add, Sub, Mul, Sigmoid, Clip)
    fields = {} if is_float else {"quantization": random.quantization(0.2 if kind is Mul else 0.08)}
    if kind in (Sigmoid, Clip):
        return harness.case(kind(), [first[0]], [first[1]], **fields)
    if random.integer(0, 2) == 0:
        second = _data(random, (1, dims[1], 1, 1), is_float, "b")
    return harness.case(kind(), [first[0], second[0]], [first[1], second[1]], **fields)


def _joined(random: Randomness, dims: tuple[int, ...], is_float: bool) -> harness.Case:
    parts = [_data(random, (1, channels, *dims[2:]), is_float, name) for channels, name in ((dims[1], "a"), (8, "b"))]
    tensors = [tensor if is_float else tensor.with_(quantization=per_tensor(0.05, 3)) for tensor, _ in parts]
    return harness.case(Concat(1), tensors, [values for _, values in parts], quantization=tensors[0].quantization)


def _moved(random: Randomness, dims: tuple[int, ...], is_float: bool) -> harness.Case:
    (batches, channels, height, width), (data, values) = dims, _data(random, dims, is_float)
    factor = random.choice(2, 2, 3)
    operator = random.choice(
        Pad((0, 0, random.integer(0, 2), 1), (0, 0, random.integer(0, 2), random.integer(0, 1))),
        Resize(
            (batches, channels, factor * height, factor * width),
            (1.0, 1.0, float(factor), float(factor)),
            coordinates="asymmetric",
            nearest="floor",
        ),
    )
    return harness.case(operator, [data], [values], quantization=data.quantization)
