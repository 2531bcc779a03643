# SPDX-License-Identifier: MIT
"""Products of two int8 matrices by every library that has a kernel for them, against their numpy meaning, bit for bit: the
assembly on an emulated core, the C beside it on the core and on this machine."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import armv6m_harness
import armv7m_harness
import cortexm_harness
import helium_harness
import pytest
from cortexm_harness import accepted, built_for, without_fpu
from harness import under
from helium_harness import Case, run
from product_cases import edge_products, product, products

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
# Rows that leave a remainder of six, one column, one product, more products than a chunk, batches that repeat, several axes.
SIXES = [
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
# Columns that leave a remainder of eight, a band that does, more taps than a turn, one product, batches that repeat.
EIGHTS = [
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
# Bands of columns that overlap, rows that are copied, one block that overlaps another.
BANDS = (((3, 100), (100, 150)), ((6, 200), (200, 101)), ((2, 7, 250), (2, 250, 66)), ((9, 31), (31, 300)), ((6, 16), (16, 5)))
OBJECTIVES = ("balanced", "size", "speed")  # under `size` each group of columns is a band


def in_armv6m(cases: Iterable) -> list[Case]:
    return [*map(armv6m_harness.taken, cases)]


def in_armv7m(cases: Iterable) -> list[Case]:
    return [armv7m_harness.Case(entry.view, entry.values) for entry in cases]


def in_cortexm() -> list[Case]:
    return [built_for(entry, OBJECTIVES[index % 3]) for index, entry in enumerate(products(cortexm_harness.case))]


@dataclass(frozen=True)
class Products:
    """Cases that a library's kernels may refuse, of which more than `fewest` are taken, and where they run."""

    candidates: Callable[[], list[Case]]
    fewest: int
    board: str


case = helium_harness.case
LIBRARIES = {
    "armv6m": Products(
        lambda: in_armv6m([*edge_products(case, SIXES, turns=3), *products(case)]),
        40,
        armv6m_harness.BOARD,
    ),
    "armv7m": Products(lambda: in_armv7m(edge_products(case, EIGHTS, turns=2)), 30, armv7m_harness.BOARD),
    "cortexm": Products(in_cortexm, 30, cortexm_harness.BOARD),
    "helium": Products(
        lambda: [*products(case), *(product(case, seed, *dims) for seed, dims in enumerate(BANDS))], 54, "mps3-an547"
    ),
}


CORES = {**LIBRARIES, "cortexm without FPU": Products(lambda: without_fpu(in_cortexm()), 30, cortexm_harness.BOARD_WITHOUT_FPU)}


@functools.cache
def candidates() -> tuple[Case, ...]:
    """For other tests, too."""
    return tuple(entry for row in LIBRARIES.values() for entry in row.candidates())


@functools.cache
def sample(core: str) -> tuple[Case, ...]:
    return tuple(accepted(CORES[core].candidates()))


@needs_compiler
@pytest.mark.parametrize(
    "core, flags",
    [pytest.param(core, flags, id=f"{core} {''.join(flags)}") for core in CORES for flags in ((), ("-Os", "-flto"))],
)
def test_products_equal_the_meaning_on_the_emulated_core(core, flags):
    assert len(sample(core)) > CORES[core].fewest
    assert run(under(flags, sample(core)), *flags, board=CORES[core].board) == []


@pytest.mark.parametrize(
    "taken, first, second, reason",
    [
        (in_armv6m, (4, 8), (8, 3), "4 rows, wants more than 4"),
        (in_armv6m, (5, 40), (40, 90), "6,092 B of scratch, wants at most 4,096"),
        (in_armv6m, (5, 8192), (8192, 1), "8192 products of a sum"),
        (in_armv7m, (1, 80), (80, 40), "1 row, wants at least 2"),
        (in_armv7m, (80, 40), (40, 7), "7 columns, wants at least 8"),
        (in_armv7m, (2, 40), (40, 8), "640 multiply-accumulates, wants at least 1000"),
        (list, (5, 8), (8, 3), "3 columns, wants at least 4"),
    ],
)
def test_what_costs_more_or_does_not_fit_is_refused(taken, first, second, reason):
    (entry,) = taken([product(cortexm_harness.case, 0, first, second)])
    with pytest.raises(AssertionError, match=reason):
        assert entry.kernel


def test_sums_of_one_and_of_several_chunks_with_and_without_corrections_are_among_those_of_armv6m():
    forms = {entry.call.function.removeprefix("aidge_armv6m_matmul_int8_") for entry in sample("armv6m")}
    assert {name.split("_offset")[0] for name in forms} == {"single", "chunked"}
    assert any("corrected" in name for name in forms)


def test_rows_longer_than_a_turn_and_short_ones_are_among_those_of_armv7m():
    assert {"_long" in entry.call.function for entry in sample("armv7m")} == {False, True}


def test_a_build_for_the_least_memory_gets_no_kernel_of_armv6m_that_needs_scratch():
    entry = sample("armv6m")[0]
    small = armv6m_harness.taken(entry, "size").view
    assert "least memory" in entry.kernel.spec.rejection(small, entry.features, "onnx")
