# SPDX-License-Identifier: MIT
"""Quantized Softmax: exact integers that mean what the real numbers mean."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.base.errors import AidgeError
from aidge_build.operators.arithmetic.softmax import SoftmaxTable, exponentials, quantized_softmax, softmax_table

scales = st.floats(2.0**-12, 0.5, width=32)


@settings(max_examples=150, derandomize=True)
@given(scales, st.sampled_from([1 / 256, 1 / 128, 0.0037]), st.lists(st.integers(-128, 127), min_size=1, max_size=40))
def test_it_gives_the_float64_meaning_except_beside_a_tie(input_scale, output_scale, row):
    levels = numpy.array(row)
    output_scale = float(numpy.float32(output_scale))
    found = quantized_softmax(levels, softmax_table(input_scale, output_scale, len(row)), -128, -128, 127)
    terms = numpy.exp((levels - levels.max()) * numpy.float64(numpy.float32(input_scale)))
    real = terms / terms.sum() / output_scale
    wanted = numpy.clip(numpy.rint(real) - 128, -128, 127)
    beside_a_tie = numpy.abs(real - numpy.floor(real) - 0.5) < 1e-6 * (1 + len(row) / 4)
    assert numpy.array_equal(found[~beside_a_tie], wanted[~beside_a_tie])
    assert numpy.abs(found - wanted).max() <= 1


@settings(max_examples=150, derandomize=True)
@given(scales, scales, st.lists(st.integers(0, 255), min_size=1, max_size=20))
def test_the_quotient_of_the_table_is_rounded_exactly(input_scale, output_scale, row):
    levels, output_scale = numpy.array(row), float(numpy.float32(output_scale))
    table = softmax_table(input_scale, output_scale, len(row))
    terms = [table.exponentials[max(row) - level] for level in row]
    exact = [round(Fraction(term) / (sum(terms) * Fraction(output_scale))) for term in terms]  # round() is half to even
    assert quantized_softmax(levels, table, 0, 0, 255).tolist() == [min(255, level) for level in exact]


def test_a_row_of_equal_values_shares_evenly():
    table = softmax_table(0.1, 1 / 256, 4)
    assert quantized_softmax(numpy.array([7, 7, 7, 7]), table, -128, -128, 127).tolist() == [64 - 128] * 4


def test_ties_go_to_the_even_neighbour():
    table = SoftmaxTable((3, 1), fraction_bits=2, shift=1, factor=1)
    assert quantized_softmax(numpy.array([0, -1]), table, 0, 0, 255).tolist() == [2, 0]  # 6/4 and 2/4


def test_everything_fits_64_unsigned_bits():
    for length in (1, 10, 1000, 100_000):
        for output_scale in (1 / 256, 0.0039, 0.1, 3.0):
            table = softmax_table(0.25, output_scale, length)
            assert max(table.exponentials) << table.shift < 1 << 63
            assert length * max(table.exponentials) * table.factor < 1 << 63


@pytest.mark.requirement("SOFTMAX")
def test_a_row_that_no_table_fits_is_refused():
    with pytest.raises(AidgeError, match="does not fit 64-bit integers"):
        softmax_table(0.1, 1e-12, 10)


def test_the_table_starts_at_one_and_never_rises():
    table = exponentials(float(numpy.float32(0.17)), 30, 256)
    assert table[0] == 1 << 30
    assert list(table) == sorted(table, reverse=True)
    assert table[1] == 905858160 or abs(table[1] - 2**30 * numpy.exp(-numpy.float64(numpy.float32(0.17)))) <= 0.5
