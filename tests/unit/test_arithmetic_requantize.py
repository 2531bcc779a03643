# SPDX-License-Identifier: MIT
"""The numerical contract: in which order and in which precision scales, sums and levels are rounded."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.operators.arithmetic.requantize import clamp_levels, dequantize_linear, multipliers, quantize, requantize

F = numpy.float32


def rounded(value: Fraction) -> Fraction:
    """To the nearest number of 24 bits, ties to even, without any floating-point arithmetic; value > 0."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - 24
    while value / Fraction(2) ** exponent >= 1 << 24:
        exponent += 1
    return round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent


def test_a_multiplier_is_the_rounded_quotient_of_the_rounded_product():
    random = numpy.random.default_rng(1)
    given = (random.integers(1 << 23, 1 << 24, (3, 2000)) * 2.0**-28).astype(F)
    found = numpy.concatenate([multipliers(a, numpy.array([b]), c) for a, b, c in given.T])
    exact = [tuple(Fraction(float(one)) for one in row) for row in given.T]
    assert found.dtype == F
    assert [Fraction(float(one)) for one in found] == [rounded(rounded(a * b) / c) for a, b, c in exact]
    assert sum(rounded(rounded(a * b) / c) != rounded(a * b / c) for a, b, c in exact) > 300  # the order of roundings shows
    assert sum(rounded(rounded(a * b) / c) != rounded(a * rounded(b / c)) for a, b, c in exact) > 300


def test_each_weight_scale_has_its_multiplier():
    assert multipliers(F(0.5), numpy.array([0.25, 0.75], F), F(2)).tolist() == [0.0625, 0.1875]


def test_an_accumulator_is_rounded_to_float32_and_so_is_its_product_before_the_tie_goes_to_even():
    assert requantize(numpy.array([(1 << 24) + 1]), F(2.5 * 2.0**-24), 0, -128, 127).tolist() == [2]  # really 2.50000015
    assert requantize(numpy.array([5]), F(0.7), 0, -128, 127).tolist() == [4]  # 3.5, really 3.49999994
    assert requantize(numpy.array([5, 7, -5, -7]), F(0.5), 10, -128, 127).tolist() == [12, 14, 8, 6]
    assert requantize(numpy.array([999, -999]), F(0.5), 10, -100, 90).tolist() == [90, -100]


def test_values_are_divided_in_their_own_precision():
    scale = per_tensor(0.1, 0)
    tie = F(0.25)  # float32(0.25 / float32(0.1)) is 2.5; the real quotient is a little less
    assert quantize(numpy.array([3 * tie], F), scale, DType.int8).tolist() == [8]
    assert quantize(numpy.array([3 * tie], numpy.float64), scale, DType.int8).tolist() == [7]


def test_what_cannot_be_stored_saturates_and_nan_becomes_the_zero_point():
    values = numpy.array([numpy.inf, -numpy.inf, numpy.nan, 1e30, -1e30], F)
    assert quantize(values, per_tensor(0.1, 7), DType.int8).tolist() == [127, -128, 7, 127, -128]


def test_dequantizing_rounds_once_to_float32():
    found = dequantize_linear(numpy.array([3, -128], numpy.int8), per_tensor(0.1, -2))
    assert found.dtype == F and found.tolist() == [float(F(5) * F(0.1)), float(F(-126) * F(0.1))]
    wide = dequantize_linear(numpy.array([(1 << 24) + 1], numpy.int32), per_tensor(1.0, 0))
    assert wide.tolist() == [1 << 24]


def test_scales_of_channels_lie_along_their_axis():
    by_channel = Quantization((1.0, 2.0), (0, 1), 1)
    assert dequantize_linear(numpy.ones((2, 2), numpy.int8), by_channel).tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize("maximum, level", [(0.75, 8), (numpy.inf, 127), (6.0, 60)])
def test_a_clamp_is_rounded_as_quantize_linear_rounds_its_bound(maximum, level):
    assert clamp_levels(0.0, maximum, per_tensor(0.1, 0), DType.int8) == (0, level)
