# SPDX-License-Identifier: MIT
"""Linear int8 layers whose inputs are aimed: sums at which the output changes, those beside them, and both ends of the range come
out at some pixel. Images are of many sizes, so that such pixels are the last ones of an image, too."""

from __future__ import annotations

import math
from collections.abc import Iterator

import harness
import numpy
from random_tensors import Randomness, offset_weights

from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.window import Window

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)  # pixels of an image, windows side by side
MOST_SUMS = 24  # of a channel, where there are many
# Input channels, outputs, kernel, groups: dense ones in one chunk and in several, a window, groups, depthwise.
SHAPES = [
    (4, 6, (1, 1), 1),
    (9, 5, (1, 1), 1),
    (64, 6, (1, 1), 1),
    (140, 4, (1, 1), 1),
    (300, 6, (1, 1), 1),
    (7, 4, (3, 3), 1),
    (6, 6, (1, 1), 2),
    (5, 5, (3, 3), 5),
    (4, 4, (5, 5), 4),
    (3, 3, (2, 2), 3),
]
FEATURES = (4, 33, 70, 300)  # of fully connected layers
SCALES = 4  # ways to make them


def aimed_sums(low: int, high: int, steps: numpy.ndarray) -> numpy.ndarray:
    """The ends of a range of sums, and both sides of its steps: in all combinations of ends three by three, then one by one."""
    sides = numpy.unique(numpy.concatenate([steps - 1, steps]))
    sides = sides[(sides > low) & (sides < high)]
    if len(sides) > MOST_SUMS:
        sides = sides[numpy.linspace(0, len(sides) - 1, MOST_SUMS).astype(int)]
    ends = [(low, high)[place >> bit & 1] for place in range(8) for bit in range(3)]
    return numpy.array([*ends, *sides.tolist()], numpy.int64)


