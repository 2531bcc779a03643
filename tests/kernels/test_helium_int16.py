# SPDX-License-Identifier: MIT
"""Layers of int16 data on helium: every value as the numpy meaning has it."""

from __future__ import annotations

import math
import os

from cortexm_harness import accepted
from helium_harness import Case, case, needs_emulator, run
from random_tensors import Randomness
from test_cortexm_int16 import convolutions, int16, output_of, parameters, products, wide

from aidge_build.operators.conv import Conv
from aidge_build.operators.window import Window

STRESS = bool(os.environ.get("AIDGE_STRESS"))
# channels, spatial, outputs, kernel, stride, dilation, pads: what cortexm's windows lack
WINDOWS = [
    (8, (6, 5), 6, (3, 3), 1, 1, (1, 1)),
    (5, (8, 7), 7, (3, 2), 1, 2, (1, 2)),
    (16, (4, 4), 8, (1, 1), 2, 1, (0, 0)),
    (19, (5,), 4, (4,), 1, 1, (0, 3)),
    (1, (12, 9), 9, (7, 5), 2, 1, (3, 2)),
]


def on_helium(cases) -> list[Case]:
    return [Case(entry.view, entry.values) for entry in cases]


def windows(count: int):
    for seed in range(count):
        random = Randomness(400 + seed)
        channels, spatial, outputs, kernel, stride, dilation, pads = WINDOWS[seed % len(WINDOWS)]
        rank = len(kernel)
        window = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
        low, high = random.choice((-math.inf, math.inf), (0.0, 6.0))
        data, given = wide(random, 1, channels, *spatial), parameters(random, outputs, channels, *kernel)
        operator = Conv(minimum=low, maximum=high, window=window)
        yield case(operator, [data, *given], [int16(random, *data.dims)], quantization=output_of(random, given[0].data[0].size))


def linear(count: int) -> list[Case]:
    return [*on_helium(convolutions(count)), *on_helium(products(count)), *windows(count)]


def depthwise(count: int) -> list[Case]:
    return accepted(on_helium(convolutions(count, depthwise=True)))


def candidates():
    """For the tests of all kernels."""
    return [*linear(7), *depthwise(8)]


@needs_emulator
def test_int16_layers_equal_the_meaning():
    found = linear(60 if STRESS else 14)
    assert {entry.kernel.name for entry in found} == {"linear_int16"}
    found += depthwise(60 if STRESS else 14)
    assert {entry.kernel.name for entry in found} == {"linear_int16", "depthwise_int16"}
    assert run(found, "-Wall", "-Wextra", "-Werror") == []
