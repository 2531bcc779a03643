# SPDX-License-Identifier: MIT
"""float32 products of activations, softmax and curves of `cortexm` against their numpy meaning: the cases of `helium`."""

from __future__ import annotations

import os

import pytest
import test_helium_curves
from cortexm_harness import BOARD, PORTABLE, Case, accepted, run
from helium_harness import needs_emulator

STRESS = bool(os.environ.get("AIDGE_STRESS"))
TYPES = {"MatMul", "Softmax", "Sigmoid", "Tanh", "Erf", "Gelu", "Swish"}


def candidates():
    return [Case(entry.view, entry.values) for entry in test_helium_curves.candidates() if entry.view.node.type in TYPES]


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O0",), ("-Os",), PORTABLE][: 1 + 3 * STRESS], ids=str)
def test_results_are_within_tolerance(flags):
    taken = accepted(candidates())
    assert {entry.view.node.type for entry in taken} == TYPES
    assert run(taken, "-Wall", "-Wextra", "-Werror", *flags, board=BOARD) == []


def test_a_product_of_three_columns_is_left_to_ref():
    narrow = [entry for entry in candidates() if entry.view.outputs[0].dims[-1] < 4 and entry.view.node.type == "MatMul"]
    assert narrow
    for entry in narrow:
        with pytest.raises(AssertionError, match="columns, wants at least 4"):
            assert entry.kernel
