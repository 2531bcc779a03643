# SPDX-License-Identifier: MIT
"""Sums and pools of `cortexm` against their numpy meaning, bit for bit."""

from __future__ import annotations

import math
import shutil

import pytest
from cortexm_harness import BOARD, PORTABLE, accepted, case, run
from random_tensors import Randomness

from aidge_build.operators.binary import Add, Sub
from aidge_build.operators.pool import AvgPooling, GlobalAveragePooling
from aidge_build.operators.window import Window

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


def sums():
    for seed in range(160):
        random = Randomness(seed)
        dims = random.choice((1, 5), (3, 7, 11), (1, 4, 3, 3), (1, 32), (2, 129), (1, 1))
        operator = random.choice(Add, Sub)(minimum=random.choice(-math.inf, -math.inf, 0.0))
        first, second = random.data(*dims, name="a"), random.data(*dims, name="b")
        yield case(operator, [first, second], [random.int8(*dims), random.int8(*dims)], quantization=random.quantization(0.08))


def means():
    for seed, (batch, channels, *spatial) in enumerate([(1, 4, 1, 1), (2, 8, 3, 3), (1, 64, 8, 8), (1, 12, 25, 5),
                                                        (1, 4, 17, 31), (3, 4, 7)] * 3):
        random, rank = Randomness(seed), len(spatial)
        window = Window(tuple(spatial), (1,) * rank, (1,) * rank, (0,) * rank, (0,) * rank)
        operator = AvgPooling(window=window) if seed % 2 else GlobalAveragePooling(minimum=random.choice(-math.inf, 0.0))
        data = random.data(batch, channels, *spatial)
        yield case(operator, [data], [random.int8(*data.dims)], quantization=random.quantization(0.05))


@needs_compiler
@pytest.mark.parametrize("flags", [(), ("-O3",)])
def test_means_equal_the_meaning_on_the_emulated_core(flags):
    assert run(list(means()), *flags, board=BOARD) == []


@needs_compiler
@pytest.mark.parametrize("flags", [(), PORTABLE, ("-O0",)], ids=["assembly", "portable", "unoptimized"])
def test_sums_equal_the_meaning_on_the_emulated_core(flags):
    cases = accepted(list(sums()))
    assert len(cases) > 60 and len({entry.call.function for entry in cases}) == 2
    assert run(cases, *flags, board=BOARD) == []


def test_the_c_versions_equal_the_meaning_on_this_machine():
    assert run([*accepted(list(sums())), *means()], "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef",
               "-Werror", board="host") == []
