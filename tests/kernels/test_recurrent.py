# SPDX-License-Identifier: MIT
"""Recurrent layers of the libraries against their numpy meaning, within 1e-5 of the largest value."""

from __future__ import annotations

import os

import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
from cortexm_harness import BOARD
from helium_harness import needs_emulator
from recurrent_cases import EDGES, recurrent, with_bytes

from aidge_build.contract.kernel_kit.curves import LOGISTIC, TANH, ElementCurve, curve
from aidge_build.contract.kernel_kit.float_layers import FloatCurve
from aidge_build.contract.kernel_kit.float_steps import PORTABLE
from aidge_build.graph.dtype import DType

STRESS = bool(os.environ.get("AIDGE_STRESS"))


def layers(case):
    return [entry for seed in range(len(EDGES) if STRESS else 4) for entry in recurrent(case, seed)]


def layers_of_bytes(case):
    """With weights of int8, and data of int8 or float32."""
    return [entry for seed in (range(24) if STRESS else (1, 3, 7)) for entry in recurrent(case, seed, with_bytes)]


def candidates():
    """For the tests of all kernels."""
    return [entry for form in (layers, layers_of_bytes) for of in (cortexm_harness, helium_harness) for entry in form(of.case)]


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O0",), ("-Os", "-flto")][: 1 + 2 * STRESS], ids=str)
def test_cortexm_recurrent_layers_are_within_tolerance(flags):
    assert cortexm_harness.run(layers(cortexm_harness.case), *flags, board=BOARD) == []


@needs_emulator
@pytest.mark.parametrize("flags", [("-Os",), ("-O0",), ()][: 1 + 2 * STRESS], ids=str)
def test_helium_recurrent_layers_are_within_tolerance(flags):
    assert helium_harness.run(layers(helium_harness.case), "-Wall", "-Wextra", "-Werror", *flags) == []


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O0",), ("-Os", "-flto")][: 1 + 2 * STRESS], ids=str)
def test_cortexm_recurrent_layers_with_weights_of_int8_are_within_tolerance(flags):
    cases = layers_of_bytes(cortexm_harness.case)
    assert {entry.kernel.name for entry in cases} == {"recurrent_int8"}
    assert cortexm_harness.run(cases, *flags, board=BOARD) == []


@needs_emulator
@pytest.mark.parametrize("flags", [("-Os",), ("-O0",), ()][: 1 + 2 * STRESS], ids=str)
def test_helium_recurrent_layers_with_weights_of_int8_are_within_tolerance(flags):
    cases = layers_of_bytes(helium_harness.case)
    assert {entry.kernel.name for entry in cases} == {"recurrent_int8"}
    assert helium_harness.run(cases, "-Wall", "-Wextra", "-Werror", *flags) == []


def test_ref_recurrent_layers_with_weights_of_int8_are_within_tolerance():
    cases = layers_of_bytes(harness.case)
    assert {entry.kernel.name for entry in cases} == {"recurrent_int8"}
    assert harness.far(cases, harness.run(cases)) == []


@pytest.mark.parametrize("wrong", [numpy.nan, numpy.inf])
def test_data_that_is_no_number_gives_none(wrong):
    """And no number that only looks right: integers with a common exponent cannot hold it."""
    cases = [entry for entry in layers_of_bytes(harness.case) if entry.view.inputs[0].dtype is DType.float32]
    assert cases
    for entry in cases:
        entry.values[0][...] = wrong
    for entry, results in zip(cases, harness.run(cases), strict=True):
        (result, *_), (wanted, *_) = results, entry.expected
        finite = numpy.isfinite(result)  # behind the end of a sequence it is 0
        assert numpy.allclose(result[finite], wanted[finite], atol=1e-5)
    assert any(numpy.isnan(results[0]).any() for results in harness.run(cases))


def test_a_curve_is_within_five_ten_millionths_of_its_function():
    x = numpy.concatenate([numpy.linspace(-30, 30, 100001), [0.0]]).astype(numpy.float32)
    for kind, wanted in ((TANH, numpy.tanh(x.astype(float))), (LOGISTIC, 1 / (1 + numpy.exp(-x.astype(float))))):
        (found,) = FloatCurve(PORTABLE, ElementCurve(curve(kind), False)).forward(x)
        assert found.dtype == numpy.float32 and numpy.abs(found - wanted).max() < 5e-7
