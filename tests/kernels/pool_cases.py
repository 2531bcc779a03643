# SPDX-License-Identifier: MIT
"""Pools with random numbers: edge shapes and random ones, for every library that has pools."""

from __future__ import annotations

import itertools
import math

import numpy
from random_tensors import Randomness

from aidge_build.graph.quantization import per_tensor
from aidge_build.operators.pool import AvgPooling, GlobalAveragePooling, GlobalMaxPooling, MaxPooling
from aidge_build.operators.window import Window

CLAMPS = ((-math.inf, math.inf), (0.0, math.inf), (-1.0, 1.5))


# Windows that may count pads, with pads and without, over the map and over parts: spatial axes, kernel, stride, pads.
COUNTING = (
    ((16, 16), (16, 16), 1, (0, 0)),
    ((16, 16), (16, 16), 16, (0, 0)),
    ((4, 6), (4, 6), 2, (0, 0)),
    ((12,), (12,), 1, (0, 0)),
    ((1, 16), (1, 16), 1, (0, 0)),
    ((8, 8), (2, 2), 2, (0, 0)),
    ((9,), (4,), 2, (0, 0)),
    ((4, 4), (4, 4), 1, (1, 0)),
    ((6, 7), (4, 2), 2, (1, 1)),
    ((8,), (4,), 2, (2, 1)),
)


def pool(case, seed, operator_class, batch, channels, spatial, kernel, stride, dilation=1, pads=(0, 0), scale=None, **fields):
    """A node made by `case` of a harness; `kernel` None: over the whole map.

    `scale` of input and output: with an even number of taps many means lie between two levels but for float32's rounding.
    """
    random, rank = Randomness(seed), len(spatial)
    low, high = random.choice(*CLAMPS)
    data = random.data(batch, channels, *spatial)
    if scale:
        data = data.with_(quantization=per_tensor(scale, data.quantization.zero_point))
        low, high = -math.inf, math.inf
    if kernel:
        fields["window"] = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
    keeps = operator_class in (MaxPooling, GlobalMaxPooling) or scale
    quantization = data.quantization if keeps else random.quantization(0.03)
    return case(operator_class(minimum=low, maximum=high, **fields), [data], [random.int8(*data.dims)], quantization=quantization)


def tied_pools(case):
    """Means whose windows hold a number and the next one equally often: without pads each is in the middle of two levels."""
    found = []
    for seed, (spatial, kernel, stride, pads) in enumerate(COUNTING):
        rank = len(spatial)
        window = Window(kernel, (stride,) * rank, (1,) * rank, (pads[0],) * rank, (pads[1],) * rank)
        for channels, step, counts in itertools.product((3, 20), (0.125, 0.375), (True, False)):
            data = Randomness(seed).data(2, channels, *spatial).with_(quantization=per_tensor(0.375, -2))
            lower = numpy.arange(2 * channels).reshape(2, channels, *(1,) * rank) % 81 - 42
            values = (lower + sum(numpy.indices(spatial)) % 2).astype(numpy.int8)
            operator = AvgPooling(window=window, count_include_pad=counts)
            found.append(case(operator, [data], [values], quantization=per_tensor(step, 1)))
    return found


def random_pool(case, seed):
    random = Randomness(seed)
    kernel = (random.integer(1, 4), random.integer(1, 4))
    spatial = tuple(size + random.integer(0, 6) for size in kernel)
    shape = (random.choice(1, 2), random.choice(1, 3, 16, 17, 32, 37), spatial, kernel, random.integer(1, 3))
    pads = random.choice((0, 0), tuple(random.integer(0, min(kernel) - 1) for _ in range(2)))
    return pool(case, seed, random.choice(AvgPooling, MaxPooling), *shape, 1, pads)


def edge_pools(case):
    return (
        [
            pool(case, seed, *shape)
            for seed, shape in enumerate(
                (
                    (GlobalAveragePooling, 1, 64, (8, 8), None, 1),
                    (GlobalMaxPooling, 2, 19, (5, 3), None, 1),
                    (GlobalAveragePooling, 2, 5, (7, 3), None, 1),
                    (GlobalAveragePooling, 1, 6, (17, 31), None, 1),
                    (AvgPooling, 1, 70, (25, 5), (25, 5), 1),
                    (MaxPooling, 1, 16, (9, 9), (3, 3), 2, 1, (1, 1)),
                    (MaxPooling, 1, 5, (9, 9), (3, 3), 1, 2, (2, 2)),
                    (MaxPooling, 1, 21, (1, 1), (3, 3), 1, 1, (1, 1)),
                    (AvgPooling, 2, 6, (12,), (3,), 3),
                    (AvgPooling, 1, 4, (9, 9), (2, 3), 2, 2),
                    (AvgPooling, 1, 17, (7, 6), (3, 3), 1, 1, (1, 1)),
                    (AvgPooling, 2, 33, (5, 9), (3, 2), 2, 1, (1, 0)),
                    (AvgPooling, 1, 5, (1, 1), (3, 3), 1, 1, (1, 1)),
                    (MaxPooling, 1, 3, (1, 1), (1, 1), 1),
                    (AvgPooling, 1, 11, (3, 4), (1, 1), 2),
                    (AvgPooling, 1, 12, (4, 5), (2, 1), 1),
                    (MaxPooling, 1, 4, (3, 200), (3, 3), 3, 1, (0, 1)),
                    (MaxPooling, 1, 2052, (1, 4), (1, 3), 1, 1, (0, 0), 0.02),  # taps beyond what a load reaches
                )
            )
        ]
        + [pool(case, 20 + seed, AvgPooling, 1, 9, (6, 7), (3, 3), 2, 1, (1, 1), count_include_pad=True) for seed in range(3)]
        + means_between_levels(case)
    )


def means_between_levels(case):
    """In each order of summation, and with sums of int16 and more."""
    shapes = (
        (GlobalAveragePooling, (8, 8), None, 1),
        (GlobalAveragePooling, (7, 6), None, 1),
        (AvgPooling, (8, 8), (8, 8), 8),
        (AvgPooling, (8, 6), (8, 6), 2),
        (AvgPooling, (20, 16), (20, 16), 20),
        (AvgPooling, (8, 8), (2, 2), 2),
        (AvgPooling, (9, 9), (4, 2), 3),
        (AvgPooling, (12,), (4,), 2),
        (AvgPooling, (5, 6), (3, 3), 1, 1, (1, 1)),
        (AvgPooling, (9, 8), (2, 2), 1, 3),
        (AvgPooling, (7, 2), (3, 3), 2, 1, (1, 1)),
    )
    few = [pool(case, 60 + seed, AvgPooling, 1, channels, (8, 8), (2, 2), 2, scale=0.1) for seed, channels in enumerate((3, 4))]
    return [
        pool(case, 30 + seed, kind, 2, channels, *shape, scale=scale)
        for seed, (kind, *shape) in enumerate(shapes)
        for channels, scale in ((37, 0.1), (64, 0.0235294))
    ] + [*few, *tied_pools(case)]
