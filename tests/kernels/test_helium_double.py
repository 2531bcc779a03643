# SPDX-License-Identifier: MIT
"""int8 layers of `helium` under the contract of TensorFlow Lite's reference kernels, against their numpy meaning."""

from __future__ import annotations

import functools
import os

import test_helium_others
from harness import under_double
from helium_harness import Case, case, needs_emulator, run
from test_cortexm_double import averages

STRESS = "AIDGE_STRESS" in os.environ
WARNINGS = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")


@functools.cache
def candidates():
    """Layers of every kernel that keeps this contract, too."""
    every = [under_double(entry) for entry in test_helium_others.candidates()[:: 1 if STRESS else 8]]
    return tuple(entry for entry in [*every, *averages(case)] if has_kernel(entry))


def has_kernel(entry: Case) -> bool:
    """Whether the library takes the node."""
    try:
        return bool(entry.kernel)
    except AssertionError:
        return False


@needs_emulator
def test_layers_equal_the_meaning_on_the_emulated_core():
    found = {entry.call.function for entry in candidates()}
    assert len(candidates()) > 10 and "aidge_helium_average_int8" in found
    assert run(candidates()) == []


def test_the_c_versions_equal_the_meaning_on_this_machine():
    assert run(candidates(), *WARNINGS, board="host") == []
