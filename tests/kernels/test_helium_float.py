# SPDX-License-Identifier: MIT
"""float32 layers of `helium` against their numpy meaning, within 1e-5 of the largest value: the assembly on the emulated
Cortex-M55, and the plain C beside it on this machine."""

from __future__ import annotations

import functools
import math

import numpy
import pytest
from float_cases import CLAMPS, DEPTHWISE, EDGES, ROWS, convolution, depthwise, fully_connected
from harness import under
from helium_harness import RANDOM_CASES, case, needs_emulator, random_window, run
from random_tensors import Randomness
from test_ref_pools_and_moves import pools as random_pools

from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.activation import Clip, HardSigmoid, HardSwish, LeakyReLU, ReLU
from aidge_build.operators.binary import Add, Mul, Sub
from aidge_build.operators.conv_transpose import ConvTranspose
from aidge_build.operators.pool import AvgPooling, MaxPooling
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.operators.resize import Resize
from aidge_build.operators.unary import Abs, Neg
from aidge_build.operators.window import Window

# As EDGES of cortexm, and groups: all numbers of channels that are left over, rows of one pixel, windows in pads alone.
MORE = [
    *((1, 5, (1, 7), outputs, (1, 1), 1, 1, (0, 0), 1) for outputs in (1, 2, 3, 7, 12, 15)),
    (1, 2, (3, 11), 3, (2, 3), 1, 1, (1, 1), 1),
    (1, 16, (5, 8), 16, (3, 3), 1, 1, (1, 1), 1),
    (2, 4, (4, 9), 8, (3, 3), 1, 1, (5, 4), 1),
    (1, 6, (2, 9), 9, (1, 2), 1, 3, (0, 2), 3),
    (2, 8, (6, 7), 20, (3, 3), 2, 1, (1, 1), 2),
    (1, 12, (5, 5), 24, (1, 1), 1, 1, (0, 0), 4),
    (1, 3, (3, 5), 4, (1, 1), 2, 1, (0, 0), 1),
    (1, 1, (40,), 17, (10,), 3, 1, (4, 6), 1),
]

# As DEPTHWISE of cortexm: blocks of pixels that overlap, rows that are shorter than a block, rows in pads alone.
MORE_DEPTHWISE = [
    (1, 4, (3, 5), (3, 3), (1, 1), (1, 1), (1, 1)),
    (1, 6, (4, 2), (3, 3), (1, 1), (1, 1), (1, 1)),
    (1, 9, (6, 7), (5, 5), (1, 1), (1, 1), (2, 2)),
    (2, 11, (8, 9), (5, 5), (2, 2), (1, 1), (2, 1)),
    (1, 7, (3, 6), (3, 3), (1, 1), (1, 1), (5, 4)),
    (1, 13, (5, 1), (3, 3), (1, 1), (1, 1), (1, 1)),
    (1, 8, (5, 12), (3, 4), (1, 1), (1, 1), (1, 2)),
    (1, 4, (1, 40), (1, 9), (1, 1), (1, 1), (4, 4)),
    (1, 5, (3, 9), (3, 2), (1, 3), (1, 1), (0, 1)),
    (1, 4, (7, 5), (3, 1), (1, 1), (1, 1), (1, 1)),
    (1, 5, (4, 3), (4, 5), (1, 1), (1, 1), (2, 2)),
]
# Pointwise layers whose pixels lie in the lanes: groups of all sizes, values behind whole turns, one to three pixels left over.
GATHERED = [
    *(
        (1, values, (5, 3 + values % 4), outputs, (1, 1), 1, 1, (0, 0))
        for values, outputs in ((8, 12), (9, 8), (16, 24), (7, 25))
    ),
    *((1, values, (4, 9), outputs, (1, 1), 1, 1, (0, 0)) for values, outputs in ((3, 3), (5, 13), (11, 10), (13, 2), (64, 31))),
    (2, 10, (7,), 16, (1,), 1, 1, (0, 0)),
    (1, 1, (40,), 1, (1,), 1, 1, (0, 0)),
    (1, 4, (1, 3), 96, (1, 1), 1, 1, (0, 0)),
]
# So many pixels that the text knows how far columns are apart.
LARGE_DEPTHWISE = [
    (1, 8, (20, 21), (3, 3), (1, 1), (1, 1), (1, 1)),
    (1, 6, (17, 16), (5, 5), (1, 1), (1, 1), (2, 2)),
    (1, 10, (26, 20), (5, 5), (2, 2), (1, 1), (1, 2)),
    (1, 12, (26, 40), (3, 2), (2, 2), (1, 1), (0, 1)),
]


