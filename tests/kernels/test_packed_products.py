# SPDX-License-Identifier: MIT
"""Products with packed weights (MatMulNBits) of all libraries against their numpy meaning: int8 levels bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import armv6m_harness
import armv7m_harness
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
ON_CORE = {  # without an FPU
    armv6m_harness.BOARD: armv6m_harness.taken,
    armv7m_harness.BOARD: lambda entry: armv7m_harness.of_this_library([entry])[0],
    cortexm_harness.BOARD_WITHOUT_FPU: lambda entry: cortexm_harness.CaseWithoutFpu(entry.view, entry.values),
}
ON_SMALL_CORES = tuple(shape for shape in SHAPES if shape.bits < 8 < shape.block)


def product(case, shape: Shape, level: int, seed: int):
    """A layer with random numbers and packed weights; some blocks of the data are zeros, tiny or full of ties."""
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
    for number, first in enumerate(range(0, shape.depth, shape.block)):
        part = values[:, first : first + shape.block]
        if number % 4 == 3:
            part[0], part[-1] = 0, part[-1] * numpy.float32(1e-30)
        elif number % 2 == 0:  # ties of levels
            part[0] = random.integers(-127, 127, part[0].shape) + 0.5
            part[0, -1] = 127
            part[0] *= numpy.float32(random.choice([1, 3, 0.7]))
    return values


def products(case, shapes=SHAPES, levels=(LEVELS, REAL)) -> list:
    return [product(case, shape, level, seed) for seed, shape in enumerate(shapes) for level in levels]


def candidates():
    """For the tests of all kernels."""
    made = [entry for of in (cortexm_harness, helium_harness) for entry in products(of.case)]
    return [*made, *(taken(entry) for taken in ON_CORE.values() for entry in products(harness.case, ON_SMALL_CORES, [LEVELS]))]


def accepted(case, levels) -> list:
    """The layers that a library with assembly computes."""
    return cortexm_harness.accepted(products(case, levels=levels))


def not_finite(case, level: int) -> list:
    """Layers with a row that has a value that is no finite number."""
    made = [product(case, SHAPES[1], level, 1) for _ in range(2)]
    for entry, wrong in zip(made, (numpy.nan, -numpy.inf)):
        entry.values[0][1, 17] = wrong
    return made


def wrong_values(got: numpy.ndarray, wanted: numpy.ndarray, tolerance: float) -> int:
    """Values that differ by more than this share of the largest one, and those of a row that is not finite but NaN."""
    is_finite = numpy.isfinite(wanted)
    largest = numpy.abs(wanted[is_finite]).max(initial=0)
    with numpy.errstate(invalid="ignore"):
        return int((~numpy.where(is_finite, numpy.abs(got - wanted) <= tolerance * largest, numpy.isnan(got))).sum())


def judged(monkeypatch: pytest.MonkeyPatch, cases, of_levels: float = 0.0) -> None:
    """Lets levels differ by this share of the largest value, and floats by 3e-5."""
    levels = {id(entry.expected[0]) for entry in cases if entry.view.operator.multiplies_int8}
    monkeypatch.setattr(
        helium_harness, "_different", lambda got, wanted: wrong_values(got, wanted, of_levels if id(wanted) in levels else 3e-5)
    )


def test_ref_gives_the_meaning_of_levels_bit_for_bit_and_of_floats_nearly():
    for level, tolerance in ((LEVELS, 0), (REAL, 3e-5)):
        cases = [*products(harness.case, levels=[level]), *not_finite(harness.case, level)]
        pairs = zip(cases, harness.run(cases), strict=True)
        assert [wrong_values(got, entry.expected[0], tolerance) for entry, (got,) in pairs] == [0] * len(cases)


@needs_emulator
@pytest.mark.parametrize(
    "of, board", [(helium_harness, "mps3-an547"), (cortexm_harness, cortexm_harness.BOARD)], ids=["M55", "M4"]
)
def test_levels_give_the_meaning_bit_for_bit_and_floats_nearly(of, board, monkeypatch):
    cases = [entry for level in (LEVELS, REAL) for entry in (*accepted(of.case, [level]), *not_finite(of.case, level))]
    judged(monkeypatch, cases)
    assert len(cases) > len(SHAPES) and helium_harness.run(cases, board=board) == []


def nearly_right(taken, board: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = list(map(taken, [*products(harness.case, ON_SMALL_CORES, [LEVELS]), *not_finite(harness.case, LEVELS)]))
    judged(monkeypatch, cases, 8e-5)
    assert {entry.kernel.name for entry in cases} == {"matmul_nbits_int8"}
    assert helium_harness.run(cases, board=board) == []


@needs_emulator
@pytest.mark.parametrize("board", [armv6m_harness.BOARD, armv7m_harness.BOARD])
def test_arm_cores_without_an_fpu_give_nearly_the_meaning_of_levels(board, monkeypatch):
    nearly_right(ON_CORE[board], board, monkeypatch)


@needs_riscv
def test_risc_v_cores_without_an_fpu_give_nearly_the_meaning_of_levels(monkeypatch):
    nearly_right(rv32_harness.taken, rv32_harness.BOARD, monkeypatch)


def test_packed_weights_take_little_more_than_their_bits():
    for entry in (*accepted(helium_harness.case, [LEVELS, REAL]), *accepted(cortexm_harness.case, [LEVELS, REAL])):
        shape = PackedProduct.of(entry.view)
        stream = next(argument.values for argument in entry.call.arguments if getattr(argument, "name", "") == "stream")
        together = 8 if entry.library_name == "helium" else 4
        blocks, columns = len(shape.weights), -(-shape.columns // together) * together
        assert stream.nbytes <= blocks * columns * (shape.block * shape.bits / 8 + 5)


@pytest.mark.parametrize("level", [LEVELS, REAL])
@pytest.mark.parametrize(
    "case", [helium_harness.case, cortexm_harness.case, lambda *given: armv6m_harness.taken(harness.case(*given))]
)
def test_code_for_weights_that_may_be_replaced_is_the_same_for_all(case, level):
    made = [product(case, SHAPES[1], level, seed) for seed in (0, 1)]
    made = [type(entry)(replace(entry.view, any_weights=True), entry.values) for entry in made]
    calls = [entry.call for entry in cortexm_harness.taken(made)]
    assert len({(call.function, call.texts) for call in calls}) <= 1


def test_small_cores_hold_the_largest_sums_in_32_bits():
    for entry in products(harness.case, ON_SMALL_CORES, [LEVELS]):
        shape = PackedProduct.of(entry.view)
        sums = Sums.of(shape)
        block = 127 * int(numpy.abs(shape.weights - shape.zero_points[:, :, None]).sum(axis=2).max())
        assert block * (1 << 32 - sums.shift) <= 1 << 31
        assert 127 * sums.part << shape.bits - 1 < 1 << 15
