# SPDX-License-Identifier: MIT
"""Pools with random numbers: edge shapes and random ones, for every library that has pools."""

from __future__ import annotations

import math

from random_tensors import Randomness

from aidge_build.operators.pool import AvgPooling, GlobalAveragePooling, GlobalMaxPooling, MaxPooling
from aidge_build.operators.window import Window

CLAMPS = ((-math.inf, math.inf), (0.0, math.inf), (-1.0, 1.5))


def pool(case, seed, operator_class, batch, channels, spatial, kernel, stride, dilation=1, pads=(0, 0), **fields):
    """A node made by `case` of a harness; `kernel` None: over the whole map."""
    random, rank = Randomness(seed), len(spatial)
    low, high = random.choice(*CLAMPS)
    data = random.data(batch, channels, *spatial)
    if kernel:
        fields["window"] = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
    quantization = data.quantization if operator_class in (MaxPooling, GlobalMaxPooling) else random.quantization(0.03)
    return case(operator_class(minimum=low, maximum=high, **fields), [data], [random.int8(*data.dims)], quantization=quantization)


def random_pool(case, seed):
    random = Randomness(seed)
    kernel = (random.integer(1, 4), random.integer(1, 4))
    spatial = tuple(size + random.integer(0, 6) for size in kernel)
    shape = (random.choice(1, 2), random.choice(1, 3, 16, 17, 32, 37), spatial, kernel, random.integer(1, 3))
    pads = random.choice((0, 0), tuple(random.integer(0, min(kernel) - 1) for _ in range(2)))
    return pool(case, seed, random.choice(AvgPooling, MaxPooling), *shape, 1, pads)


def edge_pools(case):
    return [
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
            )
        )
    ] + [pool(case, 20 + seed, AvgPooling, 1, 9, (6, 7), (3, 3), 2, 1, (1, 1), count_include_pad=True) for seed in range(3)]
