# SPDX-License-Identifier: MIT
"""int8 convolutions and fully connected layers of `cortexm` against their numpy meaning, bit for bit: the assembly on emulated
cores, the C beside it on the core and on this machine."""

from __future__ import annotations

import collections
import functools
import math
import os
import re
import shutil
from dataclasses import replace

import numpy
import pytest
from cortexm_harness import BOARD, Case, accepted, built_for, case, run, without_fpu
from harness import under
from random_tensors import Randomness, halfword_weights

from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import GraphView
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.window import Window

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
RANDOM_CASES = int(os.environ.get("AIDGE_CASES", "60" if "AIDGE_STRESS" in os.environ else "30"))
STRESS = "AIDGE_STRESS" in os.environ
WIDE_CASES = 30 if STRESS else 6  # layers of many channels

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
EDGES = [
    (1, 4, (1, 1), 4, (1, 1), 1, 1, (0, 0), 1),
    (1, 8, (1, 1), 5, (3, 3), 1, 1, (1, 1), 1),
    (1, 8, (3, 3), 17, (1, 1), 1, 1, (0, 0), 1),
    (2, 64, (3, 1), 6, (1, 1), 1, 1, (0, 0), 1),
    (1, 136, (2, 3), 9, (1, 1), 1, 1, (0, 0), 1),
    (1, 260, (5,), 4, (1,), 1, 1, (0, 0), 1),
    (1, 3, (5, 7), 5, (3, 3), 1, 1, (1, 1), 1),
    (1, 1, (9, 10), 8, (10, 4), 2, 1, (4, 1), 1),
    (1, 1, (7, 5), 4, (3, 3), 2, 1, (1, 1), 1),
    (2, 5, (6, 5), 17, (3, 2), 2, 1, (1, 0), 1),
    (1, 17, (4, 4), 4, (3, 3), 1, 1, (1, 1), 1),
    (3, 4, (3, 5), 8, (1, 1), 2, 1, (0, 0), 1),
    (1, 2, (9, 9), 4, (3, 3), 1, 2, (2, 2), 1),
    (1, 8, (9, 9), 4, (3, 3), 1, 2, (2, 2), 1),
    (1, 8, (7, 9), 4, (3, 3), 2, 1, (0, 1), 1),
    (1, 16, (6, 6), 4, (3, 3), 1, 1, (1, 1), 1),
    (1, 12, (5, 6), 7, (5, 4), 1, 1, (2, 2), 1),
    (1, 16, (4, 70), 4, (3, 3), 1, 1, (1, 1), 1),
    (1, 16, (3, 71), 5, (3, 3), 2, 1, (1, 1), 1),
    (1, 200, (3, 4), 4, (3, 3), 1, 1, (1, 1), 1),
    (1, 128, (3, 5), 4, (3, 3), 1, 1, (1, 1), 1),
    (2, 132, (4, 9), 5, (3, 3), 2, 1, (1, 1), 1),
    (1, 4, (1, 1), 6, (5, 5), 1, 1, (2, 2), 1),
    (1, 3, (7,), 4, (3,), 1, 1, (1, 1), 1),
    (2, 5, (12,), 9, (5,), 2, 2, (3, 4), 1),
    (1, 8, (11,), 9, (4,), 3, 1, (1, 4), 1),
    (1, 4, (9, 1), 5, (3, 1), 1, 1, (0, 0), 1),
    (1, 8, (12, 3), 5, (2, 3), 3, 1, (0, 2), 1),
    (1, 4, (4, 3), 4, (3, 3), 1, 1, (1, 1), 4),
    (1, 5, (5, 5), 5, (3, 3), 1, 1, (1, 1), 5),
    (2, 6, (6, 6), 6, (3, 3), 2, 1, (0, 1), 6),
    (1, 17, (5, 4), 17, (2, 3), 1, 1, (1, 2), 17),
    (1, 8, (5, 24), 8, (3, 3), 1, 1, (1, 1), 8),
    (2, 8, (25, 5), 8, (3, 3), 1, 1, (1, 1), 8),
    (1, 8, (40, 23), 8, (3, 3), 1, 1, (1, 1), 8),
    (1, 8, (31, 30), 8, (3, 3), 2, 1, (1, 1), 8),
    (1, 130, (3, 5), 130, (3, 3), 1, 1, (1, 1), 130),
    (1, 260, (3, 3), 260, (3, 3), 2, 1, (0, 1), 260),
    (1, 1400, (9,), 1400, (3,), 1, 1, (1, 1), 1400),
    (1, 455, (11,), 455, (3,), 1, 1, (1, 1), 455),
    (1, 340, (14,), 340, (3,), 1, 1, (1, 1), 340),
    (1, 4, (9, 9), 4, (5, 5), 1, 1, (2, 2), 4),
    (1, 4, (9, 10), 4, (5, 5), 2, 1, (2, 1), 4),
    (1, 5, (15,), 5, (5,), 1, 1, (0, 0), 5),
    (1, 8, (15, 1), 8, (15, 1), 1, 1, (0, 0), 8),
    (1, 8, (24, 1), 8, (10, 1), 1, 1, (0, 0), 8),
    (1, 8, (24,), 8, (10,), 2, 1, (4, 5), 8),
    (1, 6, (1, 1), 6, (3, 3), 1, 1, (1, 1), 6),
    (1, 4, (7, 6), 4, (1, 1), 2, 1, (0, 0), 4),
    (1, 4, (9, 6), 4, (3, 1), 1, 2, (2, 2), 4),
    (1, 8, (6, 1), 8, (3, 1), 2, 1, (1, 0), 8),
    (1, 8, (6, 1), 5, (3, 1), 2, 1, (1, 0), 1),
    (1, 40, (5, 1), 9, (5, 1), 1, 1, (0, 0), 1),
    (2, 3, (3, 4), 5, (3, 4), 2, 1, (0, 0), 1),
    (1, 24, (7,), 2, (7,), 1, 1, (0, 0), 1),
    (1, 4, (2, 3), 6, (3, 4), 2, 1, (1, 0), 1),
]
# Fewer output channels than a group has; a word of 3 taps of a line.
FEW = [
    (1, 8, (3, 3), 1, (1, 1), 1, 1, (0, 0), 1),
    (1, 136, (2, 3), 2, (1, 1), 1, 1, (0, 0), 1),
    (2, 12, (5,), 3, (1,), 1, 1, (0, 0), 1),
    (1, 8, (5, 5), 1, (3, 3), 1, 1, (1, 1), 1),
    (1, 8, (7, 9), 2, (3, 3), 2, 1, (0, 1), 1),
    (1, 128, (3, 5), 3, (3, 3), 1, 1, (1, 1), 1),
    (1, 3, (5, 7), 1, (3, 3), 1, 1, (1, 1), 1),
    (1, 3, (4, 5), 2, (1, 1), 1, 1, (0, 0), 1),
    (1, 1, (7, 5), 3, (3, 3), 2, 1, (1, 1), 1),
    (1, 7, (4, 6), 5, (1, 1), 1, 1, (0, 0), 1),
]
# Dense layers of few weights and many pixels: pointwise, from lines, from planes.
MANY_PIXELS = [
    (1, 8, (23, 23), 7, (1, 1), 1, 1, (0, 0), 1),
    (1, 12, (24, 22), 16, (1, 1), 1, 1, (0, 0), 1),
    (1, 3, (45, 46), 5, (3, 3), 2, 1, (0, 1), 1),
    (1, 1, (23, 24), 8, (3, 3), 1, 1, (1, 1), 1),
    (1, 4, (23, 24), 9, (3, 3), 1, 1, (1, 1), 1),
    (1, 4, (2, 300), 4, (1, 3), 1, 1, (0, 0), 1),
]
MANY_ROWS = [(2, 4, 4), (9, 48, 7), (12, 24, 9), (11, 28, 6)]  # of fully connected layers
LARGE = [(4, 10_000)]  # weights and pixels of a layer beside another, which nobody computes
# Depthwise layers whose weights are bytes in flash where that is asked for: in registers and not, an odd number of words, a last
# group that passes over 1 to 3 channels.
NARROW = [
    (1, 16, (6, 7), 16, (3, 3), 1, 1, (1, 1), 16),
    (1, 17, (5, 6), 17, (3, 3), 2, 1, (1, 1), 17),
    (2, 16, (9, 9), 16, (5, 5), 2, 1, (2, 1), 16),
    (1, 17, (12, 10), 17, (5, 5), 2, 1, (2, 2), 17),
    (1, 20, (8, 8), 20, (5, 5), 1, 1, (2, 2), 20),
    (1, 16, (15, 1), 16, (15, 1), 1, 1, (0, 0), 16),
    (1, 16, (24,), 16, (10,), 2, 1, (4, 5), 16),
    (1, 16, (12,), 16, (3,), 1, 1, (1, 1), 16),
    (1, 16, (12,), 16, (2,), 2, 1, (0, 1), 16),
    (1, 16, (13,), 16, (8,), 1, 1, (0, 1), 16),
    (1, 16, (17,), 16, (17,), 1, 1, (0, 0), 16),
]


