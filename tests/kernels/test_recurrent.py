# SPDX-License-Identifier: MIT
"""Recurrent layers of the libraries for cores against their numpy meaning, within 1e-5 of the largest value."""

from __future__ import annotations

import os

import cortexm_harness
import helium_harness
import numpy
import pytest
from cortexm_harness import BOARD, PORTABLE
from helium_harness import needs_emulator
from recurrent_cases import EDGES, recurrent

from aidge_build.kernel_kit.curves import LOGISTIC, TANH, curve

STRESS = bool(os.environ.get("AIDGE_STRESS"))


def layers(case):
    return [entry for seed in range(len(EDGES) if STRESS else 4) for entry in recurrent(case, seed)]


def candidates():
    """For the tests of all kernels."""
    return [*layers(cortexm_harness.case), *layers(helium_harness.case)]


@needs_emulator
@pytest.mark.parametrize("flags", [(), PORTABLE, ("-O0",), ("-Os", "-flto")][: 2 + 2 * STRESS], ids=str)
def test_cortexm_recurrent_layers_are_within_tolerance(flags):
    assert cortexm_harness.run(layers(cortexm_harness.case), *flags, board=BOARD) == []


@needs_emulator
@pytest.mark.parametrize("flags", [("-Os",), ("-DAIDGE_HELIUM_PLAIN_C",), ("-O0",), ()][: 1 + 3 * STRESS], ids=str)
def test_helium_recurrent_layers_are_within_tolerance(flags):
    assert helium_harness.run(layers(helium_harness.case), "-Wall", "-Wextra", "-Werror", *flags) == []


def test_a_curve_is_within_five_ten_millionths_of_its_function():
    x = numpy.concatenate([numpy.linspace(-30, 30, 100001), [0.0]]).astype(numpy.float32)
    for kind, wanted in ((TANH, numpy.tanh(x.astype(float))), (LOGISTIC, 1 / (1 + numpy.exp(-x.astype(float))))):
        *numbers, shift, limit = curve(kind)
        limited = numpy.clip(x, -limit, limit)
        square = limited * limited
        p, q = numbers[0], numbers[5]
        for coefficient in numbers[1:5]:
            p = p * square + coefficient
        for coefficient in numbers[6:]:
            q = q * square + coefficient
        assert p.dtype == numpy.float32 and numpy.abs(shift + limited * p / q - wanted).max() < 5e-7
