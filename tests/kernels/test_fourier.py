# SPDX-License-Identifier: MIT
"""float32 Fourier transforms of `ref` against numpy's, for lengths of every kind of factor."""

from __future__ import annotations

import os

import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
from helium_harness import needs_emulator

from aidge_build.contract.kernel_kit.fourier import WRITTEN_OUT, radices
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.fourier import ComplexFourier, RealFourier

STRESS = bool(os.environ.get("AIDGE_STRESS"))
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 16, 22, 25, 32, 33, 50, 64, 77, 98, 120, 128, 240, 256, 400, 480, 512, 1000, 1024)
MORE = (*range(1, 200), 243, 320, 441, 509, 625, 640, 882, 1018, 1021, 2048, 3000, 4096)


def random(seed: int, *dims: int) -> numpy.ndarray:
    return numpy.random.Generator(numpy.random.PCG64(seed)).normal(size=dims).astype(numpy.float32)


def real(case, length: int, taps: int, step: int, onesided: bool, is_windowed: bool, rows: int = 1, frames: int = 1):
    samples = taps + step * (frames - 1)
    data = Tensor("x", (rows, samples), DType.float32)
    inputs = [data, constant("w", random(length, taps))] if is_windowed else [data]
    return case(RealFourier(length, step, onesided), inputs, [random(length + 1, rows, samples)])


def complexes(case, length: int, used: int, inverse: bool):
    data = Tensor("x", (2, used, 2), DType.float32)
    return case(ComplexFourier(length, inverse), [data], [random(length, 2, used, 2)])


def cases(case, lengths) -> list:
    found = []
    for number, length in enumerate(lengths):
        taps = length - (number % 3) * (length // 4)
        is_windowed, frames = number % 2 == 0, 1 + number % 3
        step = 1 + length // 3 if is_windowed else 0
        found.append(real(case, length, taps, step, number % 4 != 3, is_windowed, 1 + number % 2, frames if is_windowed else 1))
        found.append(real(case, length, length, 0, True, False))
        found.append(complexes(case, length, taps, number % 3 == 1))
    return found


@pytest.mark.parametrize("flags", [("-std=c99", "-O2"), ("-Os",)][: 1 + STRESS], ids=" ".join)
def test_a_transform_of_every_length_equals_that_of_numpy(flags):
    made = cases(harness.case, (*LENGTHS, *MORE) if STRESS else LENGTHS)
    assert harness.far(made, harness.run(made, *flags)) == []


@needs_emulator
def test_on_an_emulated_core_it_writes_nothing_but_its_output():
    class Case(helium_harness.Case):
        library_name, features = "ref", frozenset({"dsp", "fpu"})

    def case(*arguments):
        made = harness.case(*arguments)
        return Case(made.view, made.values)

    chosen = cases(case, (2, 3, 7, 30, 49, 64, 240, 512))
    assert cortexm_harness.run(chosen, board=cortexm_harness.BOARD) == []


def test_the_work_of_a_transform_grows_with_its_factors_and_not_with_its_square():
    for length in (256, 400, 480, 512, 640, 1000, 1024):
        assert set(radices(length // 2)) <= set(WRITTEN_OUT) and sum(radices(length // 2)) <= 22
        entry = real(harness.case, length, length, 0, True, True)
        assert entry.scratch_bytes == 0  # the output is all the room that it needs
        assert sum(one.values.size for one in entry.call.constants) <= 4 * length


def test_a_transform_of_more_points_than_16_bits_count_is_refused():
    entry = real(harness.case, 1 << 18, 8, 0, True, False)
    with pytest.raises(AssertionError, match="131072 points, at most 65536 are supported"):
        entry.kernel
