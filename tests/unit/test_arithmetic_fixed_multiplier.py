# SPDX-License-Identifier: MIT
"""The contract `double`: what each step of its requantization gives, beside the definition in whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.operators.arithmetic.contracts import contract
from aidge_build.operators.arithmetic.fixed_hard_swish import hard_swish
from aidge_build.operators.arithmetic.fixed_multiplier import (
    fixed_multiplier,
    fixed_multipliers,
    high_product,
    scaled,
    scaled_once,
    shifted,
)
from aidge_build.operators.arithmetic.fixed_sums import count_reciprocal, fixed_mean, fixed_sum, rounded_quotients
from aidge_build.operators.arithmetic.float_softmax import exponential_table, float_softmax
from aidge_build.operators.arithmetic.requantize import clamp_levels, quantize_away

AS_IT_WAS = {0.05: 999300, 0.02: 1611032, 0.2: 4617760, 0.004: 1162182}  # equal to LiteRT's on the cases of tests/exactness
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
MULTIPLIER = st.integers(1 << 30, (1 << 31) - 1)


def nearest(value: Fraction, ties_up: bool) -> int:
    """The nearest integer, ties upwards or else away from zero."""
    if ties_up or value >= 0:
        return math.floor(value + Fraction(1, 2))
    return -math.floor(-value + Fraction(1, 2))


@given(st.floats(1e-12, 1e6))
def test_a_factor_is_31_bits_and_a_shift(factor):
    multiplier, shift = fixed_multiplier(factor)
    if factor < 2.0**-33:
        assert (multiplier, shift) == (0, 0)
    elif multiplier:
        assert 1 << 30 <= multiplier < 1 << 31
        assert abs(Fraction(multiplier) * Fraction(2) ** (shift - 31) - Fraction(factor)) <= Fraction(2) ** (shift - 32)


@pytest.mark.parametrize(
    "factor, expected",
    [
        (0.5, (1 << 30, 0)),
        (1.0, (1 << 30, 1)),
        (1 - 2.0**-40, (1 << 30, 1)),  # rounded up to a power of two
        (0.75, (3 << 29, 0)),
        (0.5 + 2.0**-32, ((1 << 30) + 1, 0)),  # a half goes up
        (2.0**-32, (1 << 30, -31)),
        (2.0**-33, (0, 0)),
        (0.0, (0, 0)),
    ],
)
def test_factors_at_the_ends(factor, expected):
    assert fixed_multiplier(factor) == expected
    assert fixed_multipliers([factor]).tolist() == [list(expected)]


@given(INT32, MULTIPLIER)
def test_the_high_word_is_the_nearest_one_and_halves_go_up(value, multiplier):
    assert high_product(value, multiplier) == nearest(Fraction(value * multiplier, 1 << 31), ties_up=True)


@given(INT32, st.integers(0, 31))
def test_a_shift_rounds_halves_away_from_zero(value, shift):
    assert shifted(value, shift) == nearest(Fraction(value, 1 << shift), ties_up=False)


@given(st.integers(-(1 << 24), 1 << 24), MULTIPLIER, st.integers(-31, 6))
def test_sums_are_rounded_twice_or_once(value, multiplier, shift):
    left, right = max(shift, 0), max(-shift, 0)
    product = nearest(Fraction((value << left) * multiplier, 1 << 31), ties_up=True)
    assert scaled(value, multiplier, shift) == nearest(Fraction(product, 1 << right), ties_up=False)
    assert scaled_once(value, multiplier, shift) == nearest(Fraction(value * multiplier, 1 << (31 - shift)), ties_up=True)


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_a_mean_rounds_halves_away_from_zero(total, count):
    assert rounded_quotients(total, count) == nearest(Fraction(total, count), ties_up=False)


def test_layers_of_windows_round_twice_and_fully_connected_ones_once():
    scales = numpy.float32(0.02), (0.01, 0.03), numpy.float32(0.05)
    windows, products = contract("double").of_convolution(*scales), contract("double").of_product(*scales)
    assert windows.numbers.tolist() == fixed_multipliers([float(scales[0]) * s / float(scales[2]) for s in scales[1]]).tolist()
    assert products.numbers[:, 0].tolist() == windows.numbers[:, 0].tolist()
    assert (products.numbers[:, 1] == 64 + 31 - windows.numbers[:, 1]).all()
    sums = numpy.arange(-3000, 3000).repeat(2).reshape(-1, 2)
    for found, rounded in ((windows, scaled), (products, scaled_once)):
        expected = numpy.clip(rounded(sums, *windows.factors.T) - 7, -128, 100)
        assert numpy.array_equal(found.levels(sums, 1, -7, -128, 100), expected)
    assert windows.is_finite and products.is_finite


def test_one_scale_of_all_weights_is_multiplied_in_float32():
    one = contract("double").of_product(numpy.float32(0.1), (float(numpy.float32(0.3)),), numpy.float32(0.7))
    product = float(numpy.float32(0.1) * numpy.float32(0.3))
    assert one.factors.tolist() == [list(fixed_multiplier(product / float(numpy.float32(0.7))))]


def test_the_default_contract_has_float32_factors():
    found = contract("onnx").of_product(numpy.float32(0.02), (0.01, 0.03), numpy.float32(0.05))
    assert found.numbers.dtype == numpy.float32 and found.is_finite
    with numpy.errstate(over="ignore"):
        assert not contract("onnx").of_convolution(numpy.float32(1e30), (1e30,), numpy.float32(1e-30)).is_finite


@pytest.mark.requirement("ROUNDING")
def test_a_contract_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(AidgeError, match="there is no contract 'half'.*double, onnx"):
        contract("half")


def test_a_sum_has_both_addends_in_half_units_of_the_larger_scale():
    found = fixed_sum(0.5, 0.25, 1.0)
    assert found.first == fixed_multiplier(0.5) and found.second == fixed_multiplier(0.25)
    assert found.total == fixed_multiplier(2.0**-20)
    assert found.levels(numpy.array([10, -10]), numpy.array([4, 2])).tolist() == [6, -5]  # 6.0, -4.5


@pytest.mark.parametrize("count", [3, 4, 7, 25, 64, 255, 256, 1000, 4096, 5779, 5781, 5783, 8192])
def test_a_product_is_the_quotient_by_a_count(count):
    reciprocal, largest = count_reciprocal(count), 128 * count + count // 2
    assert 0 < reciprocal < 1 << 31
    sums = numpy.arange(largest + 1)
    assert numpy.array_equal((sums * reciprocal) >> 32, sums // count)


def test_counts_without_a_product_have_none():
    assert [count_reciprocal(count) for count in (1, 2)] == [0, 0]
    for count in range(5700, 60_000):
        fits = (128 * count + count // 2) * (-(1 << 32) % count) < 1 << 32
        assert bool(count_reciprocal(count)) is fits, count


def test_the_factor_of_a_mean_holds_the_count():
    multiplier, shift = fixed_mean(0.5, 0.25, 49)
    assert abs(multiplier * 2.0 ** (shift - 31) - 2 / 49) < 2.0**-29 and multiplier < 1 << 31
    assert fixed_mean(0.5, 0.5, 1) == fixed_multiplier(1.0)
    assert fixed_mean(2.0**-30, 1.0, 3)[1] >= -31  # the shift that is left is one


def test_values_in_the_middle_go_away_from_zero():
    values = numpy.array([0.5, 1.5, -0.5, -1.5, 0.49, numpy.inf, -numpy.inf], numpy.float32)
    assert quantize_away(values, per_tensor(1.0, 3), DType.int8).tolist() == [4, 5, 2, 1, 3, 127, -128]
    double = Quantization((1.0,), (0,), rounding="double")
    assert clamp_levels(-0.5, 2.5, double, DType.int8) == (-1, 3)
    assert clamp_levels(-0.5, 2.5, per_tensor(1.0, 0), DType.int8) == (0, 2)


def test_softmax_in_float32_adds_up_in_order():
    rows = numpy.array([[3, 3, 1, -128], [127, -128, 0, 5]])
    found = float_softmax(rows, numpy.float32(0.1), numpy.float32(1 / 256))
    table = exponential_table(numpy.float32(0.1))
    assert table[0] == 1 and table[10] == numpy.float32(math.exp(float(-numpy.float32(0.1) * numpy.float32(10))))
    for row, got in zip(rows, found):
        terms = [table[row.max() - value] for value in row]
        total = numpy.float32(0)
        for term in terms:
            total = total + term
        factor = numpy.float32(1) / (total * numpy.float32(1 / 256))
        assert got.tolist() == [int(term * factor + numpy.float32(0.5)) for term in terms]


def test_hard_swish_is_near_the_real_function_and_as_it_was():
    data = numpy.arange(-128, 128)
    for source, result in ((0.05, 0.11), (0.02, 0.02), (0.2, 0.1), (0.004, 0.003)):
        real = data * source * numpy.clip(data * source + 3, 0, 6) / 6 / result
        found = hard_swish(data, source, result)
        assert numpy.abs(found - real).max() <= 2.5
        assert int(found @ (data + 200)) == AS_IT_WAS[source]


def test_quotients_of_int32_sums_are_exact_at_the_ends_of_int32():
    sums = numpy.array([2**31 - 1, -(2**31)], numpy.int32)
    assert rounded_quotients(sums, numpy.array([4, 3], numpy.int32)).tolist() == [2**29, -715827883]
    assert rounded_quotients([7, -7], [2, 2]).tolist() == [4, -4]
