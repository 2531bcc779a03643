# SPDX-License-Identifier: MIT
"""int8 convolutions and fully connected layers of `armv7m` against their numpy meaning, bit for bit: the assembly on an emulated
Cortex-M3, the C beside it on the core and on this machine."""

from __future__ import annotations

import os

import pytest
import test_cortexm_linear
from armv7m_harness import BOARD, PORTABLE, of_this_library
from cortexm_harness import accepted, built_for
from helium_harness import needs_emulator, run
from test_cortexm_linear import EDGES, int8_case

STRESS = "AIDGE_STRESS" in os.environ

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
OWN_EDGES = [
    (1, 1, (3, 2), 1, (1, 1), 1, 1, (0, 0), 1),  # one tap
    (1, 16, (3, 3), 3, (1, 1), 1, 1, (0, 0), 1),  # one tap more than a turn of the steps
    (1, 17, (3, 3), 2, (1, 1), 1, 1, (0, 0), 1),
    (1, 18, (3, 3), 2, (1, 1), 1, 1, (0, 0), 1),
    (2, 5, (3, 3), 3, (1, 1), 1, 1, (0, 0), 1),  # pixels of both images in one block
    (2, 2, (5, 5), 3, (3, 3), 1, 1, (1, 1), 1),
    (1, 400, (2, 2), 5, (1, 1), 1, 1, (0, 0), 1),  # 4 pixels x 2 channels
    (1, 600, (2, 2), 7, (1, 1), 1, 1, (0, 0), 1),  # 2 pixels x 4 channels
    (1, 60, (4, 3), 6, (3, 3), 1, 1, (1, 1), 1),
    (1, 90, (4, 3), 6, (3, 3), 1, 1, (1, 1), 1),
    (1, 3, (4, 9), 5, (2, 3), 1, 2, (3, 0), 1),
]


def linear_cases():
    """Cases that a kernel of the library may refuse; every objective has its share."""
    own = [built_for(int8_case(seed, *edge), "balanced") for seed in (0, 1) for edge in OWN_EDGES]
    return of_this_library([*own, *test_cortexm_linear.candidates()])


def candidates():
    return linear_cases()


def sample(step: int = 1):
    return accepted(linear_cases()[::step])


@needs_emulator
@pytest.mark.parametrize("flags, step", [((), 1), (PORTABLE, 3)], ids=["assembly", "portable"])
def test_layers_equal_the_meaning_on_the_emulated_core(flags, step):
    cases = sample(1 if STRESS else step)
    assert len(cases) > 100 // step
    assert run(cases, *flags, board=BOARD) == []


def test_the_c_versions_equal_the_meaning_on_this_machine():
    assert (
        run(sample(), "-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror", board="host") == []
    )


@needs_emulator
@pytest.mark.parametrize("flags", [("-O0",), ("-O3",), ("-Os",), ("-O2", "-flto")])
def test_the_result_does_not_depend_on_compiler_options(flags):
    cases = accepted(of_this_library(int8_case(2, *edge) for edge in [*OWN_EDGES, *EDGES[:: 1 if STRESS else 3]]))
    assert run(cases, *flags, board=BOARD) == []


def test_a_build_for_the_least_memory_gets_no_kernel_that_needs_scratch():
    (entry,) = accepted(of_this_library([int8_case(0, *OWN_EDGES[5])]))
    assert "least memory" in entry.kernel.spec.rejection(built_for(entry, "size").view, entry.features, "onnx")
    assert entry.kernel.spec.rejection(built_for(entry, "speed").view, entry.features, "onnx") == ""
