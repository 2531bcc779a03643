# SPDX-License-Identifier: MIT
"""Products of two int8 matrices of `armv7m` against their numpy meaning, bit for bit: the assembly on an emulated core, the C
beside it on the core and on this machine."""

from __future__ import annotations

import functools
import shutil

import pytest
from armv7m_harness import BOARD, PORTABLE, Case
from cortexm_harness import accepted
from helium_harness import case, run
from product_cases import edge_products, product

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
# Columns that leave a remainder of eight, a band that does, more taps than a turn, one product, batches that repeat.
EDGES = [
    ((130, 1), (1, 8)),
    ((24, 10), (10, 24)),
    ((11, 16), (16, 9)),
    ((13, 33), (33, 15)),
    ((2, 257), (257, 19)),
    ((3, 40), (40, 90)),
    ((9, 300), (300, 12)),
    ((3, 7, 6), (3, 6, 10)),
    ((2, 1, 9, 5), (4, 5, 8)),
    ((7, 12), (2, 12, 11)),
    ((2, 1, 1, 2, 6, 8), (3, 1, 1, 8, 13)),
]


def taken(entry) -> Case:
    """The same node and values for the kernels of this library."""
    return Case(entry.view, entry.values)


@functools.cache
def candidates():
    return tuple(map(taken, edge_products(case, EDGES, turns=2)))


@functools.cache
def sample():
    return tuple(accepted([*candidates()]))


@needs_compiler
@pytest.mark.parametrize("flags", [("-O2",), ("-Os", "-flto"), PORTABLE], ids=["O2", "Os", "portable"])
def test_products_equal_the_meaning_on_the_emulated_core(flags):
    assert len(sample()) > 30
    assert run(sample(), *flags, board=BOARD) == []


def test_the_c_versions_equal_the_meaning_on_this_machine():
    flags = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
    assert run(sample(), *flags, board="host") == []


def test_rows_longer_than_a_turn_and_short_ones_are_among_them():
    assert {"_long" in entry.call.function for entry in sample()} == {False, True}


@pytest.mark.parametrize(
    "first, second, reason",
    [
        ((1, 80), (80, 40), "1 row, wants at least 2"),
        ((80, 40), (40, 7), "7 columns, wants at least 8"),
        ((2, 40), (40, 8), "640 multiply-accumulates, wants at least 1000"),
    ],
)
def test_what_costs_more_is_refused(first, second, reason):
    with pytest.raises(AssertionError, match=reason):
        assert taken(product(case, 0, first, second)).kernel
