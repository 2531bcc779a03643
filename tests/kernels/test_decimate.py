# SPDX-License-Identifier: MIT
"""Filters that keep every n-th result: the C against its numpy meaning, at the ends of int32, too."""

from __future__ import annotations

import harness
import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.decimate import LARGEST_SUM, Decimate


def entry(pcm: numpy.ndarray, taps: numpy.ndarray, step: int) -> harness.Case:
    tensors = [Tensor("pcm", pcm.shape, DType.int16), constant("taps", taps.astype(numpy.int16))]
    return harness.case(Decimate(step), tensors, [pcm.astype(numpy.int16)])


def cases() -> list[harness.Case]:
    random = numpy.random.Generator(numpy.random.PCG64(2))
    found = []
    for step, count in ((1, 1), (3, 24), (2, 31), (6, 96)):
        taps = random.integers(-600, 600, count)
        found.append(entry(random.integers(-32768, 32768, (2, count + 7 * step + 1)), taps, step))
    largest = numpy.array([-32768, -32767])  # their magnitudes are all that fits
    return found + [entry(numpy.full((1, 5), low), largest, 2) for low in (-32768, 32767)]


def test_the_c_gives_the_bits_of_the_meaning():
    made = cases()
    assert harness.differing(made, harness.run(made, "-std=c99", "-O2", "-fsanitize=undefined")) == []
    assert [case.expected[0].tolist() for case in made[-2:]] == [[[32767, 32767]], [[-32768, -32768]]]


def test_a_result_is_the_rounded_sum_of_products():
    taps, pcm = numpy.array([16384, 8192]), numpy.array([[3, 1, -5, -2, 7, 7]])
    assert entry(pcm, taps, 2).expected[0].tolist() == [[2, -3, 5]]  # 1.75, -3.0, 5.25


def test_taps_whose_sums_leave_32_bits_are_refused():
    with pytest.raises(AidgeError, match=f"add up to {LARGEST_SUM + 1}, at most {LARGEST_SUM} fit"):
        entry(numpy.zeros((1, 4)), numpy.array([-32768, -32768]), 1)
    with pytest.raises(AidgeError, match="5 taps for 4 samples"):
        entry(numpy.zeros((1, 4)), numpy.ones(5), 1)
