# SPDX-License-Identifier: MIT
"""Layers of `helium` without the blocks of weights that are 0, against their numpy meaning, bit for bit."""

from __future__ import annotations

import shutil

import pytest
from harness import under_double
from helium_harness import Case, run
from sparse_cases import ROWS, short_rows, sparse_layers

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


def candidates():
    return [Case(entry.view, entry.values) for entry in sparse_layers()]


def test_rows_and_deep_windows_leave_blocks_of_zeros_out():
    functions = [entry.call.function for entry in candidates()]
    assert len([function for function in functions if "_sparse_rows" in function]) == len(ROWS)
    sparse = [function for function in functions if function.endswith("_sparse")]
    assert {function.split("_over_")[0] for function in sparse} >= {"aidge_helium_conv_1x1", "aidge_helium_conv_3x3"}
    assert len(sparse) > 3


def test_short_rows_have_all_blocks():
    functions = [entry.call.function for entry in [Case(entry.view, entry.values) for entry in short_rows()]]
    assert len(functions) == 2 and not any("sparse" in function for function in functions)


@needs_compiler
def test_layers_equal_the_meaning_under_both_contracts():
    found = candidates()
    assert run([*found, *map(under_double, found[::3])]) == []
