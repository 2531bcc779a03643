# SPDX-License-Identifier: MIT
"""Products of two int8 matrices of `cortexm` against their numpy meaning, bit for bit: on emulated cores with and without an FPU,
the C beside the assembly on the core and on this machine."""

from __future__ import annotations

import functools
import shutil

import pytest
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, PORTABLE, accepted, built_for, case, run, without_fpu
from harness import under
from product_cases import product, products

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
OBJECTIVES = ("balanced", "size", "speed")


@functools.cache
def candidates():
    """Every objective has its share: of `size` each group of columns is a band."""
    return tuple(built_for(entry, OBJECTIVES[index % 3]) for index, entry in enumerate(products(case)))


@functools.cache
def sample():
    return tuple(accepted([*candidates()]))


@needs_compiler
@pytest.mark.parametrize("flags", [("-O2",), ("-Os", "-flto"), PORTABLE], ids=["O2", "Os", "portable"])
def test_products_equal_the_meaning_on_the_emulated_core(flags):
    assert len(sample()) > 30
    assert run(under(flags, sample(), ("-O2",)), *flags, board=BOARD) == []


@needs_compiler
@pytest.mark.parametrize("flags", [("-O2",), ("-Os",)], ids=["O2", "Os"])
def test_products_equal_the_meaning_without_an_fpu(flags):
    assert run(under(flags, without_fpu([*sample()]), ("-O2",)), *flags, board=BOARD_WITHOUT_FPU) == []


def test_the_c_versions_equal_the_meaning_on_this_machine():
    flags = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
    assert run(sample(), *flags, board="host") == []


def test_fewer_than_4_columns_are_refused():
    entry = product(case, 0, (5, 8), (8, 3))
    with pytest.raises(AssertionError, match="3 columns, wants at least 4"):
        assert entry.kernel
