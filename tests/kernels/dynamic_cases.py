# SPDX-License-Identifier: MIT
"""Layers of dynamic quantization, and of stored bytes with a float result, for every library that has kernels for them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import Clip
from aidge_build.operators.dynamic import DynamicConv, DynamicFC
from aidge_build.operators.quantize import DynamicQuantizeLinear
from aidge_build.operators.window import Window

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
EDGES = [
    (1, 4, (5, 6), 8, (3, 3), 1, 1, (1, 1), 1),
    (2, 3, (6, 5), 5, (3, 2), 2, 1, (1, 0), 1),
    (1, 12, (3, 3), 6, (1, 1), 1, 1, (0, 0), 1),
    (1, 5, (9,), 4, (3,), 1, 2, (2, 1), 1),
    (1, 40, (4, 4), 4, (3, 3), 1, 1, (1, 1), 1),
    (1, 8, (5, 5), 8, (3, 3), 1, 1, (1, 1), 8),
    (2, 7, (6, 4), 7, (5, 3), 2, 1, (2, 1), 7),
    (1, 4, (1, 1), 4, (5, 5), 1, 1, (2, 2), 4),
    (1, 6, (2, 2), 5, (2, 2), 1, 1, (0, 0), 1),
    (1, 4, (3, 3), 4, (3, 3), 2, 1, (1, 0), 1),
]
CLAMPS = ((-math.inf, math.inf), (0.0, math.inf), (0.0, 2.5))


def layer(case, seed, operator, dims, weight_dims, signed):
    random = Randomness(seed)
    weights = random.int8(*weight_dims)
    if seed % 2:
        weights = weights.astype(numpy.int16) - random.integer(-100, 100)
    count, dtype = weight_dims[0], DType.int8 if signed else DType.uint8
    low, high = dtype.range
    values = random.numbers.integers(low, high + 1, dims).astype(dtype.numpy)
    zero_point = numpy.array(random.choice(low, high, random.integer(low, high)), dtype.numpy)
    scale = numpy.array(random.numbers.uniform(0.01, 0.1), numpy.float32)
    inputs = [
        Tensor("x", dims, dtype, quantization=per_tensor(float(scale), int(zero_point)) if signed else None),
        constant("w", weights.astype(numpy.int16) if seed % 2 else weights),
        constant("z", zero_point) if signed else Tensor("z", (), DType.uint8),
        constant("s", scale) if signed else Tensor("s", (), DType.float32),
        constant("f", random.numbers.uniform(0.001, 0.01, count).astype(numpy.float32)),
        *([constant("b", random.float32(count))] if seed % 3 else []),
    ]
    return case(operator, inputs, [values] if signed else [values, zero_point, scale])


def convolution(case, seed, edge, signed=False):
    """`edge` as above; int16 weights with odd seeds; `signed`: int8 data whose zero point and scale are constants."""
    batch, channels, spatial, outputs, kernel, stride, dilation, pads, groups = edge
    low, high = CLAMPS[seed % 3]
    rank = len(kernel)
    strides = (stride,) * rank if isinstance(stride, int) else stride
    window = Window(kernel, strides, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
    operator = DynamicConv(minimum=low, maximum=high, window=window, groups=groups)
    return layer(case, seed, operator, (batch, channels, *spatial), (outputs, channels // groups, *kernel), signed)


def fully_connected(case, seed, dims, outputs, signed=False):
    """Rows [..., K] to so many outputs."""
    low, high = CLAMPS[seed % 3]
    return layer(case, seed, DynamicFC(minimum=low, maximum=high), dims, (outputs, dims[-1]), signed)


def dynamic_layers(case):
    """Convolutions, depthwise ones, fully connected layers."""
    yield from (convolution(case, seed, edge, seed >= len(EDGES)) for seed, edge in enumerate(EDGES * 2))
    rows = [((1, 16), 8), ((3, 7), 10), ((2, 5, 6), 4), ((1, 132), 9), ((1, 40), 6)]
    yield from (fully_connected(case, seed, *shape, seed >= len(rows)) for seed, shape in enumerate(rows * 2))


def measured(case, values, **bounds):
    values = numpy.asarray(values, numpy.float32)
    return case(DynamicQuantizeLinear(**bounds), [Tensor("x", values.shape, DType.float32)], [values])


def behind_a_clamp(entry):
    """The same behind a layer that hands out nothing below 0."""
    clamp = Node("clamp", Clip(minimum=0.0), ("w",), ("x",))
    return replace(entry, view=replace(entry.view, graph=GraphView("clamped", (clamp, entry.view.node), {}, ("w",), ("y0",))))


def tops_near_short_scales():
    """Highest numbers above 0 whose scales end, as float32, in 16 bits close to 0."""
    for end in (1, -1, 5, -5, 7, 0):
        scale = numpy.array([(0x3C49 << 16) + end], numpy.int32).view(numpy.float32)
        yield 0.0, numpy.float32(scale[0] * numpy.float32(255))


def halves(lowest, highest):
    """Numbers as near to the middles between levels as float32 has them, and their neighbours; the range is that of the ends."""
    step = numpy.float32(numpy.float32(highest) - numpy.float32(lowest)) / numpy.float32(255)
    middles = ((numpy.arange(-255, 256) + 0.5) * numpy.float64(step)).astype(numpy.float32)
    near = [middles]
    for towards in (-numpy.inf, numpy.inf):
        near += [numpy.nextafter(middles, numpy.float32(towards))]
    found = numpy.concatenate(near)
    return numpy.array([lowest, highest, *found[(found >= lowest) & (found <= highest)]], numpy.float32)


def clamped_cases(case):
    """Clamps from 0 on: beyond all numbers, at the highest one, below many; the least one that a quantization may have."""
    random = numpy.random.default_rng(8)
    values = random.normal(0, 3, 179)
    for top in (6.0, float(numpy.float32(values.max())), 2.5, 1e-3, 256 * 2.0**-126, math.inf):
        yield measured(case, values, minimum=0.0, maximum=top)
    for top in (0.1, 6.0, *random.uniform(0, 9, 3)):
        yield measured(case, [*halves(0.0, top), -1.0, 1e30, top * 1.001, -1e-30], minimum=0.0, maximum=float(top))
    late = numpy.concatenate([random.normal(0, 1, 61), [9.0], random.normal(0, 20, 58)])  # beyond the clamp from place 61 on
    yield from (measured(case, part, minimum=0.0, maximum=6.0) for part in (late, late[::-1], late[:62], [-3.0], [7.0] * 17))


def measured_cases(case):
    """Ranges with and without 0, constants, scales at which products underflow or overflow, and middles of levels."""
    random = numpy.random.default_rng(7)
    plain = [
        [0.0],
        [-0.0, 0.0],
        [3.0],
        [-2.5],
        [1.0, 2.0, 3.0],
        [-1.0, -7.5],
        random.normal(0, 1, (2, 3, 7)),
        random.normal(5, 0.1, 33),
        numpy.arange(15, -16, -1),
        numpy.arange(-15, 5),
        [-382 * 1.4013e-45, 0.0],  # 382 of the smallest numbers: a scale of 1 of them, so that the zero point is clamped
    ]
    scaled = [random.normal(0, 1, 9) * scale for scale in (1e-44, 1e-37, 1e-30, 1e-17, 1e17, 1e30)]
    ends = [(0.0, 255.0), (-1.0, 1.0), *zip(random.uniform(-5, 0, 12), random.uniform(0, 9, 12))]
    ends += tops_near_short_scales()
    above = [numpy.abs(random.normal(0, 3, (2, 5, 7))), *(halves(0.0, top) for _, top in ends)]
    found = [measured(case, values) for values in (*plain, *scaled, *(halves(*pair) for pair in ends))]
    return [*found, *clamped_cases(case), *(behind_a_clamp(measured(case, values)) for values in above)]
