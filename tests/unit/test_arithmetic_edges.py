# SPDX-License-Identifier: MIT
"""The values at which integer arithmetic stops to fit: one below is taken, one above is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.graph.quantization import per_tensor
from aidge_build.operators.arithmetic.affine import FIRST, SECOND, Affine
from aidge_build.operators.arithmetic.fixed_point import rescales
from aidge_build.operators.arithmetic.products import float_product
from aidge_build.operators.arithmetic.softmax import factored, softmax_table


def test_proofs_about_pairs_see_every_pair_of_stored_bytes():
    pairs = set(zip(FIRST.ravel().tolist(), SECOND.ravel().tolist(), strict=True))
    assert pairs == {(a, b) for a in range(-128, 128) for b in range(-128, 128)} and FIRST.shape == (256, 256)


@pytest.mark.parametrize("level, fits", [(31_999, True), (32_000, False)])
def test_a_product_of_32000_levels_is_left_to_integers(level, fits):
    """A level and a zero point then fit 16 bits."""
    one, factor = per_tensor(1.0, 0), per_tensor(level / 128**2, 0)
    meaning = numpy.clip(numpy.rint(FIRST * SECOND * float(factor.scale)), -128, 127).astype(numpy.int64)
    assert (float_product(factor, one, one, (-128, 127), meaning) is not None) == fits


def test_a_softmax_has_sixteen_bits_of_fraction_or_none():
    assert (softmax_table(0.1, 2.0**-46, 1).fraction_bits, softmax_table(0.1, 2.0**-32, 1).fraction_bits) == (16, 30)
    with pytest.raises(AidgeError, match="does not fit 64-bit integers"):
        softmax_table(0.1, 2.0**-47, 1)
    assert softmax_table(0.1, 3.0, 1).fraction_bits == 30 and softmax_table(0.1, 2.0**32, 1).fraction_bits == 30
    assert [softmax_table(0.1, 2.0**power, 1).fraction_bits for power in (33, 46)] == [29, 16]


@pytest.mark.parametrize("output_scale", [1 / 256, 2.0**33, 2.0**42])
@pytest.mark.parametrize("scale", [1e-6, 1 / 256, 0.0247, 0.1, 0.5847, 0.9, 3.0])
def test_forty_words_hold_the_exponentials_of_a_softmax(scale, output_scale):
    table = softmax_table(scale, output_scale, 12)
    words = factored(table, scale)
    assert len(words) == 40 and max(words) < 1 << 32
    bits = [words[32 + k // 32] >> k % 32 & 1 for k in range(256)]
    found = [(words[k // 16] * words[16 + k % 16] + (1 << 31) >> 32) + bits[k] for k in range(256)]
    assert found == list(table.exponentials)


def test_int32_holds_the_sum_with_its_rounding_or_it_is_not_narrow():
    assert Affine(0, 0, (1 << 31) - 2, 0).is_narrow and not Affine(0, 0, (1 << 31) - 1, 0).is_narrow
    assert Affine(0, 0, (1 << 31) - 1 - (1 << 20), 20).is_narrow and not Affine(0, 0, (1 << 31) - (1 << 20), 20).is_narrow
    assert Affine(1 << 23, 0, 0, 1).is_narrow and not Affine(1 << 24, 0, 0, 1).is_narrow
    assert not Affine(1, 1, 0, 0, divisor=3).is_narrow


@pytest.mark.parametrize("largest", [1, 255, 1 << 20])
def test_a_shift_is_as_large_as_int64_and_the_limit_allow(largest):
    first = next(rescales(Fraction(1), largest))
    assert first.shift == min(56, 62 - largest.bit_length() - 1) and first.multiplier == 1 << first.shift
    assert next(rescales(Fraction(1, 1 << 20), largest)).shift == min(56, 62 - largest.bit_length() + 20 - 1)
    most = ((1 << 62) - 1) // largest
    for numerator in (most, most + 1):
        divisor = next(number for number in (3, 5, 7, 11) if numerator % number)
        quotients = [found for found in rescales(Fraction(numerator, divisor), largest) if found.divisor]
        assert [found.divisor for found in quotients] == ([divisor] if numerator == most else [])
