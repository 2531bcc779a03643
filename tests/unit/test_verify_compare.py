# SPDX-License-Identifier: MIT
"""The comparison that judges every output: integers to the last bit, floats within 1e-4 of the largest value of their vector."""

from __future__ import annotations

import math

import numpy
import pytest

from aidge_build.run.verify.compare import compare, first_difference

NAN, INF = math.nan, math.inf


def floats(*rows):
    return numpy.array(rows, numpy.float32)


@pytest.mark.parametrize("got, wanted", [(NAN, 1.0), (1.0, NAN), (NAN, INF), (INF, NAN), (INF, 1.0), (1.0, INF), (INF, -INF)])
def test_what_is_not_finite_differs_from_everything_else(got, wanted):
    found = compare("y", floats([2.0, got]), floats([2.0, wanted]))
    assert (found.differing_values, found.max_difference, found.within) == (1, INF, False)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_what_is_not_finite_equals_itself_and_leaves_the_scale_alone(value):
    assert compare("y", floats([1.0, value]), floats([1.0, value])).within
    assert compare("y", floats([1.0002, value]), floats([1.0, value])).differing_values == 1


def test_a_float_may_be_one_part_in_ten_thousand_of_its_vectors_largest_value_off():
    wanted = floats([0.0, -8.0, 0.5], [0.0, 0.25, 0.5])
    assert compare("y", wanted + floats([7.9e-4, 0, 0], [0, 4.9e-5, 0]), wanted).within
    found = compare("y", wanted + floats([8.1e-4, 0, 0], [0, 5.1e-5, 0]), wanted)
    assert (found.unit, found.values, found.differing_values, found.within) == ("relative", 6, 2, False)
    assert found.max_difference == pytest.approx(1.02e-4, rel=1e-2)


def test_nothing_but_zero_equals_a_vector_of_zeros():
    assert compare("y", floats([0.0, -0.0]), floats([0.0, 0.0])).within
    assert not compare("y", floats([0.0, 1e-38]), floats([0.0, 0.0])).within


def test_integers_are_compared_to_the_last_bit():
    large = numpy.array([[5, 1 << 53]], numpy.int64)
    found = compare("y", large + [[0, 1]], large)
    assert (found.unit, found.values, found.differing_values, found.max_difference) == ("level", 2, 1, 1)
    assert compare("y", large, large).within
    bytes_ = numpy.array([[-128, 127]], numpy.int8)
    assert compare("y", bytes_, -1 - bytes_).max_difference == 255


def test_the_first_difference_is_the_first_value_beyond_the_tolerance():
    wanted = {"a": floats([NAN, INF, 4.0]), "b": floats([1.0, NAN, 4.0], [1.0, 2.0, 3.0])}
    got = {"a": floats([NAN, INF, 4.0003]), "b": floats([1.0, NAN, 4.0], [1.0, 2.0002, 3.0004])}
    found = first_difference(["a", "b"], got, wanted)
    assert (found["tensor"], found["vector"], found["index"], found["differing_values"]) == ("b", 1, [2], 1)
    assert found["expected"] == 3.0 and found["got"] == pytest.approx(3.0004)
    large = {"n": numpy.array([[7, 1 << 53]], numpy.int64)}
    assert first_difference(["n"], {"n": large["n"] + [[0, 1]]}, large)["index"] == [1]
    assert first_difference(["a"], wanted, wanted) is None
