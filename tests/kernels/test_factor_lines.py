# SPDX-License-Identifier: MIT
"""Products of an image and one factor for each channel, a line for each factor, against their numpy meaning, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import armv6m_harness
import armv7m_harness
import pytest
from armv7m_harness import of_this_library
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, Case, CaseWithoutFpu, case
from harness import under_double
from helium_harness import needs_emulator, run
from random_tensors import Randomness

from aidge_build.contract.kernel_kit.factor_lines import lines_of
from aidge_build.contract.kernel_kit.narrow.mul import PRODUCTS
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.operators.binary import Mul

NAME = "mul_channels_int8"
DIMS = [(1, 3, 3, 3), (1, 8, 4, 4), (2, 5, 2, 2), (1, 16, 3, 5), (1, 1, 2, 6), (1, 9, 11), (1, 4, 2, 3, 2)]


def product(seed: int, dims: tuple[int, ...], *, comes_first: bool = False, is_constant: bool = False) -> Case:
    """An image times factors of a Sigmoid, in either order; `is_constant`: of the factors."""
    random = Randomness(seed)
    data = random.data(*dims)
    factors = random.data(1, dims[1], *(1,) * (len(dims) - 2)).with_(name="f", quantization=per_tensor(1 / 256, -128))
    values = [random.int8(*dims), random.int8(*factors.dims)]
    inputs = [data, constant("f", values[1], factors.quantization) if is_constant else factors]
    values = values[: 2 - is_constant]
    result = per_tensor(float(data.quantization.scale) * (0.4131 + 0.0713 * seed), random.choice(-128, 0, 11))
    order = -1 if comes_first else 1
    return case(Mul(), inputs[::order], values[::order], quantization=result)


def products() -> list[Case]:
    made = [product(seed, dims, comes_first=seed % 2 == 1) for seed, dims in enumerate(DIMS)]
    return [*made, product(20, (1, 7, 3, 4), is_constant=True)]


def candidates():
    """For the tests of all kernels."""
    return [*products(), *of_this_library(products()), *narrow()]


def narrow() -> list[armv6m_harness.Case]:
    return [armv6m_harness.taken(entry) for entry in products()]


def taken(cases):
    assert {entry.kernel.name for entry in cases} == {NAME}
    return cases


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)], ids=["usual", "Os"])
def test_products_equal_the_meaning_with_dsp_with_and_without_an_fpu(flags):
    assert run(taken(products()), *flags, board=BOARD) == []
    without = [CaseWithoutFpu(entry.view, entry.values) for entry in products()]
    assert run(taken(without), *flags, board=BOARD_WITHOUT_FPU) == []


@needs_emulator
def test_products_equal_the_meaning_on_a_cortex_m3():
    assert run(taken(of_this_library(products())), board=armv7m_harness.BOARD) == []


@needs_emulator
def test_products_equal_the_meaning_on_a_cortex_m0_plus():
    assert run(taken(narrow()), board=armv6m_harness.BOARD) == []


@pytest.mark.parametrize("found", [lines_of, PRODUCTS.of])
def test_what_is_proved_under_one_contract_is_not_taken_under_another(found):
    halves = per_tensor(0.5, 104), per_tensor(0.5, 127)
    entry = product(1, (1, 8, 4, 4))
    inputs = [tensor.with_(quantization=half) for tensor, half in zip(entry.view.inputs, halves)]
    tie = case(Mul(), inputs, entry.values, quantization=per_tensor(0.5, -128))
    assert found(under_double(tie).view) is not None  # halves away from zero
    assert found(tie.view) is None  # halves to even


def test_few_pixels_other_dims_and_weights_that_change_are_left_to_the_other_kernels():
    entry = product(1, (1, 8, 4, 4))
    others = [
        product(2, (1, 8, 2, 3)),
        Case(replace(entry.view, any_weights=True), entry.values),
        case(Mul(), [entry.view.inputs[0]] * 2, [entry.values[0]] * 2, quantization=per_tensor(0.1, 0)),
    ]
    for other in others:
        assert other.kernel.name != NAME
