# SPDX-License-Identifier: MIT
"""Products of two int8 matrices of `helium` against their numpy meaning, bit for bit: the assembly on the emulated Cortex-M55,
and the plain C beside it on this machine."""

from __future__ import annotations

import functools

import pytest
from helium_harness import case, needs_emulator, run
from product_cases import product, products

# Bands of columns that overlap, rows that are copied, one block that overlaps another
LARGE = (((3, 100), (100, 150)), ((6, 200), (200, 101)), ((2, 7, 250), (2, 250, 66)), ((9, 31), (31, 300)), ((6, 16), (16, 5)))


@functools.cache
def candidates():
    return (*products(case), *(product(case, seed, *dims) for seed, dims in enumerate(LARGE)))


@needs_emulator
@pytest.mark.parametrize("flags", [("-O2",), ("-Os", "-flto")], ids=["O2", "Os"])
def test_products_equal_the_meaning_on_the_emulated_core(flags):
    assert {entry.kernel.name for entry in candidates()} == {"matmul_int8"}
    assert run(candidates(), *flags) == []


def test_the_c_beside_the_assembly_equals_the_meaning_on_this_machine():
    flags = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
    assert run(candidates(), *flags, board="host") == []
