# SPDX-License-Identifier: MIT
"""Layers of `helium` without the blocks of weights that are 0, against their numpy meaning, bit for bit."""

from __future__ import annotations

import shutil

import pytest
from harness import under_double
from helium_harness import Case, run
from sparse_cases import ROWS, sparse_layers

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


def cases():
    return [Case(entry.view, entry.values) for entry in sparse_layers()]


def test_rows_leave_blocks_of_zeros_out():
    assert len([entry for entry in cases() if "_sparse_rows" in entry.call.function]) == len(ROWS)


@needs_compiler
def test_layers_equal_the_meaning_under_both_contracts():
    found = cases()
    assert run([*found, *map(under_double, found[::3])]) == []
