# SPDX-License-Identifier: MIT
"""Convolutions of stored bytes with a function of few levels behind them, for every library that computes both at once."""

from __future__ import annotations

import functools
import math

import numpy
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import Node, graph_view
from aidge_build.operators.arithmetic.staircase import steps_of
from aidge_build.operators.dynamic import DynamicConv
from aidge_build.operators.staircase import Staircase
from aidge_build.operators.window import Window
from aidge_build.prepare.adaptation.meta_operator import MetaOperator

F = numpy.float32
TYPE = "CurvedConv"
FUNCTIONS = (
    lambda x: x * numpy.clip(x / F(6) + F(0.5), 0, 1).astype(F),
    lambda x: x / (1 + numpy.exp(-x)),
    lambda x: 4 / (1 + numpy.exp(-x)),
    lambda x: x * numpy.where(x < 0, F(0.1), F(1)),
)
STORED = [per_tensor(scale, zero_point) for scale, zero_point in ((0.0237, -112), (0.0411, -97), (0.0163, -118), (0.031, -40))]
# channels, spatial, outputs, kernel, stride, pads, groups
EDGES = [
    (8, (5, 6), 8, (1, 1), 1, 0, 1),
    (12, (3, 3), 6, (1, 1), 1, 0, 1),
    (4, (2, 1), 5, (1, 1), 1, 0, 1),
    (20, (7,), 4, (1,), 1, 0, 1),
    (8, (5, 6), 7, (3, 3), 1, 1, 1),
    (3, (6, 7), 8, (3, 3), 2, 1, 1),
    (5, (9,), 4, (3,), 1, 1, 1),
    (40, (4, 4), 4, (3, 3), 1, 1, 1),
    (8, (5, 5), 8, (3, 3), 1, 1, 8),
    (7, (6, 9), 7, (5, 3), 2, 2, 7),
    (24, (4, 4), 24, (3, 3), 1, 1, 24),
    (6, (11,), 6, (5,), 1, 2, 6),
]
# So many channels and taps that no product of integers tells their sums apart at every step.
WIDE = [
    (64, (2, 3), 128, (1, 1), 1, 0, 1),
    (64, (3, 3), 32, (3, 3), 2, 1, 1),
    (512, (3, 2), 512, (3, 3), 1, 1, 512),
]


@functools.cache
def staircase(number: int, scale: float, zero_point: int) -> Staircase:
    """One of FUNCTIONS, stored with this scale."""

    def stored(numbers: numpy.ndarray) -> numpy.ndarray:
        with numpy.errstate(over="ignore"):
            values = FUNCTIONS[number](numpy.clip(numbers, -1e6, 1e6))
        return numpy.clip(numpy.rint(values / F(scale)) + zero_point, -128, 127).astype(numpy.int64)

    keys, levels = steps_of(stored)
    return Staircase(tuple(keys.tolist()), tuple(levels.tolist()))


def layer(case, seed: int, edge, bits: int = 8):
    """int16 weights with every third seed, whose products do not share halfwords; sums of about -6 to 6 in float."""
    channels, spatial, outputs, kernel, stride, pad, groups = edge
    random, rank = Randomness(seed), len(kernel)
    window = Window(kernel, (stride,) * rank, (1,) * rank, (pad,) * rank, (pad,) * rank)
    minimum, maximum = ((-math.inf, math.inf), (0.0, math.inf), (-math.inf, math.inf), (0.0, 2.5))[seed % 4]
    weights = random.int8(outputs, channels // groups, *kernel) >> 8 - bits
    if seed % 3 == 2:
        weights = weights.astype(numpy.int16) * 2 + 1
    taps, scale = weights[0].size, random.numbers.uniform(0.01, 0.05)
    factors = random.numbers.uniform(0.5, 1, outputs) * 6 / (80 * (80 >> 8 - bits) * math.sqrt(taps) * scale)
    zero_point = random.choice(-128, 0, random.integer(-128, 127))
    tensors = {
        "x": Tensor("x", (2, channels, *spatial), DType.int8, quantization=per_tensor(scale, zero_point)),
        "w": constant("w", weights),
        "z": constant("z", numpy.array(zero_point, numpy.int8)),
        "s": constant("s", numpy.array(scale, F)),
        "f": constant("f", factors.astype(F)),
        "b": constant("b", random.float32(outputs)),
    }
    names = list(tensors)[: 6 - (seed % 5 == 0)]
    convolution = DynamicConv(minimum=minimum, maximum=maximum, window=window, groups=groups)
    (made,) = convolution.infer([tensors[name] for name in names])
    tensors["r"] = Tensor("r", made.dims, made.dtype)
    quantization = STORED[seed // 2 % len(STORED)]
    tensors["y"] = Tensor("y", made.dims, DType.int8, quantization=quantization)
    steps = staircase(seed // 2 % len(FUNCTIONS), quantization.scale, quantization.zero_point)
    nodes = [Node("sums", convolution, tuple(names), ("r",)), Node("steps", steps, ("r",), ("y",))]
    whole = MetaOperator(TYPE, graph_view(TYPE, nodes, tensors, names, ["y"]))
    return case(whole, [tensors[name] for name in names], [random.int8(2, channels, *spatial)], quantization=quantization)


def curved_layers(case, count: int = 24):
    """Each edge with several seeds."""
    return [layer(case, seed, EDGES[seed % len(EDGES)]) for seed in range(count)]


def wide_layers(case):
    """Layers whose sums go through float32."""
    return [layer(case, seed, edge) for edge in WIDE for seed in (1, 8)]