def int8_case(seed, batch, channels, spatial, outputs, kernel, stride, dilation, pads, groups):
    random = Randomness(seed)
    rank = len(kernel)
    low, high = random.choice((-math.inf, math.inf), (0.0, math.inf), (0.0, 6.0), (-1.0, 1.5))
    window = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
    operator = Conv(
        minimum=low, maximum=high, window=window, groups=groups, depthwise=groups > 1 and groups == channels == outputs
    )
    data, weights = random.data(batch, channels, *spatial), random.weights(outputs, channels // groups, *kernel)
    if seed % 3:  # most models hold no -128
        weights = constant("w", numpy.maximum(weights.data, -127), weights.quantization)
    around = 0.05 * 0.01 * 50 * math.sqrt(weights.data[0].size)
    return case(
        operator, [data, weights, random.bias(outputs)], [random.int8(*data.dims)], quantization=random.quantization(around)
    )


def random_edge(seed, is_wide=False):
    random = Randomness(seed)
    rank = random.integer(1, 2)
    channels = 4 * random.integer(16, 100) if is_wide else random.choice(random.integer(1, 6), 4 * random.integer(1, 8))
    depthwise = random.integer(0, 2) == 0 and channels > 1
    outputs = channels if depthwise else random.integer(4, 20)
    kernel, spatial = (tuple(random.integer(1, most) for _ in range(rank)) for most in (5, 13))
    dilation, pads = random.choice(1, 1, 2), (random.integer(0, 2), random.integer(0, 2))
    fits = all(size + sum(pads) >= (taps - 1) * dilation + 1 for size, taps in zip(spatial, kernel))
    return (
        (
            random.integer(1, 2),
            channels,
            spatial,
            outputs,
            kernel,
            random.integer(1, 3),
            dilation,
            pads,
            channels if depthwise else 1,
        )
        if fits
        else None
    )


ROWS = [(1, 4, 4), (1, 1, 4), (1, 7, 5), (3, 64, 10), (1, 300, 7), (2, 5, 6), (1, 33, 17), (1, 66, 9), (2, 35, 8)]
LONG_ROWS = [(2, 512, 8), (2, 640, 13), (1, 2064, 4)]  # of which one half is unpacked at a time
# Fewer outputs than a group has: one turn, several, no whole word, a rest of each length.
FEW_ROWS = [(1, 64, 1), (2, 35, 2), (1, 130, 3), (1, 3, 3), (3, 2, 2), (2, 5, 1), (1, 260, 2), (1, 20, 3), (1, 700, 1)]


def one_factor(entry):
    """The case with one scale of all weights."""
    data, weights, bias = entry.view.inputs
    weights = constant("w", weights.data, per_tensor(float(weights.quantization.scales[0]), 0))
    return case(entry.view.operator, [data, weights, bias], entry.values[:1], quantization=entry.view.outputs[0].quantization)


def fc_cases(shapes=(*ROWS, *LONG_ROWS)):
    for seed, (batch, features, outputs) in enumerate(shapes):
        for variant in (0, 100, 200):
            random = Randomness(seed + variant)
            data, weights = random.data(batch, features), random.weights(outputs, features)
            if variant:
                weights = constant("w", numpy.maximum(weights.data, -127), weights.quantization)
            quantization = random.quantization(0.05 * 0.01 * 50 * math.sqrt(features))
            yield case(
                FC(minimum=random.choice(-math.inf, 0.0)),
                [data, weights, random.bias(outputs)],
                [random.int8(*data.dims)],
                quantization=quantization,
            )


def many_row_cases():
    """Rows two at a time, of an odd number the last one with the one before."""
    return [built_for(entry, ("balanced", "speed")[seed % 2]) for seed, entry in enumerate(fc_cases(MANY_ROWS))]


def few_row_cases():
    """Of few outputs: bytes, and halfwords in the model."""
    for index, entry in enumerate(fc_cases(FEW_ROWS)):
        if index % 3:
            yield built_for(entry, ("balanced", "speed")[index % 2])
        else:
            inputs = halfword_weights(index, *entry.view.inputs)
            made = case(entry.view.operator, inputs, entry.values[:1], quantization=entry.view.outputs[0].quantization)
            yield built_for(made, "balanced")


def halfword_cases():
    for index, edge in enumerate(EDGES if STRESS else EDGES[::2]):
        for seed in range(3) if STRESS else [index % 3]:
            entry = int8_case(seed + 3 * (index % 2), *edge)
            inputs = halfword_weights(seed + 3 * index, *entry.view.inputs)
            made = case(entry.view.operator, inputs, entry.values[:1], quantization=entry.view.outputs[0].quantization)
            yield built_for(made, ("balanced", "size", "speed")[index % 3])


def extreme_cases():
    """Multipliers that vanish or saturate, constant channels, accumulators beyond 24 bits."""
    random = Randomness(5)
    for scale_in, scale_w, scale_out in [
        (1e-20, 1e-25, 1e-3),
        (1e-30, 1e-30, 1.0),
        (10.0, 10.0, 1e-20),
        (1.0, 1.0, 2.0**20),
        (2.0**-4, 2.0**-8, 2.0**-3),
        (0.5, 0.5, 0.5),
    ]:
        data = random.data(1, 8, 3, 3).with_(quantization=per_tensor(scale_in, 3))
        scales = (scale_w, scale_w * 4, scale_w / 3, scale_w, scale_w)
        bias = constant("b", numpy.array([0, 1 << 30, -(1 << 30), 1 << 23, -5], numpy.int32))
        for dims, groups, count in (((5, 8, 1, 1), 1, 5), ((5, 8, 3, 3), 1, 5), ((8, 1, 3, 3), 8, 8)):
            weights = constant("w", random.int8(*dims), Quantization((scales * 2)[:count], (0,) * count, 0))
            offsets = constant("b", numpy.resize(bias.data, count))
            pads = (dims[2] // 2,) * 2
            operator = Conv(window=Window(dims[2:], (1, 1), (1, 1), pads, pads), groups=groups, depthwise=groups > 1)
            yield case(operator, [data, weights, offsets], [random.int8(*data.dims)], quantization=per_tensor(scale_out, -1))


def many_pixel_cases():
    """Dense layers of few weights; in some groups of some of them the integer form is not proved, and the zero point is even."""
    seeds = [*enumerate(MANY_PIXELS), (23, MANY_PIXELS[1]), (49, MANY_PIXELS[4])]
    return [built_for(int8_case(seed, *edge), ("balanced", "speed")[seed % 2]) for seed, edge in seeds]


def few_cases():
    """Dense layers of few output channels: bytes and halfwords, of values with and without limits."""
    for index, edge in enumerate(FEW):
        plain = int8_case(index, *edge)
        inputs = halfword_weights(index, *plain.view.inputs)
        wide = case(plain.view.operator, inputs, plain.values[:1], quantization=plain.view.outputs[0].quantization)
        limited = [limited_case(seed, *LIMITED[seed % len(LIMITED)], *edge) for seed in (index, index + 3)]
        for number, entry in enumerate([plain, wide, *limited]):
            yield built_for(entry, ("balanced", "speed")[(index + number) % 2])


def narrow_cases():
    return [built_for(int8_case(seed, *edge), "size") for seed, edge in enumerate(NARROW)]


def byte_cases():
    """The same by default, beside a layer whose tensors are so large that theirs are none of the largest."""
    made = [int8_case(seed, *edge) for seed, edge in enumerate(NARROW)]
    return [built_for(Case(in_graph(entry.view, LARGE), entry.values), "balanced") for entry in made]


# zero point of the output, the largest weight, whether every scale is a power of two, limits of the values
LIMITED = [
    (0, 127, False, (0.0, math.inf)),
    (0, 9, True, (0.0, math.inf)),
    (-2, 9, True, (-math.inf, math.inf)),
    (-21, 127, False, (-1.0, math.inf)),
    (30, 127, False, (-math.inf, 1.0)),
    (-4, 9, True, (-1.0, 2.0)),
    (0, 127, False, (0.0, 15 * 2.0**-4)),
    (0, 9, True, (-(2.0**-1), 7 * 2.0**-4)),
    (3, 9, True, (-1.0, 1.5)),
]


def limited_case(
    seed, zero_point, most, is_even, limits, batch, channels, spatial, outputs, kernel, stride, dilation, pads, groups
):
    """A layer whose limits are those of an instruction, or one or two others; its sums often lie in the middle of levels."""
    random, rank = Randomness(seed), len(kernel)
    window = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
    depthwise = groups > 1 and groups == channels == outputs
    operator = Conv(minimum=limits[0], maximum=limits[1], window=window, groups=groups, depthwise=depthwise)
    values = random.numbers.integers(-most, most + 1, (outputs, channels // groups, *kernel)).astype(numpy.int8)
    spread = 2.0 ** -random.numbers.integers(5, 8, outputs) if is_even else 2.0**-6 * random.numbers.uniform(0.5, 2, outputs)
    scales = (*map(float, spread),) if seed % 2 else (float(spread[0]),)
    weights = constant("w", values, Quantization(scales, (0,) * len(scales), 0) if seed % 2 else per_tensor(scales[0], 0))
    data = random.data(batch, channels, *spatial).with_(quantization=per_tensor(2.0**-4, random.choice(0, -128, 5)))
    bias = constant("b", random.numbers.integers(-500, 500, outputs).astype(numpy.int32))
    around = 2.0 ** (round(math.log2(most * math.sqrt(values[0].size))) - 6)
    result = per_tensor(around if around > 2.0**-4 else 2.0**-4, zero_point)
    return case(operator, [data, weights, bias], [random.int8(*data.dims)], quantization=result)


def limited_cases():
    edges = [*(EDGES if STRESS else EDGES[1::2]), *MANY_PIXELS[:2], *MANY_PIXELS[3:5], *NARROW[::2]]
    made = [(index + 4 * again, edge) for again in range(9 if STRESS else 1) for index, edge in enumerate(edges)]
    cases = [limited_case(seed, *LIMITED[seed % len(LIMITED)], *edge) for seed, edge in made]
    return [built_for(entry, ("balanced", "size", "speed")[index % 3]) for index, entry in enumerate(cases)]


@functools.cache
def candidates():
    """Cases that a kernel of the library may refuse; every objective has its share."""
    edges = [built_for(int8_case(0, *edge), "balanced") for edge in EDGES]
    edges += [built_for(int8_case(1, *edge), ("size", "speed")[index % 2]) for index, edge in enumerate(EDGES)]
    randoms = [int8_case(seed, *edge) for seed, edge in enumerate(map(random_edge, range(3000, 3000 + RANDOM_CASES))) if edge]
    wide = (random_edge(seed, is_wide=True) for seed in range(5000, 5000 + WIDE_CASES))
    randoms += [int8_case(seed, *edge) for seed, edge in enumerate(wide) if edge]
    others = [built_for(entry, ("balanced", "size", "speed")[index % 3]) for index, entry in enumerate([*randoms, *fc_cases()])]
    others += [built_for(one_factor(entry), "size") for entry in fc_cases()]
    special = [*extreme_cases(), *halfword_cases(), *narrow_cases(), *many_pixel_cases(), *limited_cases(), *few_cases()]
    return [*edges, *others, *special, *few_row_cases(), *many_row_cases(), *byte_cases(), *joined_cases()]


def test_long_rows_are_unpacked_by_halves_and_need_less_scratch():
    for entry in fc_cases(LONG_ROWS):
        features, outputs = entry.stored.inputs[0].dims[1], entry.stored.outputs[0].dims[1]
        assert entry.call.function.endswith("_halves")
        assert entry.kernel.node_class.demands(entry.view).scratch_bytes <= features + 4 * (outputs + 3) < 2 * features
    shapes = [(1, 504, 8), (1, 516, 8), (1, 512, 128)]  # short, no multiple of 8, as many sums as inputs
    assert not any("_halves" in entry.call.function for entry in fc_cases(shapes))


@pytest.mark.parametrize(
    ("edge", "is_row"),
    [
        ((1, 40, (5, 1), 8, (5, 1), 1, 1, (0, 0), 1), True),
        ((2, 6, (3, 4), 8, (3, 4), 2, 1, (0, 0), 1), True),
        ((1, 8, (3, 4), 8, (3, 3), 1, 1, (0, 0), 1), False),  # two pixels
        ((1, 8, (2, 2), 8, (3, 3), 2, 1, (0, 1), 1), True),  # weights that see pads alone are left out
        ((1, 8, (3, 3), 8, (3, 3), 2, 1, (1, 1), 1), False),  # four pixels
        ((1, 8, (5, 5), 8, (3, 3), 1, 2, (0, 0), 1), False),  # one pixel, which does not see the whole image
    ],
)
def test_a_convolution_of_one_window_that_sees_the_whole_image_is_a_fully_connected_layer(edge, is_row):
    assert ("aidge_cortexm_fc_int8" in int8_case(7, *edge).call.function) == is_row


def test_several_rows_are_pixels_two_at_a_time_where_two_weights_share_a_halfword_or_speed_is_asked_for():
    for entry in many_row_cases():
        may_share = "_packed_" in built_for(entry, "speed").call.function
        assert ("_pointwise_" in entry.call.function) == (entry.view.objective == "speed" or may_share), entry.call.function
    for shape in [(1, 24, 8), (3, 24, 8), (4, 22, 8), (2, 512, 8)]:
        assert not any("_pointwise_" in entry.call.function for entry in fc_cases([shape]))


def test_rows_whose_weights_share_no_halfword_are_bytes_but_where_speed_is_asked_for():
    wide = ["_wide_" in built_for(entry, "speed").call.function for entry in fc_cases()]
    assert any(wide)
    for objective in ("balanced", "size"):
        entries = [built_for(entry, objective) for entry in fc_cases()]
        assert ["_bytes_" in entry.call.function for entry in entries] == wide
        for entry in entries:
            features, outputs = entry.stored.inputs[0].dims[1], entry.stored.outputs[0].dims[1]
            taken = entry.call.constants[0].values.nbytes
            assert taken <= 12 + -(-outputs // 4) * 4 * (4 * -(-features // 4) + 8 + 5)


def test_pairs_of_inputs_take_half_of_the_products_of_bytes_and_three_quarters_of_those_of_two_weights_in_a_halfword():
    calls = [built_for(entry, "balanced").call for entry in fc_cases([(1, 16, 8)])]
    words = 4  # of inputs, each with a product of its own and 16 weights
    found = {call.function.split("_")[5]: call.texts[0].count("smlad") // words - 1 for call in calls}
    assert found == {"bytes": 4, "packed": 6}


def test_under_size_one_factor_of_all_outputs_stands_once():
    for entry in (one_factor(entry) for entry in fc_cases(((1, 64, 20), (1, 640, 64)))):
        features, outputs = entry.stored.inputs[0].dims[1], entry.stored.outputs[0].dims[1]
        short = built_for(entry, "size").call
        assert short.constants[0].values.nbytes == 12 + 16 + outputs * (features + 4)
        assert "_uniform" in short.function and "_uniform" not in built_for(entry, "balanced").call.function


def with_bias(entry, largest):
    """The case with one bias of this size beside none, to which no zero point adds, and with factors of channels."""
    data, weights, _ = entry.view.inputs
    data = data.with_(quantization=per_tensor(data.quantization.scales[0], 0))
    scales = tuple(0.01 + 0.001 * channel for channel in range(weights.dims[0]))
    weights = constant("w", weights.data, Quantization(scales, (0,) * len(scales), 0))
    bias = constant("b", numpy.where(numpy.arange(weights.dims[0]) == 1, largest, 0).astype(numpy.int32))
    return case(entry.view.operator, [data, weights, bias], entry.values[:1], quantization=entry.view.outputs[0].quantization)


def joined_cases():
    """The largest biases that 20 bits hold, above and below zero."""
    shapes = [(2, 64, 12)]
    return [built_for(with_bias(entry, largest), "size") for entry in fc_cases(shapes) for largest in (2**19 - 1, -(2**19))]


def test_under_size_bias_and_factor_of_a_channel_take_six_bytes():
    entries = [
        *fc_cases(((1, 64, 20), (3, 96, 64))),
        *(int8_case(seed, 1, 16, (6, 6), 20, (1, 1), 1, 1, (0, 0), 1) for seed in (0, 1)),
    ]
    of_channels = [entry for entry in entries if not entry.view.inputs[1].quantization.per_tensor]
    assert len({len(entry.view.outputs[0].dims) for entry in of_channels}) == 2
    for entry in of_channels:
        features, outputs = entry.view.inputs[1].dims[1], entry.view.inputs[1].dims[0]
        short = built_for(entry, "size").call
        assert short.constants[0].values.nbytes == 12 + outputs * (features + 6)
        assert "_joined" in short.function and "_joined" not in built_for(entry, "balanced").call.function


def test_a_bias_of_more_than_20_bits_keeps_its_word():
    for entry in [*fc_cases([(2, 64, 12)])][:2]:
        names = [built_for(with_bias(entry, largest), "size").call.function for largest in (2**19 - 1, 2**19)]
        assert ["_joined" in name for name in names] == [True, False]


@pytest.mark.parametrize(
    "spatial, kernel, words",
    [((6, 7), (3, 3), 6), ((6, 7), (5, 5), 20), ((9,), (4,), 3), ((9,), (1,), 1), ((2, 9), (1, 9), 5), ((4, 3), (3, 3), 6)],
)
def test_two_neighbouring_weights_of_a_depthwise_layer_make_a_word_or_each_one_where_a_row_has_one_output(spatial, kernel, words):
    entry = built_for(int8_case(1, 1, 8, spatial, 8, kernel, 1, 1, (0, 0), 8), "speed")
    assert entry.call.constants[0].values.nbytes == 12 + 8 * (8 + 4 * words)


@pytest.mark.parametrize(
    "spatial, kernel, is_turned",
    [
        ((25, 5), (3, 3), True),
        ((5, 25), (3, 3), False),
        ((5, 6), (3, 3), False),
        ((2, 9), (1, 9), False),
        ((60, 31), (3, 3), False),
    ],
)
def test_columns_of_an_image_are_the_rows_of_a_depthwise_layer_if_fewer_outputs_are_single(spatial, kernel, is_turned):
    pad = kernel[0] // 2
    entry = int8_case(1, 1, 16, spatial, 16, kernel, 1, 1, (pad, pad), 16)
    assert ("_turned" in entry.call.function) == is_turned


def test_four_outputs_of_a_depthwise_layer_share_loads_of_weights_that_registers_do_not_hold():
    entry = int8_case(1, 1, 4, (9, 9), 4, (5, 5), 1, 1, (2, 2), 4)
    _, band, _ = entry.call.texts
    loads, rows, blocks = 2, 5, 3  # of two words of each row of weights; 9 outputs are twice 4, and one
    bases = collections.Counter(re.findall(r"ldrd r\d+, \w+, \[(\w+)", band))
    assert loads * rows * blocks in bases.values()


def test_few_output_channels_are_taken_with_an_fpu_and_a_single_pixel_as_a_row():
    entries = list(few_cases())
    assert accepted([built_for(entry, "size") for entry in entries[:-4]]) == []
    assert all(entry.call.function.count(f"_few{entry.view.outputs[0].dims[1]}") for entry in entries[:-4])
    assert accepted(without_fpu(entries[:-4])) == []
    pixel = int8_case(0, 1, 8, (1, 1), 3, (1, 1), 1, 1, (0, 0), 1)
    assert "aidge_cortexm_fc_few_int8" in pixel.call.function and accepted(without_fpu([pixel])) == []


def test_rows_of_few_outputs_need_no_scratch_and_if_long_a_byte_for_each_weight_unless_speed_is_asked_for():
    entries = list(fc_cases(FEW_ROWS))
    assert accepted([built_for(entry, "size") for entry in entries]) == accepted(without_fpu(entries)) == []
    for entry in entries:
        features, outputs = entry.stored.inputs[0].dims[1], entry.stored.outputs[0].dims[1]
        weights = [built_for(entry, objective).call.constants[0].values.nbytes for objective in ("balanced", "speed")]
        words = outputs * -(-features // 4)
        assert entry.kernel.node_class.demands(entry.view).scratch_bytes == 0
        assert entry.call.function.startswith("aidge_cortexm_fc_few_int8") and weights[1] <= 12 + 4 * (4 + 2 * words + 6)
        assert weights[1] - weights[0] == 4 * words * (features > 64)


@functools.cache
def sample():
    return accepted(candidates())


@needs_compiler
def test_layers_equal_the_meaning_on_the_emulated_core():
    cases = sample()
    assert len(cases) > 130
    assert run(cases, board=BOARD) == []


@needs_compiler
@pytest.mark.parametrize(
    "objective, flags", [("balanced", ("-O0",)), ("speed", ("-O3",)), ("size", ("-Os",)), ("balanced", ("-O2", "-flto"))]
)
def test_the_result_does_not_depend_on_compiler_options(objective, flags):
    cases = accepted([built_for(int8_case(2, *edge), objective) for edge in under((objective, *flags), (*EDGES, *FEW))])
    assert run(cases, *flags, board=BOARD) == []


def in_graph(view, others):
    """The node beside other layers (weights, pixels), which nobody computes."""
    nodes, tensors = [view.node], [tensor for tensor in (*view.inputs, *view.outputs) if tensor is not None]
    for index, (weights, pixels) in enumerate(others):
        data, kernel, output = (tensor.with_(name=f"{tensor.name}{index}") for tensor in (*view.inputs[:2], view.outputs[0]))
        made = constant(kernel.name, numpy.zeros((4, weights // 4, 1, 1), numpy.int8), view.inputs[1].quantization)
        tensors += [data, made, output.with_(dims=(1, 4, 1, pixels))]
        names = (data.name, kernel.name, view.node.inputs[2])
        nodes.append(view.node.with_(name=f"beside_{index}", inputs=names, outputs=(output.name,)))
    by_name = {tensor.name: tensor for tensor in tensors}
    graph = GraphView("some", tuple(nodes), by_name, tuple(n.inputs[0] for n in nodes), tuple(n.outputs[0] for n in nodes))
    return replace(view, graph=graph)


@pytest.mark.parametrize(
    "channels, spatial, kernel, others, expected",
    [
        (16, (5, 5), (3, 3), [], "_bytes"),  # 23 instructions for 15 bytes
        (12, (5, 5), (3, 3), [], ""),  # the text would be longer
        (16, (31, 30), (3, 3), [], ""),  # 2 bands, each of which unpacks them: 46 instructions
        (16, (5, 5), (5, 5), LARGE, "_bytes"),  # halfwords take 80 bytes for 25 weights
        (16, (5, 5), (5, 5), [], ""),  # its scratch is what the graph needs most
        (16, (1, 20), (1, 9), LARGE, "_bytes"),
        (16, (1, 10), (1, 5), LARGE, "_bytes"),  # 4 words, which fit registers
    ],
)
def test_depthwise_weights_are_bytes_where_that_costs_little(channels, spatial, kernel, others, expected):
    view = int8_case(1, 1, channels, spatial, channels, kernel, 1, 1, (kernel[0] // 2,) * 2, channels).view
    entry = built_for(Case(in_graph(view, others), ()), "balanced")
    assert ("_bytes" in entry.call.function) == bool(expected)
    plain = built_for(entry, "speed")
    assert "_bytes" not in plain.call.function
    assert (entry.call.constants[0].values.nbytes < plain.call.constants[0].values.nbytes) is bool(expected)


def test_every_form_of_requantization_is_among_them():
    functions = [entry.call.function for entry in sample()]
    for form in (
        "packed_s",
        "packed_sums_s",
        "packed_words_s",
        "packed_sums_words_s",
        "packed_fractions",
        "wide_s",
        "wide_sums_s",
    ):
        assert any(f"_{form}" in function for function in functions), form


def test_limits_are_saturations_where_an_instruction_has_them_and_cost_one_comparison_for_each_other_end():
    functions = [entry.call.function for entry in sample()]
    for form in ("depthwise_int8", "packed_words", "packed_s", "wide_s", "_even"):
        assert any(form in function and "_u7" in function for function in functions), form
    for variant in (
        "_lowest",
        "_highest",
        "_clamped",
        "_u4",
        "_s4",
    ):
        assert any(variant in function for function in functions), variant
