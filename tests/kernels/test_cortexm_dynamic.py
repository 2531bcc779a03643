# SPDX-License-Identifier: MIT
"""Layers with bytes of a run-time zero point, and QuantizeLinear, of `cortexm` against their numpy meaning; tests/target has them
bit for bit."""

from __future__ import annotations

import shutil

import numpy
import pytest
from cortexm_harness import BOARD, PORTABLE, accepted, built_for, case, run
from dynamic_cases import dynamic_layers, measured_cases
from random_tensors import Randomness
from staircase_cases import staircases

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import constant
from aidge_build.operators.quantize import QuantizeLinear


def candidates():
    yield from dynamic_layers(case)
    yield from measured_cases(case)
    yield from accepted(list(staircases(case)))
    for seed, count in enumerate((1, 4, 31)):
        random = Randomness(seed)
        numbers = constant("s", numpy.array(0.05, numpy.float32)), constant("z", numpy.array(-3 * seed, numpy.int8))
        values = random.float32(2, count) * 5
        yield case(QuantizeLinear(0, DType.int8), [random.real(2, count), *numbers], [values])


def test_most_functions_by_their_steps_are_taken():
    names = [entry.call.function for entry in accepted(list(staircases(case)))]
    assert len(names) >= 6 and all("_staircase_" in name for name in names)


def test_numbers_behind_a_clamp_have_no_lowest_to_look_for():
    names = [entry.call.function for entry in measured_cases(case)]
    assert {"aidge_cortexm_dynamic_quantize", "aidge_cortexm_dynamic_quantize_above_0"} == set(names)


def test_depthwise_windows_inside_the_image_have_their_taps_in_the_text():
    def functions(objective):
        layers = [entry for entry in dynamic_layers(case) if getattr(entry.view.operator, "groups", 1) > 1]
        return {entry.call.function for entry in (built_for(one, objective) for one in layers)}

    for window in ("_3x3_d5x1_s1_c8", "_5x3_d4x1_s2_c7"):
        assert any(f"depthwise{window}" in name for name in functions("balanced"))
    assert all(name.endswith("_image") for name in functions("size"))


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize("flags", [("-Os",), PORTABLE], ids=["assembly", "portable"])
def test_layers_equal_the_meaning_on_the_emulated_core(flags):
    assert run(list(candidates()), *flags, board=BOARD) == []


def test_the_c_versions_equal_the_meaning_on_this_machine():
    strict = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
    assert run(list(candidates()), *strict, board="host") == []
