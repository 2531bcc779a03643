# SPDX-License-Identifier: MIT
"""Float32 layers with weights, for every library with kernels for them."""

from __future__ import annotations

import math

from random_tensors import Randomness

from aidge_build.graph.tensor import constant
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.window import Window

CLAMPS = ((-math.inf, math.inf), (0.0, math.inf), (0.0, 6.0), (-1.0, 1.5), (-math.inf, 0.5))
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
ROWS = [(1, 1, 8), (1, 7, 9), (3, 64, 10), (1, 300, 17), (2, 5, 16), (2, 9, 1), (1, 6, 2), (3, 7, 5), (1, 48, 6)]  # of FC


def convolution(case, seed, batch, channels, spatial, outputs, kernel, stride, dilation, pads, groups=1):
    rank = len(kernel)
    window = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
    return _windows(case, seed, (batch, channels, *spatial), (outputs, channels // groups, *kernel), window, groups=groups)


def depthwise(case, seed, batch, channels, spatial, kernel, strides, dilations, pads):
    rank = len(kernel)
    window = Window(kernel, strides, dilations, (pads[0],) * rank, (pads[1],) * rank)
    dims = batch, channels, *spatial
    return _windows(case, seed, dims, (channels, 1, *kernel), window, groups=channels, depthwise=True)


def _windows(case, seed, dims, weights, window, **fields):
    random, (low, high) = Randomness(seed), CLAMPS[seed % len(CLAMPS)]
    operator = Conv(minimum=low, maximum=high, window=window, **fields)
    inputs = [random.real(*dims), constant("w", random.float32(*weights)), random.bias(weights[0], "float32")]
    return case(operator, inputs, [random.float32(*dims)])


def fully_connected(case, seed, batch, features, outputs):
    random, (low, high) = Randomness(seed), CLAMPS[seed % len(CLAMPS)]
    weights = constant("w", random.float32(outputs, features))
    inputs = [random.real(batch, features), weights, random.bias(outputs, "float32")]
    return case(FC(minimum=low, maximum=high), inputs, [random.float32(batch, features)])