def random_depthwise(seed):
    random = Randomness(seed)
    spatial, kernel, dilation, pads = random_window(random)
    stride, rank = random.choice(1, 1, 2, 3), len(kernel)
    return depthwise(
        case, seed, random.choice(1, 2), random.integer(4, 23), spatial, kernel, (stride,) * rank, (dilation,) * rank, pads
    )


def random_convolution(seed):
    random = Randomness(seed)
    spatial, kernel, dilation, pads = random_window(random)
    groups = random.choice(1, 1, 1, 2)
    channels, outputs = (groups * random.integer(1, 17) for _ in range(2))
    return convolution(
        case, seed, random.choice(1, 2), channels, spatial, outputs, kernel, random.choice(1, 1, 2), dilation, pads, groups
    )


BINARY_DIMS = [
    ((1, 5, 3, 7), (1, 5, 3, 7)),
    ((2, 6, 4), (6, 1)),
    ((1, 3, 5, 5), (1, 3, 1, 1)),
    ((1, 1), (1, 1)),
    ((2, 3, 4, 5), (3, 1, 5)),
    ((4,), (3, 1)),
    ((1, 16), (1,)),
    ((5, 7), (7,)),
]


def elements():
    """Sums, differences and products with broadcasting, functions of one value."""
    for seed, (first, second) in enumerate(BINARY_DIMS * 4):
        random, (low, high) = Randomness(seed), CLAMPS[seed % len(CLAMPS)]
        given = (first, second) if seed % 2 else (second, first)
        operator = (Add, Sub, Mul)[seed % 3](minimum=low, maximum=high)
        tensors = [random.real(*dims, name=name) for dims, name in zip(given, "ab")]
        yield case(operator, tensors, [random.float32(*dims) for dims in given])
    functions = (ReLU(), Abs(), Neg(), LeakyReLU(alpha=0.3), HardSigmoid(), HardSwish())
    for seed, operator in enumerate([*functions, *(Clip(minimum=low, maximum=high) for low, high in CLAMPS)]):
        for dims in ((1, 1), (2, 5, 3, 7), (1, 16)):
            random = Randomness(seed)
            yield case(operator, [random.real(*dims)], [4 * random.float32(*dims)])
    for operator in (HardSigmoid(), HardSwish()):
        values = numpy.array([[math.nan, -math.nan, math.inf, -3.5, 3.5, 0.0, -0.0]], numpy.float32)
        yield case(operator, [Randomness(0).real(*values.shape)], [values])


def pools():
    for seed, (dims, operator) in enumerate(random_pools(Randomness(8))):
        yield case(operator, [Randomness(seed).real(*dims)], [Randomness(seed).float32(*dims)])
    for seed, channels in enumerate((16, 19, 33, 64)):
        random, (low, high) = Randomness(seed), CLAMPS[1 + seed]
        window = Window((3, 2), (2, 1), (1, 2), (1, 1), (1, 0))
        for kind in (MaxPooling, AvgPooling):
            data = random.real(1, channels, 7, 6)
            yield case(kind(minimum=low, maximum=high, window=window), [data], [random.float32(*data.dims)])
    window = Window((1, 1), (1, 2), (1, 1), (0, 0), (0, 0))
    for channels in (26, 54):  # with one function for whole windows, and one each for others
        data, values = Randomness(channels).real(1, channels, 5, 8), Randomness(channels).float32(1, channels, 5, 8)
        yield case(MaxPooling(minimum=0.0, maximum=6.0, window=window), [data], [values])