def inputs_for(weights: numpy.ndarray, sums: numpy.ndarray) -> numpy.ndarray:
    """int8 [sums, taps] that make these sums of products, or where no input does so, sums near them."""
    ends = numpy.where(weights > 0, 127, -128), numpy.where(weights > 0, -128, 127)
    high, low = (int((weights * end).sum()) for end in ends)
    part = ((sums - low) / max(1, high - low)).clip(0, 1)[:, None]
    values = numpy.rint(ends[1] + part * (ends[0] - ends[1])).astype(numpy.int64)
    for tap in numpy.argsort(-numpy.abs(weights), kind="stable").tolist():
        if weights[tap]:
            missing = sums - values @ weights
            moved = numpy.sign(missing) * (numpy.abs(missing) // abs(weights[tap])) * numpy.sign(weights[tap])
            values[:, tap] = (values[:, tap] + moved).clip(-128, 127)
    return values.astype(numpy.int8)


def aimed_windows(made: harness.Case) -> list[numpy.ndarray]:
    """Of each group of channels the windows [windows, taps], aimed at the sums of its outputs one after another."""
    weights = made.view.inputs[1].data
    linear = LinearNode(made.view).linear(weights.reshape(len(weights), -1))
    groups = made.view.operator.groups if isinstance(made.view.operator, Conv) else 1
    stairs, windows = linear.staircase(), []
    for channel, row in enumerate(linear.rows):
        sums = aimed_sums(int(linear.low[channel]), int(linear.high[channel]), stairs.steps[channel])
        windows.append(inputs_for(row, sums - linear.bias[channel]))
    each = len(windows) // groups
    return [numpy.concatenate(windows[first : first + each]) for first in range(0, len(windows), each)]


def _scales(random: Randomness, way: int, outputs: int, taps: int) -> tuple[float, ...]:
    """Powers of two, multiples and quotients, where many sums lie in the middle of two levels, or few, or such that no remainder
    says which; any."""
    exponents = numpy.rint(random.numbers.uniform(-4, -2, outputs) - math.log2(taps))
    some = 2.0 ** random.numbers.uniform(-10, -6, outputs)
    factors = [2.0**exponents, 3 * 2.0 ** (exponents - 2), 1 / numpy.rint(1 / some), some][way]
    return tuple(map(float, factors.astype(numpy.float32)))


def _layer(seed: int, operator, dims: tuple[int, ...], taps: int, data: tuple[int, ...], has_offsets: bool) -> harness.Case:
    random, way = Randomness(seed), seed % SCALES
    size = random.choice(3, 40, 127) if way > 1 else random.choice(3, 20)
    weights = random.numbers.integers(-size, size + 1, dims).astype(numpy.int8)
    weights.reshape(len(weights), -1)[:, 0] = 1  # so that every sum has its inputs
    scales = _scales(random, way, dims[0], taps * size // 3 + 1)
    bias = constant("b", random.numbers.integers(-200, 200, dims[0]).astype(numpy.int32))
    tensor = constant("w", weights, Quantization(scales, (0,) * dims[0], 0))
    if has_offsets:
        tensor = offset_weights(seed, tensor)
    image = random.data(*data).with_(quantization=per_tensor(1.0, random.choice(-128, 0, 5)))
    return harness.case(
        operator, [image, tensor, bias], [numpy.zeros(data, numpy.int8)], quantization=per_tensor(1.0, random.choice(-128, 0, 3))
    )


def _with_windows(made: harness.Case, pixels: int) -> harness.Case:
    """The case with as many images as its windows fill."""
    (data, *others), operator = made.view.inputs, made.view.operator
    groups = aimed_windows(made)
    count = -(-max(map(len, groups)) // pixels) * pixels
    filled = [numpy.resize(windows, (count, windows.shape[1])) for windows in groups]
    quantization = made.view.outputs[0].quantization
    if isinstance(operator, FC):
        return harness.case(operator, [_of(data, filled[0]), *others], [filled[0]], quantization=quantization)
    kernel = operator.window.kernel
    joint = numpy.stack(filled, axis=1).reshape(count // pixels, pixels, data.dims[1], *kernel)
    values = numpy.ascontiguousarray(joint.transpose(0, 2, 3, 1, 4)).reshape(
        count // pixels, data.dims[1], kernel[0], pixels * kernel[1]
    )
    return harness.case(operator, [_of(data, values), *others], [values], quantization=quantization)


def _of(tensor: Tensor, values: numpy.ndarray) -> Tensor:
    return tensor.with_(dims=values.shape)


def aimed_layers(has_offsets: bool, each: int = 1) -> Iterator[harness.Case]:
    """Layers of all shapes, each with all ways to make scales, `each` of the kind."""
    for seed in range(each * SCALES * len(SHAPES)):
        channels, outputs, kernel, groups = SHAPES[seed // SCALES % len(SHAPES)]
        window = Window(kernel, kernel, (1, 1), (0, 0), (0, 0))
        minimum = 0.0 if seed % 4 == 3 else -math.inf
        operator = Conv(minimum=minimum, window=window, groups=groups, depthwise=1 < groups == channels == outputs)
        dims = (outputs, channels // groups, *kernel)
        made = _layer(seed, operator, dims, math.prod(dims[1:]), (1, channels, *kernel), has_offsets)
        yield _with_windows(made, SIZES[seed % len(SIZES)])
    for seed in range(each * SCALES * len(FEATURES)):
        features = FEATURES[seed // SCALES % len(FEATURES)]
        made = _layer(seed, FC(), (5, features), features, (1, features), has_offsets)
        whole = _with_windows(made, 1)
        yield whole
        (data, *others), rows = whole.view.inputs, whole.values[0]
        yield from _few_rows(whole, data, others, rows)


def _few_rows(whole: harness.Case, data: Tensor, others, rows: numpy.ndarray) -> Iterator[harness.Case]:
    """The ends alone, so few rows that weights are read once for each."""
    for first in (0, 3):
        part = rows[first : first + 3]
        quantization = whole.view.outputs[0].quantization
        yield harness.case(whole.view.operator, [_of(data, part), *others], [part], quantization=quantization)
