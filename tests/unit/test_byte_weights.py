# SPDX-License-Identifier: MIT
"""Weights that are bytes once an offset has been taken from them."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.kernel_kit.byte_weights import offsets_of


@pytest.mark.parametrize(
    "lowest, highest, expected",
    [
        (-128, 127, 0),
        (-3, 5, 0),
        (-129, 100, -1),
        (-30, 128, 1),
        (-100, 155, 28),
        (-155, 100, -27),
        (0, 255, 128),
        (-255, 0, -127),
    ],
)
def test_as_little_is_taken_from_weights_as_leaves_bytes(lowest, highest, expected):
    rows = numpy.array([[lowest, 0, highest], [7, 0, -7]], numpy.int16)
    offsets = offsets_of(rows)
    assert offsets.tolist() == [expected, 0] and offsets.dtype == numpy.int64
    left = rows - offsets[:, None]
    assert left.min() >= -128 and left.max() <= 127


def test_weights_that_are_too_far_apart_have_no_offset():
    assert offsets_of(numpy.array([[1, 2], [-100, 156]], numpy.int64)) is None


def test_an_output_without_taps_needs_none():
    assert offsets_of(numpy.zeros((2, 0), numpy.int16)).tolist() == [0, 0]
