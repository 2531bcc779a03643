# SPDX-License-Identifier: MIT
"""Sums and pools of `cortexm` against their numpy meaning, bit for bit."""

from __future__ import annotations

import math
import shutil

import pytest
from cortexm_harness import BOARD, PORTABLE, accepted, case, run
from helium_harness import RANDOM_CASES
from pool_cases import edge_pools, random_pool
from random_tensors import Randomness

from aidge_build.operators.binary import Add, Sub

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


def sums():
    for seed in range(160):
        random = Randomness(seed)
        dims = random.choice((1, 5), (3, 7, 11), (1, 4, 3, 3), (1, 32), (2, 129), (1, 1))
        operator = random.choice(Add, Sub)(minimum=random.choice(-math.inf, -math.inf, 0.0))
        first, second = random.data(*dims, name="a"), random.data(*dims, name="b")
        yield case(operator, [first, second], [random.int8(*dims), random.int8(*dims)], quantization=random.quantization(0.08))


def pools():
    return accepted([*edge_pools(case), *(random_pool(case, seed) for seed in range(4000, 4000 + RANDOM_CASES))])


@needs_compiler
@pytest.mark.parametrize("flags", [(), ("-O3",), ("-Os", "-flto"), ("-O0",), PORTABLE], ids=lambda flags: " ".join(flags) or "usual")
def test_pools_equal_the_meaning_on_the_emulated_core(flags):
    cases = pools()
    assert len({entry.call.function for entry in cases}) == 3 and len(cases) > 30
    assert run(cases, *flags, board=BOARD) == []


@needs_compiler
@pytest.mark.parametrize("flags", [(), PORTABLE, ("-O0",)], ids=["assembly", "portable", "unoptimized"])
def test_sums_equal_the_meaning_on_the_emulated_core(flags):
    cases = accepted(list(sums()))
    assert len(cases) > 60 and len({entry.call.function for entry in cases}) == 2
    assert run(cases, *flags, board=BOARD) == []


def test_the_c_versions_equal_the_meaning_on_this_machine():
    assert run([*accepted(list(sums())), *pools()], "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef",
               "-Werror", board="host") == []
