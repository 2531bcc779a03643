# SPDX-License-Identifier: MIT
"""Functions of one int8 value of `armv7m` against their numpy meaning, bit for bit."""

from __future__ import annotations

import shutil

import pytest
from armv7m_harness import BOARD, PORTABLE, of_this_library
from helium_harness import case, run
from random_tensors import Randomness

from aidge_build.operators.activation import HardSwish, LeakyReLU, Sigmoid, Tanh

OPERATORS = (Sigmoid(), Tanh(), HardSwish(), LeakyReLU(alpha=0.1))
COUNTS = (1, 7, 8, 9, 15, 16, 17, 31, 32, 50, 257)  # around turns of 8 and of 16 values


def candidates():
    found = []
    for seed, count in enumerate(COUNTS):
        random = Randomness(seed)
        data = random.data(1, count)
        values = [random.int8(1, count)]
        found.append(case(OPERATORS[seed % len(OPERATORS)], [data], values, quantization=random.quantization(0.02)))
    return of_this_library(found)


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize("flags", [(), PORTABLE], ids=["assembly", "portable"])
def test_tables_equal_the_meaning_on_the_emulated_core(flags):
    cases = candidates()
    assert {entry.kernel.name for entry in cases} == {"table_int8"}
    assert run(cases, *flags, board=BOARD) == []


def test_the_c_version_equals_the_meaning_on_this_machine():
    assert run(candidates(), "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wundef", "-Werror", board="host") == []
