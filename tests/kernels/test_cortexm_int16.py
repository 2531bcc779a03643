# SPDX-License-Identifier: MIT
"""Layers of int16 data on cortexm: every value as the numpy meaning has it."""

from __future__ import annotations

import math
import os

import numpy
import pytest
from cortexm_harness import BOARD, PORTABLE, accepted, case, run
from harness import under
from helium_harness import needs_emulator
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.binary import Add, Mul, Sub
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.quantize import QuantizeLinear
from aidge_build.operators.window import Window

STRESS = bool(os.environ.get("AIDGE_STRESS"))
# batch, channels, spatial, outputs, kernel, stride, dilation, pads
WINDOWS = [
    (1, 4, (5, 5), 8, (3, 3), 1, 1, (1, 1)),
    (2, 3, (4, 6), 5, (2, 3), 2, 1, (0, 1)),
    (1, 16, (3, 3), 12, (1, 1), 1, 1, (0, 0)),
    (1, 7, (9,), 6, (3,), 1, 2, (2, 2)),
    (1, 20, (1, 1), 9, (1, 1), 1, 1, (0, 0)),
    (1, 1, (7, 5), 4, (5, 3), 1, 1, (2, 1)),
    (1, 33, (2, 3), 7, (2, 2), 1, 1, (0, 1)),
]


def int16(random: Randomness, *dims: int) -> numpy.ndarray:
    values = random.numbers.integers(-32768, 32768, dims)
    return numpy.where(random.numbers.random(dims) < 0.1, numpy.where(values < 0, -32768, 32767), values).astype(numpy.int16)


def wide(random: Randomness, *dims: int) -> Tensor:
    return Tensor("x", dims, DType.int16, quantization=per_tensor(random.scale(2e-4), random.choice(0, 0, 0, 77, -300)))


def parameters(random: Randomness, outputs: int, *dims: int):
    weights = random.weights(outputs, *dims)
    bias = random.bias(outputs)
    return [weights, bias if bias is None else bias.with_(data=bias.data * 1000)]


def output_of(random: Randomness, taps: int):
    around = 2e-4 * 0.01 * 40 * math.sqrt(taps) * random.choice(1, 1, 0.2)
    return per_tensor(random.scale(around), random.choice(0, 0, 0, -5, 20000))


def bounds(random: Randomness) -> tuple[float, float]:
    return random.choice((-math.inf, math.inf), (0.0, math.inf), (0.0, 6.0), (-1.0, 1.5))


def convolutions(count: int, depthwise: bool = False):
    for seed in range(count):
        random = Randomness(seed + 50 * depthwise)
        batch, channels, spatial, outputs, kernel, stride, dilation, pads = WINDOWS[seed % len(WINDOWS)]
        low, high = bounds(random)
        rank = len(kernel)
        window = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
        if depthwise:
            channels = outputs = max(4, channels)
        groups = channels if depthwise else 1
        data = wide(random, batch, channels, *spatial)
        given = parameters(random, outputs, channels // groups, *kernel)
        operator = Conv(minimum=low, maximum=high, window=window, groups=groups, depthwise=depthwise)
        taps = given[0].data[0].size
        yield case(operator, [data, *given], [int16(random, *data.dims)], quantization=output_of(random, taps))


def products(count: int):
    for seed in range(count):
        random = Randomness(900 + seed)
        rows, features, outputs = random.choice(1, 1, 3), random.choice(1, 8, 33, 100), random.choice(4, 9, 16)
        low, high = bounds(random)
        data = wide(random, rows, features)
        given = parameters(random, outputs, features)
        yield case(FC(low, high), [data, *given], [int16(random, rows, features)], quantization=output_of(random, features))


def depthwise(count: int):
    return accepted(list(convolutions(count, depthwise=True)))


def elementwise(count: int):
    for seed in range(count):
        random = Randomness(700 + seed)
        dims = random.choice((1, 1), (1, 7), (2, 3, 4), (1, 4, 3, 3), (1, 8))
        low, high = bounds(random)
        terms = [Tensor(name, dims, DType.int16, quantization=per_tensor(random.scale(1e-4), 0)) for name in ("a", "b")]
        operator = (Add, Sub, Mul)[seed % 3](low, high)
        scale = random.scale(1e-4 if seed % 3 < 2 else 1e-4 * random.choice(1, 0.3))
        yield case(operator, terms, [int16(random, *dims) for _ in range(2)], quantization=per_tensor(scale, 0))


def quantizations(count: int):
    for seed in range(count):
        random = Randomness(800 + seed)
        scale, point = numpy.float32(random.scale(1e-3)), numpy.int16(random.choice(0, -200, 32767))
        data = random.real(1, random.choice(1, 4, 9))
        values = 20 * random.float32(*data.dims)
        values[0, 0] = random.choice(numpy.nan, numpy.inf, -numpy.inf, 1e9, 0.0)
        yield case(QuantizeLinear(0, DType.int16), [data, constant("s", scale), constant("z", point)], [values])


def candidates():
    """For the tests of all kernels."""
    return [*convolutions(8), *products(6), *depthwise(8), *elementwise(6), *quantizations(2)]


@needs_emulator
@pytest.mark.parametrize(
    "flags, board",
    [((), BOARD), ((), "host"), (PORTABLE, BOARD), (("-Os",), BOARD), (("-O0",), BOARD)][: 3 + 2 * STRESS],
)
def test_int16_layers_equal_the_meaning(flags, board):
    found = [*convolutions(60 if STRESS else 14), *products(20 if STRESS else 6)]
    assert {entry.kernel.name for entry in found} == {"linear_int16"}
    found += depthwise(60 if STRESS else 14)
    assert {entry.kernel.name for entry in found} == {"linear_int16", "depthwise_int16"}
    assert run(under(flags, found), *flags, board=board) == []


@needs_emulator
def test_sums_products_and_quantizations_to_int16_equal_the_meaning():
    found = [*elementwise(90 if STRESS else 24), *quantizations(30 if STRESS else 8)]
    assert {entry.kernel.name for entry in found} == {"binary_int16", "quantize_layers"}
    assert run(found, board=BOARD) == []


def test_sums_beyond_32_bits_are_left_to_others():
    """300 products of 127 and 32768 fit; 600 do not."""
    for features, count in ((300, 1), (600, 0)):
        weights = parameters(Randomness(1), 4, features)[0]
        weights = weights.with_(data=numpy.full_like(weights.data, 127))
        data = Tensor("x", (1, features), DType.int16, quantization=per_tensor(1e-4, 0))
        entry = case(FC(), [data, weights], [numpy.zeros((1, features), numpy.int16)], quantization=per_tensor(1e-3, 0))
        assert len(accepted([entry])) == count


def test_sums_whose_scales_could_leave_the_normal_floats_are_left_to_others():
    random = Randomness(0)
    for scale, is_taken in ((1e-3, True), (2.0**-99, True), (2.0**-101, False), (2.0**101, False)):
        terms = [Tensor(name, (1, 9), DType.int16, quantization=per_tensor(scale, 0)) for name in ("a", "b")]
        made = case(Add(), terms, [int16(random, 1, 9) for _ in range(2)], quantization=per_tensor(1e-3, 0))
        assert len(accepted([made])) == is_taken
