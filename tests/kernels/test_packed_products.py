# SPDX-License-Identifier: MIT
"""Products with packed weights (MatMulNBits) of all libraries against their numpy meaning: int8 levels bit for bit."""

from __future__ import annotations

from typing import NamedTuple

import armv6m_harness
import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
import rv32_harness
from helium_harness import needs_emulator
from rv32_harness import needs_riscv

from aidge_build.contract.kernel_kit.narrow.packed_product import Sums
from aidge_build.contract.kernel_kit.packed_product import PackedProduct
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.matmul_nbits import INT8_LEVEL, MatMulNBits

REAL, LEVELS = 0, INT8_LEVEL  # of accuracy


class Shape(NamedTuple):
    rows: int
    depth: int
    columns: int
    bits: int
    block: int
    points: str = ""  # "" for none, "random", "ends" for the lowest and the highest
    has_bias: bool = False


SHAPES = (
    Shape(1, 64, 16, 4, 32),
    Shape(2, 100, 13, 4, 16, "random"),
    Shape(1, 70, 3, 4, 32, "ends", has_bias=True),
    Shape(1, 20, 1, 4, 32),
    Shape(2, 96, 9, 2, 64, "ends"),
    Shape(1, 40, 6, 2, 16, "random", has_bias=True),
    Shape(1, 200, 10, 4, 128, "random"),
    Shape(3, 160, 8, 4, 64, has_bias=True),
    Shape(1, 48, 9, 8, 16, "ends"),
    Shape(2, 150, 12, 8, 64),
    Shape(1, 30, 5, 4, 8, "random"),
    Shape(1, 300, 4, 8, 256),
)
ON_SMALL_CORES = tuple(shape for shape in SHAPES if shape.block * (1 << shape.bits - 1) <= 256 and shape.block > 8)


