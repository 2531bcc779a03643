# SPDX-License-Identifier: MIT
"""Linear int8 layers at the ends of their sums and beside the steps of their outputs, in images of many numbers of pixels, on the
cores whose kernels prove a cheap requantization, or pack several sums into a word."""

from __future__ import annotations

import functools
import os
import shutil

import armv6m_harness
import armv7m_harness
import cortexm_harness
import helium_harness
import numpy
import pytest
from aimed_layers import aimed_layers, aimed_sums, inputs_for

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
EACH = 12 if "AIDGE_STRESS" in os.environ else 1
LIBRARIES = {"armv6m": armv6m_harness, "armv7m": armv7m_harness, "cortexm": cortexm_harness}  # each says which board and case


@functools.cache
def layers():
    return [*aimed_layers(False, EACH), *aimed_layers(True, EACH)]


@functools.cache
def sample(library: str):
    """The layers that the library takes."""
    return cortexm_harness.accepted([LIBRARIES[library].Case(entry.view, entry.values) for entry in layers()])


def test_inputs_are_found_for_every_sum_that_is_aimed_at():
    weights = numpy.array([1, -7, 90, -128, 0, 33])
    high = int(numpy.maximum(-128 * weights, 127 * weights).sum())
    low = int(numpy.minimum(-128 * weights, 127 * weights).sum())
    sums = aimed_sums(low, high, numpy.arange(low, high, 97))
    assert (inputs_for(weights, sums).astype(numpy.int64) @ weights == sums).all() and {low, high} <= set(sums.tolist())


def test_corrected_layers_are_among_the_aimed_ones_in_every_form():
    names = {entry.call.function.removeprefix("aidge_armv6m_") for entry in sample("armv6m")}
    dense = {
        "single_corrected",
        "single_offset_corrected",
        "chunked_corrected",
        "chunked_offset_corrected",
        "sums",
        "single",
        "sums_offset",
    }
    assert all(any(name.startswith(f"dense_int8_{form}_u") for name in names) for form in dense), sorted(names)
    assert any("corrected" in name and name.endswith("_groups") for name in names), sorted(names)
    assert any(name.startswith("depthwise") and name.endswith("_corrected") for name in names), sorted(names)
    assert any(name.startswith("depthwise_int8_wide") for name in names), sorted(names)
    assert any(name.startswith("fc_") and "marks" in name for name in names), sorted(names)


@needs_compiler
@pytest.mark.parametrize("library", LIBRARIES)
def test_aimed_layers_equal_the_meaning_on_the_emulated_core(library):
    assert len(sample(library)) > 40
    assert helium_harness.run(sample(library), board=LIBRARIES[library].BOARD) == []
