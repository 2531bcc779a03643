# SPDX-License-Identifier: MIT
"""float32 layers of `cortexm` against their numpy meaning, within 1e-5 of the largest value."""

from __future__ import annotations

import math
import shutil

import pytest
from cortexm_harness import BOARD, PORTABLE, Case, case, run
from harness import under
from random_tensors import Randomness

from aidge_build.boards.cores import WIDE_POINTERS
from aidge_build.graph.tensor import constant
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.window import Window

pytestmark = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end)
EDGES = [
    (1, 4, (1, 1), 4, (1, 1), 1, 1, (0, 0)),
    (1, 1, (3, 1), 5, (1, 1), 1, 1, (0, 0)),
    (2, 17, (3, 3), 6, (1, 1), 1, 1, (0, 0)),
    (1, 3, (5, 7), 5, (3, 3), 1, 1, (1, 1)),
    (1, 1, (9, 10), 8, (10, 4), 2, 1, (4, 1)),
    (2, 5, (6, 5), 17, (3, 2), 2, 1, (1, 0)),
    (1, 8, (9, 9), 4, (3, 3), 1, 2, (2, 2)),
    (1, 8, (7, 12), 4, (3, 3), 2, 1, (0, 1)),
    (1, 4, (1, 1), 6, (5, 5), 1, 1, (2, 2)),
    (2, 5, (12,), 9, (5,), 2, 2, (3, 4)),
    (1, 4, (9, 1), 5, (3, 1), 1, 1, (0, 0)),
    (1, 4, (6, 1), 5, (3, 1), 2, 1, (1, 0)),
    (2, 6, (5, 3), 9, (5, 3), 1, 1, (0, 0)),
    (1, 7, (4,), 12, (6,), 1, 1, (1, 1)),
]

# batch, channels, spatial, kernel, strides, dilations, pads (begin, end); of depthwise layers
DEPTHWISE = [
    (1, 1, (1, 1), (1, 1), (1, 1), (1, 1), (0, 0)),
    (1, 8, (5, 6), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 17, (7, 5), (3, 3), (2, 1), (1, 1), (1, 0)),
    (1, 24, (6, 9), (3, 3), (1, 2), (1, 1), (0, 1)),
    (1, 3, (9, 9), (3, 3), (1, 1), (2, 2), (2, 2)),
    (1, 5, (1, 1), (5, 5), (1, 1), (1, 1), (2, 2)),
    (2, 12, (8, 7), (5, 3), (1, 3), (1, 1), (2, 1)),
    (1, 16, (30,), (10,), (1,), (1,), (0, 0)),
    (2, 9, (13,), (3,), (2,), (3,), (5, 6)),
    (1, 64, (4, 4), (2, 2), (1, 1), (1, 1), (0, 1)),
    (1, 7, (11, 1), (3, 1), (1, 1), (1, 1), (1, 1)),
]


def depthwise_cases():
    clamps = ((-math.inf, math.inf), (0.0, math.inf), (0.0, 6.0), (-1.0, 1.5), (-math.inf, 0.5))
    for seed, (batch, channels, spatial, kernel, strides, dilations, pads) in enumerate(DEPTHWISE * 2):
        random, rank, (low, high) = Randomness(seed), len(kernel), clamps[seed % len(clamps)]
        window = Window(kernel, strides, dilations, (pads[0],) * rank, (pads[1],) * rank)
        data, weights = random.real(batch, channels, *spatial), constant("w", random.float32(channels, 1, *kernel))
        yield case(
            Conv(minimum=low, maximum=high, window=window, groups=channels, depthwise=True),
            [data, weights, random.bias(channels, "float32")],
            [random.float32(*data.dims)],
        )


# channels, outputs of each, spatial, kernel, stride, pads (begin, end)
MULTIPLIED = [
    (16, 2, (5, 6), (3, 3), 1, (1, 1)),
    (3, 3, (7, 5), (3, 3), 2, (1, 0)),
    (9, 2, (6, 6), (5, 3), 1, (2, 1)),
    (2, 32, (9,), (3,), 2, (0, 1)),
    (8, 5, (4, 4), (1, 1), 1, (0, 0)),
]


def multiplied_cases():
    """Depthwise layers with several outputs per channel."""
    for seed, (channels, several, spatial, kernel, stride, pads) in enumerate(MULTIPLIED):
        random, rank = Randomness(seed), len(kernel)
        low, high = ((0.0, math.inf), (-math.inf, math.inf), (0.0, 0.5), (-math.inf, 0.5))[seed % 4]
        window = Window(kernel, (stride,) * rank, (1,) * rank, (pads[0],) * rank, (pads[1],) * rank)
        data, outputs = random.real(1 + seed % 2, channels, *spatial), channels * several
        yield case(
            Conv(minimum=low, maximum=high, window=window, groups=channels),
            [data, constant("w", random.float32(outputs, 1, *kernel)), random.bias(outputs, "float32")],
            [random.float32(*data.dims)],
        )


def candidates():
    yield from depthwise_cases()
    yield from multiplied_cases()
    for seed, (batch, channels, spatial, outputs, kernel, stride, dilation, pads) in enumerate(EDGES * 2):
        random, rank = Randomness(seed), len(kernel)
        low, high = random.choice((-math.inf, math.inf), (0.0, math.inf), (0.0, 6.0), (-1.0, 1.5), (-math.inf, 0.5))
        window = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
        weights = constant("w", random.float32(outputs, channels, *kernel))
        data = random.real(batch, channels, *spatial)
        yield case(
            Conv(minimum=low, maximum=high, window=window),
            [data, weights, random.bias(outputs, "float32")],
            [random.float32(*data.dims)],
        )
    for seed, (batch, features, outputs) in enumerate(
        [(1, 1, 8), (1, 7, 9), (3, 64, 10), (1, 300, 17), (2, 5, 16), (2, 9, 1), (1, 6, 2), (3, 7, 5), (1, 48, 6)]
    ):
        random = Randomness(seed)
        weights = constant("w", random.float32(outputs, features))
        operator = FC(minimum=random.choice(-math.inf, 0.0), maximum=random.choice(math.inf, 1.0))
        yield case(
            operator, [random.real(batch, features), weights, random.bias(outputs, "float32")], [random.float32(batch, features)]
        )


def test_a_depthwise_layer_with_several_outputs_per_channel_is_computed_as_one():
    for entry in multiplied_cases():
        assert entry.call.function.startswith("aidge_cortexm_depthwise_layer_float32"), entry.view.node


class WideCase(Case):
    features = Case.features | {WIDE_POINTERS}


def test_float_layers_keep_pointers_of_64_bits_within_the_scratch_that_they_asked_for():
    cases = [WideCase(entry.view, entry.values) for entry in candidates()][::3]
    assert run(cases, "-O0", board="host") == []


@pytest.mark.parametrize("flags", [(), PORTABLE, ("-O0",), ("-O3", "-flto")], ids=["assembly", "portable", "unoptimized", "lto"])
def test_float_layers_are_within_tolerance_on_the_emulated_core(flags):
    assert run(under(flags, list(candidates())), *flags, board=BOARD) == []