# So many pixels that windows inside are straight lines: rows, columns, strides, dilations, pads, channels
WINDOWS = [
    ((2, 2), (2, 2), (1, 1), (0, 0), 8),
    ((3, 3), (2, 2), (1, 1), (1, 1), 6),
    ((3, 2), (1, 2), (1, 2), (0, 1), 13),
    ((4, 4), (1, 1), (2, 1), (0, 0), 3),
    ((2, 3), (1, 1), (1, 1), (1, 0), 1),
    ((2, 1), (2, 1), (1, 1), (0, 0), 17),
]


def windows():
    for seed, (kernel, strides, dilations, pads, channels) in enumerate(WINDOWS * 2):
        random, (low, high) = Randomness(seed), CLAMPS[seed % len(CLAMPS)]
        data = random.real(1 + seed % 2, channels, 25, 31)
        window = Window(kernel, strides, dilations, (pads[0], pads[0]), (pads[1], pads[1]))
        for kind in (MaxPooling, AvgPooling):
            yield case(kind(minimum=low, maximum=high, window=window), [data], [random.float32(*data.dims)])


# batch, channels, spatial, outputs, kernel, strides, pads, output padding
TRANSPOSED = [
    (1, 6, (4, 5), 8, (2, 2), (2, 2), (0, 0), (0, 0)),
    (2, 5, (3, 7), 9, (3, 3), (2, 2), (1, 1), (1, 1)),
    (1, 3, (6, 4), 3, (4, 3), (2, 3), (1, 0), (0, 2)),
    (1, 4, (9,), 16, (5,), (1,), (2,), (0,)),
    (1, 7, (5,), 12, (6,), (3,), (0,), (2,)),
    (1, 2, (1, 1), 4, (3, 3), (3, 3), (1, 1), (0, 0)),
]


def transposed():
    for seed, (batch, channels, spatial, outputs, kernel, strides, pads, extra) in enumerate(TRANSPOSED * 2):
        random, rank, (low, high) = Randomness(seed), len(kernel), CLAMPS[seed % len(CLAMPS)]
        sizes = zip(spatial, kernel, strides, pads, extra)
        size = tuple(stride * (count - 1) + more + taps - 2 * pad for count, taps, stride, pad, more in sizes)
        operator = ConvTranspose(low, high, kernel, strides, (1,) * rank, pads, size)
        data, weights = random.real(batch, channels, *spatial), constant("w", random.float32(channels, outputs, *kernel))
        yield case(operator, [data, weights, random.bias(outputs, "float32")], [random.float32(*data.dims)])


def conversions():
    """Values of every kind, many of them next to where the level changes, by scales whose quotients are hard to round."""
    special = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        math.inf,
        -math.inf,
        math.nan,
        1e30,
        -1e30,
        3e38,
        127.5,
        128.5,
        -128.5,
        255.5,
        -0.0,
        1e-40,
    ]
    scales = (1.0, 0.5, 0.1, 1 / 255, 0.0078431377, 3.0, 1.7e-7, 2.0**40)
    for seed, scale in enumerate((*scales, *(float(Randomness(seed).scale()) for seed in range(12)))):
        random, numbers = Randomness(seed), numpy.float32(scale)
        near = ((numpy.arange(-140, 140) + 0.5) * scale).astype(numpy.float32)
        near = numpy.concatenate([numpy.nextafter(near, numpy.float32(way)) for way in (-math.inf, math.inf)] + [near])
        values = numpy.concatenate([numpy.array(special, numpy.float32), near, numbers * 50 * random.float32(97)])
        zero_point = constant("zero_point", numpy.array(random.choice(-128, 127, 0, 3), numpy.int8))
        parameters = [constant("scale", numpy.array(numbers)), zero_point]
        for count in (values.size, 3 + seed % 7):
            yield case(QuantizeLinear(0, DType.int8), [random.real(count), *parameters], [values[-count:]])
        data = Tensor("x", (3, 5 + seed), DType.int8)
        yield case(DequantizeLinear(0), [data, *parameters], [random.int8(*data.dims)])


