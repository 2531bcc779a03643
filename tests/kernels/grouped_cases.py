# SPDX-License-Identifier: MIT
"""Convolutions in groups, and depthwise ones with several outputs per channel, for `helium`."""

from __future__ import annotations

from helium_harness import RANDOM_CASES, Case, convolution, random_window
from random_tensors import Randomness

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
EDGES = [
    (1, 2, (1, 1), 4, (1, 1), 1, 1, (0, 0), 2),
    (1, 6, (1, 1), 2, (1, 1), 1, 1, (0, 0), 2),
    (1, 32, (3, 7), 12, (1, 1), 1, 1, (0, 0), 2),
    (2, 34, (4, 4), 6, (1, 1), 1, 1, (0, 0), 2),
    (1, 12, (5, 5), 9, (1, 1), 1, 1, (0, 0), 3),
    (1, 240, (4, 7), 10, (1, 1), 1, 1, (0, 0), 2),
    (1, 3, (5, 1), 51, (1, 1), 1, 1, (0, 0), 3),
    (3, 8, (3, 5), 8, (1, 1), 2, 1, (0, 0), 4),
    (1, 64, (9, 9), 16, (1, 1), 2, 1, (0, 0), 4),
    (1, 32, (8, 8), 32, (3, 3), 1, 1, (1, 1), 2),
    (1, 64, (7, 6), 8, (3, 3), 1, 1, (0, 0), 4),
    (1, 48, (4, 9), 9, (3, 3), 2, 1, (0, 1), 3),
    (1, 34, (5, 6), 4, (3, 3), 1, 1, (1, 1), 2),
    (2, 12, (6, 5), 20, (3, 2), 2, 1, (1, 0), 4),
    (1, 320, (3, 4), 4, (3, 3), 1, 1, (1, 1), 2),
    (1, 32, (7, 9), 4, (3, 3), 1, 2, (2, 2), 2),
    (1, 32, (6, 13), 4, (5, 5), 1, 1, (2, 2), 2),
    (1, 10, (9, 13), 5, (5, 5), 1, 2, (4, 4), 5),
    (1, 8, (1, 1), 6, (5, 5), 1, 1, (2, 2), 2),
    (1, 4, (20, 9), 6, (12, 3), 1, 1, (0, 0), 2),
    (1, 6, (7,), 4, (3,), 1, 1, (1, 1), 2),
    (2, 10, (12,), 8, (5,), 2, 2, (3, 4), 2),
    (1, 32, (20,), 4, (3,), 1, 1, (0, 0), 2),
    (1, 8, (2, 2), 4, (3, 3), 1, 1, (7, 7), 4),
    (1, 8, (200,), 4, (1,), 1, 1, (0, 0), 2),
    (1, 64, (16, 8), 8, (1, 1), 1, 1, (0, 0), 2),
    (2, 48, (12, 17), 48, (1, 1), 1, 1, (0, 0), 4),
    (1, 15, (9, 15), 5, (1, 1), 1, 1, (0, 0), 5),
    (1, 8, (9, 9), 16, (3, 3), 1, 1, (1, 1), 8),
    (1, 5, (9, 8), 15, (3, 3), 2, 1, (0, 1), 5),
    (2, 3, (7, 17), 12, (3, 3), 1, 1, (1, 1), 3),
    (1, 4, (16, 5), 8, (10, 4), 2, 1, (4, 5), 4),
    (1, 6, (30,), 12, (9,), 1, 1, (4, 4), 6),
]


def random_grouped(seed):
    random = Randomness(seed)
    spatial, kernel, dilation, pads = random_window(random)
    groups = random.choice(2, 2, 3, 4, 7)
    channels, outputs = groups * random.choice(1, 1, 3, 4, 8, 16, 17, 24, 32), groups * random.choice(2, 3, 4, 8, 11)
    batch, stride = random.choice(1, 1, 2), random.choice(1, 1, 2, 3)
    return convolution(seed, batch, channels, spatial, outputs, kernel, stride, dilation, pads, groups)


def grouped_cases() -> list[Case]:
    return [
        *(convolution(200 + index, *edge) for index, edge in enumerate(EDGES)),
        *(random_grouped(3000 + seed) for seed in range(RANDOM_CASES)),
    ]
