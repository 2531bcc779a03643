# SPDX-License-Identifier: MIT
"""Kernels of `rvv` against their numpy meaning, bit for bit: on an emulated core, with vectors of several lengths."""

from __future__ import annotations

import functools

import pytest
import test_armv6m_linear
import test_cortexm_linear
import test_single_values
from binary_cases import binaries
from harness import under
from move_cases import concatenations
from pool_cases import edge_pools, random_pool
from product_cases import products
from rvv_harness import BOARD, accepted, case, needs_riscv, run, taken, with_vectors
from test_conversions_without_fpu import dequantize_case

# Batches, channels, image, outputs, kernel, stride, dilation, pads, groups: every number of channels around a vector's and two,
# rows of less pixels than go together, windows of all lengths of a turn and what remains, pads wider than the image.
EDGES = [
    *((1, 3, (3, 4), outputs, (1, 1), 1, 1, (0, 0), 1) for outputs in (2, 3, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 70)),
    *((1, 8, (1, 5), 20, (1, taps), 1, 1, (0, 0), 1) for taps in (1, 2, 3, 4)),
    *((1, channels, (2, 2), 8, (1, 1), 1, 1, (0, 0), 1) for channels in (1, 7, 11, 13, 17, 68)),
    *((2, 5, (height, 6), 12, (3, 3), stride, 1, (1, 1), 1) for height in (1, 5) for stride in (1, 2)),
    (1, 2, (4, 5), 40, (3, 1), 1, 2, (3, 0), 1),
    (1, 2, (2, 2), 9, (5, 5), 1, 1, (3, 3), 1),
    (1, 16, (20,), 64, (5,), 2, 1, (2, 2), 1),
    (1, 5, (20,), 12, (3,), 1, 4, (4, 4), 1),
    (1, 11, (9, 1), 17, (2, 1), 2, 3, (0, 2), 1),
    *((1, channels, (3, 5), channels, (3, 3), 1, 1, (1, 1), channels) for channels in (8, 13, 16, 17, 32, 33, 70)),
    (2, 24, (7, 9), 24, (5, 2), 2, 2, (4, 1), 24),
    (1, 40, (30,), 40, (9,), 1, 1, (4, 4), 40),
]


@functools.cache
def sample():
    made = [test_cortexm_linear.int8_case(seed, *edge) for seed, edge in enumerate(EDGES)]
    return accepted([taken(entry) for entry in (*made, *test_armv6m_linear.candidates()[::2])])


@functools.cache
def others():
    pools = [*edge_pools(case), *(random_pool(case, seed) for seed in range(20))]
    values = [*test_single_values.tables(), *test_single_values.quantizations(), *map(dequantize_case, range(3))]
    return accepted([*binaries(case, 24), *pools, *products(case), *concatenations(case, 12, 3), *map(taken, values)])


def test_the_cases_reach_sums_of_every_size_and_weights_of_both_widths():
    functions = {entry.call.function for entry in sample()}
    for form in ("dense_int8_bytes_m2", "dense_int8_bytes_m4", "dense_int8_bytes_m8", "dense_int8_words", "depthwise_int8_bytes"):
        assert any(form in function for function in functions), form
    assert any("computed" in entry.call.function for entry in others())


@needs_riscv
def test_layers_equal_the_meaning_on_the_emulated_core():
    assert len(sample()) > 100
    assert run(sample(), board=BOARD) == []


@needs_riscv
def test_pools_products_and_operations_on_values_equal_the_meaning_on_the_emulated_core():
    kinds = {entry.call.function.removesuffix("_layer").removesuffix("_rows") for entry in others()}
    means = {f"aidge_rvv_mean_int8_{order}" for order in ("turn", "columns", "lanes")}
    assert kinds >= {*means, "aidge_rvv_maxpool2d_int8", "aidge_rvv_add_int8", "aidge_rvv_mul_int8", "aidge_rvv_table_bytes"}
    assert len(others()) > 100
    assert run(others(), board=BOARD) == []


@needs_riscv
@pytest.mark.parametrize("bits", [256, 512])
def test_the_result_does_not_depend_on_the_length_of_vectors(bits):
    assert run([*sample()[::3], *others()[::3]], board=BOARD, runs_on=with_vectors(bits)) == []


@needs_riscv
def test_the_result_does_not_depend_on_compiler_options():
    assert run(under(("-O0",), sample()), "-O0", board=BOARD) == []
