# SPDX-License-Identifier: MIT
"""Reductions of `helium` over neighbouring axes against their numpy meaning; extremes to the last bit, with what is no number."""

from __future__ import annotations

import os

import numpy
import pytest
from helium_harness import case, needs_emulator, run
from random_tensors import Randomness

from aidge_build.operators.reduce import ReduceMax, ReduceMean, ReduceMin, ReduceSum

STRESS = bool(os.environ.get("AIDGE_STRESS"))
# dims, axes: rows, columns, both with all rests, axes of length 1, the whole
PLACES = (
    ((5, 33), (1,)),
    ((3, 16), (1,)),
    ((2, 7, 21), (1,)),
    ((2, 1, 3, 4), (2, 3)),
    ((3, 5, 1, 2), (1, 2)),
    ((9,), (0,)),
    ((4, 3, 16), (0, 1)),
)


def candidates():
    """Extremes of int8 and float32, sums and means of float32."""
    for seed, (dims, axes) in enumerate(PLACES):
        random, keep = Randomness(seed), seed % 2 == 1
        kept = random.data(*dims)
        for kind in (ReduceMax, ReduceMin):
            yield case(kind(axes, keep), [kept], [random.int8(*dims)], quantization=kept.quantization)
        for kind in (ReduceMax, ReduceMin, ReduceMean, ReduceSum):
            yield case(kind(axes, keep), [random.real(*dims)], [random.float32(*dims)])
    values = Randomness(1).float32(7, 9)
    values[0], values[1, 8], values[3, 2], values[4] = -numpy.inf, numpy.nan, -numpy.nan, numpy.inf
    for kind in (ReduceMax, ReduceMin):
        for axis in (0, 1):
            yield case(kind((axis,), True), [Randomness(1).real(7, 9)], [values])


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)][: 1 + STRESS], ids=str)
def test_reductions_equal_the_meaning(flags):
    assert run(list(candidates()), "-Wall", "-Wextra", "-Werror", *flags) == []


def test_axes_that_are_no_neighbours_are_left_to_ref():
    random = Randomness(1)
    with pytest.raises(AssertionError, match="no neighbours"):
        assert case(ReduceMax((0, 2), True), [random.real(2, 3, 4)], [random.float32(2, 3, 4)]).kernel
