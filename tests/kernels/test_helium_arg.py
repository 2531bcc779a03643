# SPDX-License-Identifier: MIT
"""ArgMax of `helium` over the channels of pixels against its numpy meaning."""

from __future__ import annotations

import numpy
import pytest
from helium_harness import case, needs_emulator, run
from random_tensors import Randomness

from aidge_build.operators.search import ArgMax

# whole turns of 8 pixels, a last one that begins earlier, few and many channels
DIMS = ((1, 2, 4, 4), (1, 4, 3, 3), (2, 3, 11), (1, 21, 5, 3), (2, 10, 2, 2), (1, 255, 3, 3))
VALUES = ((-128, 128), (-2, 2), (127, 128), (-128, -127))  # all, with equal ones, the ends alone


def of_pixels(dims, low, high, *, last=False):
    random = Randomness(sum(dims))
    values = random.numbers.integers(low, high, dims).astype(numpy.int8)
    return case(ArgMax(1, keep=dims[0] == 1, last=last), [random.data(*dims)], [values])


def candidates():
    return [of_pixels(dims, *ends) for dims in DIMS for ends in VALUES]


@needs_emulator
def test_the_first_of_the_largest_channels_is_that_of_numpy():
    assert run(candidates(), "-Wall", "-Wextra", "-Werror") == []


@pytest.mark.parametrize(
    "dims, last, reason",
    [
        ((1, 4, 7), False, "4 channels"),
        ((1, 256, 9), False, "256 channels"),
        ((1, 1, 9), False, "1 channels"),
        ((1, 4, 9), True, "first"),
    ],
)
def test_few_pixels_and_the_last_of_equal_channels_are_left_to_ref(dims, last, reason):
    with pytest.raises(AssertionError, match=reason):
        assert of_pixels(dims, -2, 2, last=last).kernel
