# SPDX-License-Identifier: MIT
"""Functions that are straight lines, under --optimize size, of every library with tables: bit for bit, in two numbers for 256."""

from __future__ import annotations

from dataclasses import replace

import armv6m_harness
import armv7m_harness
import helium_harness
import pytest
from helium_harness import case, needs_emulator, run
from random_tensors import Randomness

from aidge_build.graph.quantization import per_tensor
from aidge_build.operators.activation import HardSigmoid

COUNTS = (1, 3, 4, 5, 16, 60, 257)


class OfRef(helium_harness.Case):
    library_name, features = "ref", frozenset()


LIBRARIES = {"mps3-an547": helium_harness.Case, "mps2-an385": armv7m_harness.Case, "rp2040": armv6m_harness.Case, "host": OfRef}


def lines(library, objective="size"):
    """Steep and flat ones, limited at both ends of int8."""
    found = []
    for seed, count in enumerate(COUNTS):
        random = Randomness(seed)
        source = per_tensor((0.0113, 0.0301, 0.0607, 0.0803)[seed % 4], (0, -128, 77)[seed % 3])
        data = random.data(1, count).with_(quantization=source)
        result = per_tensor((1 / 256, 1 / 280, 1 / 500)[seed % 3], -128)
        made = case(HardSigmoid(alpha=1 / 6, beta=0.5), [data], [random.int8(1, count)], quantization=result)
        found.append(library(replace(made.view, objective=objective, features=library.features), made.values))
    return found


@needs_emulator
@pytest.mark.parametrize("board", LIBRARIES)
def test_lines_equal_the_meaning(board):
    cases = lines(LIBRARIES[board])
    assert {entry.call.function.split("_", 2)[2] for entry in cases} == {"straight_int8"}
    assert {entry.call.constants[0].values.nbytes for entry in cases} == {8}
    assert run(cases, board=board) == []


@pytest.mark.parametrize("board", LIBRARIES)
def test_what_may_be_replaced_and_other_objectives_keep_their_tables(board):
    library = LIBRARIES[board]
    others = lines(library, "balanced")
    others += [library(replace(entry.view, any_weights=True), entry.values) for entry in lines(library)]
    assert not any("straight" in entry.call.function for entry in others)
