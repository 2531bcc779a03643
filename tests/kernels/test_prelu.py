# SPDX-License-Identifier: MIT
"""PReLU of int8 in integers: bit for bit what the three nodes give, on every core."""

from __future__ import annotations

import os

import armv7m_harness
import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
from armv7m_harness import of_this_library
from helium_harness import needs_emulator, run
from random_tensors import Randomness

from aidge_build.graph.tensor import constant
from aidge_build.operators.activation import PReLU

STRESS = "AIDGE_STRESS" in os.environ
DIMS = [(1, 4), (2, 3), (1, 5, 7), (1, 16, 3, 3), (2, 8, 2, 3), (1, 21, 5), (1, 17, 2, 2), (1, 1, 9, 1), (1, 6, 2, 2, 3)]


def prelu(make, seed: int, dims: tuple[int, ...]):
    """Slopes of both signs and beyond 1, as floats or stored, of each channel or one for all."""
    random = Randomness(seed)
    data = random.data(*dims)
    sizes = (random.choice(1, dims[1], dims[1]), *(1,) * (len(dims) - 2))
    slopes = numpy.random.default_rng(seed).normal(0.2, 0.5, sizes).astype(numpy.float32)
    stored = constant("slope", random.int8(*sizes), random.quantization(0.01))
    slope = constant("slope", slopes) if seed % 3 else stored
    return make(PReLU(), [data, slope], [random.int8(*dims)], quantization=random.quantization(0.04))


def prelus(make, count: int = 36):
    return [prelu(make, seed, DIMS[seed % len(DIMS)]) for seed in range(count)]


def candidates():
    """For the tests of all kernels."""
    return [*prelus(helium_harness.case, 18), *of_this_library(prelus(cortexm_harness.case, 18))]


def proved(cases):
    found = cortexm_harness.accepted(cases)
    assert len(found) > len(cases) // 2
    return found


def test_the_c_equals_the_three_nodes_also_in_place():
    cases = proved(prelus(harness.case, 200 if STRESS else 36))
    for flags in ((), ("-std=c99", "-O3")):
        assert harness.differing(cases, harness.run(cases, *flags)) == []
    assert harness.differing(cases, harness.run(cases, overwritten=0)) == []


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)][: 1 + STRESS], ids=str)
def test_the_assembly_equals_the_three_nodes_on_cores_with_and_without_dsp(flags):
    cases = proved(of_this_library(prelus(cortexm_harness.case)))
    for board in (armv7m_harness.BOARD, cortexm_harness.BOARD):
        assert run(cases, *flags, board=board) == []


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)][: 1 + STRESS], ids=str)
def test_helium_gives_the_same(flags):
    cases = proved([entry for entry in prelus(helium_harness.case) if entry.view.outputs[0].dims[1] not in (1, 3, 5, 6)])
    assert {entry.call.function.endswith("_rest") for entry in cases} == {True, False}
    assert helium_harness.run(cases, "-Wall", "-Wextra", "-Werror", *flags) == []
    assert helium_harness.run(cases, *flags, lead=lambda entry: 0) == []


def test_slopes_along_another_axis_are_left_to_floats():
    random = Randomness(1)
    data, slope = random.data(1, 3, 4), constant("slope", numpy.ones((3, 4), numpy.float32))
    with pytest.raises(AssertionError, match="no constant slope for all channels, or for each"):
        _ = harness.case(PReLU(), [data, slope], [random.int8(1, 3, 4)], quantization=random.quantization(0.04)).kernel
