# SPDX-License-Identifier: MIT
"""float32 convolutions and fully connected layers of `cortexm` against their numpy meaning, within 1e-5 of the largest value."""

from __future__ import annotations

import math
import shutil

import pytest
from cortexm_harness import BOARD, PORTABLE, case, run
from random_tensors import Randomness

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
]


def cases():
    for seed, (batch, channels, spatial, outputs, kernel, stride, dilation, pads) in enumerate(EDGES * 2):
        random, rank = Randomness(seed), len(kernel)
        low, high = random.choice((-math.inf, math.inf), (0.0, math.inf), (0.0, 6.0), (-1.0, 1.5), (-math.inf, 0.5))
        window = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
        weights = constant("w", random.float32(outputs, channels, *kernel))
        data = random.real(batch, channels, *spatial)
        yield case(Conv(minimum=low, maximum=high, window=window), [data, weights, random.bias(outputs, "float32")],
                   [random.float32(*data.dims)])
    for seed, (batch, features, outputs) in enumerate([(1, 1, 8), (1, 7, 9), (3, 64, 10), (1, 300, 17), (2, 5, 16)]):
        random = Randomness(seed)
        weights = constant("w", random.float32(outputs, features))
        operator = FC(minimum=random.choice(-math.inf, 0.0), maximum=random.choice(math.inf, 1.0))
        yield case(operator, [random.real(batch, features), weights, random.bias(outputs, "float32")],
                   [random.float32(batch, features)])


@pytest.mark.parametrize("flags", [(), PORTABLE, ("-O0",), ("-O3", "-flto")], ids=["assembly", "portable", "unoptimized", "lto"])
def test_float_layers_are_within_tolerance_on_the_emulated_core(flags):
    assert run(list(cases()), *flags, board=BOARD) == []