def product(case, shape: Shape, level: int, seed: int):
    """A layer with random numbers and packed weights; some blocks of the data are zeros, tiny, huge or full of ties."""
    random = numpy.random.default_rng(seed)
    operator = MatMulNBits(shape.depth, shape.columns, shape.bits, shape.block, level)
    count, zero_bytes = shape.columns * operator.blocks, shape.columns * -(-operator.blocks * shape.bits // 8)
    packed = random.integers(0, 256, count * shape.block * shape.bits // 8).astype(numpy.uint8)
    packed[: packed.size // 3] = random.choice([0, 255], packed.size // 3)
    zeros = {"random": random.integers(0, 256, zero_bytes), "ends": random.choice([0, 255], zero_bytes)}.get(shape.points)
    parameters = [
        constant("w", packed),
        constant("s", random.uniform(0.002, 0.1, count).astype(numpy.float32)),
        None if zeros is None else constant("z", zeros.astype(numpy.uint8)),
        constant("b", random.normal(size=shape.columns).astype(numpy.float32)) if shape.has_bias else None,
    ]
    data = Tensor("x", (shape.rows, shape.depth), DType.float32)
    return case(operator, [data, *parameters], [rows(random, shape)])


def rows(random: numpy.random.Generator, shape: Shape) -> numpy.ndarray:
    values = random.normal(size=(shape.rows, shape.depth)).astype(numpy.float32)
    parts = [values[:, first : first + shape.block] for first in range(0, shape.depth, shape.block)]
    if len(parts) > 2:
        parts[1][0] = 0
        parts[2][-1] *= numpy.float32(1e-30)
        parts[0][0, ::2] = 127 * numpy.float32(0.5) ** random.integers(0, 9, parts[0][0, ::2].shape)
    elif len(parts) > 1:
        parts[1][...] *= numpy.float32(3e4)
        parts[1][0, :3] = -127, 0.5, 1.5  # levels of ties
    return values


def products(case, shapes=SHAPES, levels=(LEVELS, REAL)) -> list:
    return [product(case, shape, level, seed) for seed, shape in enumerate(shapes) for level in levels]


def candidates():
    """For the tests of all kernels."""
    made = [entry for of in (harness, cortexm_harness, helium_harness) for entry in products(of.case)]
    narrow = products(harness.case, ON_SMALL_CORES, [LEVELS])
    return [*made, *(of.taken(entry) for of in (armv6m_harness, rv32_harness) for entry in narrow)]


def accepted(case, levels) -> list:
    """The layers that a library with assembly computes."""
    return cortexm_harness.accepted(products(case, levels=levels))


@pytest.fixture
def bit_for_bit(monkeypatch):
    monkeypatch.setattr(
        helium_harness, "_different", lambda got, wanted: got.size - (got.view(numpy.int32) == wanted.view(numpy.int32)).sum()
    )


def test_ref_gives_the_meaning_of_levels_bit_for_bit_and_of_floats_nearly():
    levels, reals = (products(harness.case, levels=[level]) for level in (LEVELS, REAL))
    assert harness.differing(levels, harness.run(levels)) == []
    assert harness.far(reals, harness.run(reals), 3e-5) == []


@needs_emulator
@pytest.mark.parametrize(
    "case, board", [(helium_harness.case, "mps3-an547"), (cortexm_harness.case, cortexm_harness.BOARD)], ids=["M55", "M4"]
)
def test_levels_give_the_meaning_bit_for_bit(case, board, bit_for_bit):
    cases = accepted(case, [LEVELS])
    assert len(cases) > len(SHAPES) / 2 and helium_harness.run(cases, board=board) == []


@needs_emulator
@pytest.mark.parametrize(
    "case, board", [(helium_harness.case, "mps3-an547"), (cortexm_harness.case, cortexm_harness.BOARD)], ids=["M55", "M4"]
)
def test_floats_are_within_the_tolerance(case, board, monkeypatch):
    monkeypatch.setattr(helium_harness, "_different", within(3e-5))
    cases = accepted(case, [REAL])
    assert len(cases) > len(SHAPES) / 2 and helium_harness.run(cases, board=board) == []


@pytest.mark.parametrize(
    "of",
    [pytest.param(armv6m_harness, marks=needs_emulator), pytest.param(rv32_harness, marks=needs_riscv)],
    ids=["M0+", "RISC-V"],
)
def test_small_cores_give_nearly_the_meaning_of_levels(of, monkeypatch):
    monkeypatch.setattr(helium_harness, "_different", within(8e-5))
    cases = [of.taken(entry) for entry in products(harness.case, ON_SMALL_CORES, [LEVELS])]
    assert {entry.kernel.name for entry in cases} == {"matmul_nbits_int8"}
    assert helium_harness.run(cases, board=of.BOARD) == []


def within(tolerance: float):
    """Values that differ by more than this share of the largest one."""

    def different(got: numpy.ndarray, wanted: numpy.ndarray) -> int:
        return int((~(numpy.abs(got - wanted) <= tolerance * numpy.abs(wanted).max())).sum())

    return different


@needs_emulator
@pytest.mark.parametrize("wrong", [numpy.nan, -numpy.inf])
def test_a_value_that_is_not_finite_makes_the_results_of_its_row_no_numbers(wrong, monkeypatch):
    cases = [product(of, SHAPES[1], level, 1) for of in (harness.case, helium_harness.case) for level in (LEVELS, REAL)]
    cases += [product(cortexm_harness.case, SHAPES[1], level, 1) for level in (LEVELS, REAL)]
    cases.append(armv6m_harness.taken(product(harness.case, SHAPES[1], LEVELS, 1)))
    for entry in cases:
        entry.values[0][1, 17] = wrong
    assert all(numpy.isnan(entry.expected[0][1]).all() for entry in cases if entry.view.operator.multiplies_int8)
    monkeypatch.setattr(
        helium_harness, "_different", lambda got, _: int(numpy.isnan(got).sum(axis=1).tolist() != [0, got.shape[1]])
    )
    assert all(numpy.isnan(result[1]).all() and numpy.isfinite(result[0]).all() for (result,) in harness.run(cases[:2]))
    boards = ("mps3-an547", cases[2:4]), (cortexm_harness.BOARD, cases[4:6]), (armv6m_harness.BOARD, cases[6:])
    assert [helium_harness.run(some, board=board) for board, some in boards] == [[], [], []]


def test_packed_weights_take_little_more_than_their_bits():
    for entry in (*accepted(helium_harness.case, [LEVELS, REAL]), *accepted(cortexm_harness.case, [LEVELS, REAL])):
        shape = PackedProduct.of(entry.view)
        stream = next(argument.values for argument in entry.call.arguments if getattr(argument, "name", "") == "stream")
        together = 8 if entry.library_name == "helium" else 4
        blocks, columns = len(shape.weights), -(-shape.columns // together) * together
        assert stream.nbytes <= blocks * columns * (shape.block * shape.bits / 8 + 5)


def test_small_cores_hold_the_largest_sums_in_32_bits():
    for entry in products(harness.case, ON_SMALL_CORES, [LEVELS]):
        shape = PackedProduct.of(entry.view)
        sums = Sums.of(shape)
        block = 127 * int(numpy.abs(shape.weights - shape.zero_points[:, :, None]).sum(axis=2).max())
        assert block * (1 << 32 - sums.shift) <= 1 << 31
