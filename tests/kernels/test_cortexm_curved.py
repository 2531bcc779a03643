# SPDX-License-Identifier: MIT
"""Convolutions of `cortexm` with the function behind them, against what both layers give one after the other."""

from __future__ import annotations

import functools
import os
import re
import shutil
from dataclasses import replace

import pytest
from cortexm_harness import BOARD, accepted, built_for, case, run, taken
from curved_cases import EDGES, curved_layers, wide_layers

COUNT = 120 if "AIDGE_STRESS" in os.environ else 24


@functools.cache
def candidates():
    return taken([*curved_layers(case, COUNT), *wide_layers(case)])


def test_sums_go_through_floats_only_where_channels_are_many():
    by_products = re.compile(r"_curve\d+_\d+_\d+_")  # in names of functions: how far sums go to the left, and the bits of numbers
    found = [any(map(by_products.search, entry.call.texts)) for entry in candidates()]
    assert found[-6:] == [False] * 6 and all(found[:-6])


def test_all_kinds_of_layers_are_taken_and_nearly_every_function():
    found = accepted(curved_layers(case, 2 * len(EDGES)))
    assert len(found) > 1.7 * len(EDGES)
    assert {entry.kernel.name for entry in found} == {
        f"curved_{kind}_int8" for kind in ("pointwise", "planes", "lines", "depthwise")
    }


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
def test_layers_equal_the_meaning_on_the_emulated_core():
    assert run(candidates(), board=BOARD) == []


def test_functions_take_less_flash_for_size_or_are_layers_of_their_own():
    entries = curved_layers(case, 8)
    small = accepted([built_for(entry, "size") for entry in entries])
    assert len(small) < len(accepted(entries))


def test_weights_that_may_be_replaced_keep_both_layers():
    entry = curved_layers(case, 1)[0]
    assert accepted([type(entry)(replace(entry.view, any_weights=True), entry.values)]) == []
