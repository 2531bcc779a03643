# SPDX-License-Identifier: MIT
"""Products of two int8 matrices of `armv6m` against their numpy meaning, bit for bit: the assembly on an emulated core, the C
beside it on the core and on this machine."""

from __future__ import annotations

import functools
import shutil

import pytest
from armv6m_harness import BOARD, PORTABLE, accepted, case, run, taken
from product_cases import edge_products, product, products

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
# Rows that leave a remainder of six, one column, one product, more products than a chunk, batches that repeat, several axes.
EDGES = [
    ((5, 1), (1, 1)),
    ((6, 7), (7, 5)),
    ((11, 16), (16, 9)),
    ((13, 33), (33, 4)),
    ((8, 170), (170, 3)),
    ((3, 7, 6), (3, 6, 8)),
    ((2, 1, 9, 5), (4, 5, 6)),
    ((7, 12), (2, 12, 3)),
    ((2, 1, 1, 2, 6, 8), (3, 1, 1, 8, 5)),
    ((40, 20), (20,)),
]


@functools.cache
def candidates():
    return tuple(map(taken, [*edge_products(case, EDGES, turns=3), *products(case)]))


@functools.cache
def sample():
    return tuple(accepted([*candidates()]))


@needs_compiler
@pytest.mark.parametrize("flags", [("-O2",), ("-Os", "-flto"), PORTABLE], ids=["O2", "Os", "portable"])
def test_products_equal_the_meaning_on_the_emulated_core(flags):
    assert len(sample()) > 40
    assert run(sample(), *flags, board=BOARD) == []


def test_the_c_versions_equal_the_meaning_on_this_machine():
    flags = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
    assert run(sample(), *flags, board="host") == []


def test_sums_of_one_and_of_several_chunks_with_and_without_corrections_are_among_them():
    forms = {entry.call.function.removeprefix("aidge_armv6m_matmul_int8_") for entry in sample()}
    assert {name.split("_offset")[0] for name in forms} == {"single", "chunked"}
    assert any("corrected" in name for name in forms)


@pytest.mark.parametrize(
    "first, second, reason",
    [
        ((4, 8), (8, 3), "4 rows, wants more than 4"),
        ((5, 40), (40, 90), "6,092 B of scratch, wants at most 4,096"),
        ((5, 8192), (8192, 1), "8192 products of a sum"),
    ],
)
def test_what_costs_more_or_does_not_fit_is_refused(first, second, reason):
    with pytest.raises(AssertionError, match=reason):
        assert taken(product(case, 0, first, second)).kernel


def test_a_build_for_the_least_memory_gets_no_kernel_that_needs_scratch():
    entry = sample()[0]
    rejection = entry.kernel.spec.rejection(taken(entry, "size").view, entry.features, "onnx")
    assert "least memory" in rejection