@functools.cache
def candidates():
    cases = [*elements(), *pools(), *windows(), *conversions(), *transposed(), *resizes()]
    cases += [convolution(case, seed, *edge) for seed, edge in enumerate([*EDGES, *MORE] * 2)]
    shapes = [*ROWS, (1, 33, 4), (1, 4, 31), (1, 16, 12), (1, 20, 2)]
    cases += [fully_connected(case, seed, *shape) for seed, shape in enumerate(shapes * 2)]
    cases += [depthwise(case, seed, *edge) for seed, edge in enumerate([*DEPTHWISE, *MORE_DEPTHWISE] * 2) if edge[1] >= 4]
    cases += gathered() + large_depthwise()
    cases += [random_depthwise(seed) for seed in range(5000, 5000 + RANDOM_CASES // 2)]
    return cases + [random_convolution(seed) for seed in range(4000, 4000 + RANDOM_CASES // 2)]


def gathered():
    return [convolution(case, seed, *edge) for seed, edge in enumerate(GATHERED * 2)] + [fully_connected(case, 1, 16, 20, 30)]


def large_depthwise():
    return [depthwise(case, seed, *edge) for seed, edge in enumerate(LARGE_DEPTHWISE)]


def test_pixels_of_pointwise_layers_lie_in_the_lanes_unless_many_outputs_of_few_pixels_are_wanted():
    *cases, rows = (entry.call.function for entry in gathered())
    wanted = [*[True] * (len(GATHERED) - 1), False]
    assert ["gathered" in function for function in [*cases, rows]] == [*wanted * 2, True]


def test_pools_of_one_name_are_of_one_text():
    calls = [entry.call for entry in (*pools(), *windows())]
    assert len({call.function for call in calls}) == len({(call.function, call.texts) for call in calls})


def test_many_pixels_of_a_pool_see_their_windows_in_a_straight_line():
    assert all("_of_" in entry.call.function for entry in windows())


def test_loads_of_many_columns_move_on_by_themselves():
    assert all("_apart" in entry.call.function for entry in large_depthwise())


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O0",), ("-Os", "-flto")], ids=lambda flags: " ".join(flags) or "usual")
def test_float_layers_are_within_tolerance_on_the_emulated_core(flags):
    assert run(under(flags, candidates()), "-Wall", "-Wextra", "-Werror", *flags) == []


def resizes():
    """Along one to three axes, by two to 16 pixels, to more and to fewer; channels that are no multiple of 4."""
    shapes = [
        ((1, 5, 4, 6), (1, 5, 8, 12), "linear", "half_pixel"),
        ((2, 8, 5, 3), (2, 8, 7, 3), "linear", "align_corners"),
        ((1, 3, 6, 4), (1, 3, 4, 9), "cubic", "half_pixel"),
        ((1, 17, 9), (1, 17, 6), "linear", "asymmetric"),
        ((1, 4, 2, 3, 4), (1, 4, 4, 3, 7), "linear", "half_pixel"),
    ]
    for seed, (dims, result, mode, coordinates) in enumerate(shapes):
        random = Randomness(seed)
        data = Tensor("x", dims, DType.float32, format=channels_last(len(dims)))
        operator = Resize(result, tuple(new / old for new, old in zip(result, dims)), mode, coordinates)
        yield case(operator, [data], [random.float32(*dims)], format=channels_last(len(dims)))


@needs_emulator
def test_resizes_by_weights_are_the_sums_of_the_meaning():
    assert len(list(resizes())) == 5
    assert run(list(resizes()), "-Wall", "-Wextra", "-Werror") == []
