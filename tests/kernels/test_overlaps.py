# SPDX-License-Identifier: MIT
"""What layers of `cortexm` and `helium` promise the planner: outputs at the place of their input, or following it."""

from __future__ import annotations

import functools

import cortexm_harness
import pytest
import test_cortexm_linear as cortexm_layers
from cortexm_harness import BOARD, PORTABLE
from helium_harness import needs_emulator

# Layers beside the edges: batches, odd numbers of pixels, rows that are computed in pairs, larger outputs than inputs, rows of
# which the first ones see pads alone
MORE = (
    (1, 8, (6, 6), 12, (2, 2), 2, 1, (4, 0), 1),
    (1, 3, (6, 6), 4, (2, 2), 2, 1, (4, 0), 1),
    (1, 24, (3, 3), 24, (1, 1), 1, 1, (0, 0), 1),
    (2, 8, (4, 5), 20, (1, 1), 1, 1, (0, 0), 1),
    (2, 24, (3, 3), 8, (1, 1), 1, 1, (0, 0), 1),
    (2, 4, (9, 7), 4, (3, 3), 1, 1, (1, 1), 1),
    (1, 8, (8, 8), 8, (3, 3), 1, 1, (1, 1), 1),
    (2, 8, (7, 6), 24, (3, 3), 1, 1, (1, 1), 1),
    (1, 3, (9, 7), 8, (3, 3), 1, 1, (1, 1), 1),
    (2, 8, (9, 9), 8, (3, 3), 1, 1, (1, 1), 8),
    (1, 16, (40, 24), 16, (3, 3), 1, 1, (1, 1), 16),
    (2, 8, (12, 12), 8, (3, 3), 2, 1, (0, 1), 8),
)


def demands(entry):
    return entry.kernel.node_class.demands(entry.stored)


def promised_lead(entry):
    """How far before its input the output may begin at the latest."""
    found = demands(entry)
    return 0 if found.in_place else found.overlap[0][1]


@functools.cache
def cortexm_cases():
    edges = [cortexm_layers.int8_case(0, *edge) for edge in (*cortexm_layers.EDGES, *MORE)]
    return [entry for entry in cortexm_harness.accepted(edges) if demands(entry).in_place or demands(entry).overlap]


@needs_emulator
@pytest.mark.parametrize("flags", [(), PORTABLE], ids=["assembly", "portable"])
def test_cortexm_layers_may_overwrite_what_they_say(flags):
    cases = cortexm_cases()
    assert len(cases) >= 40 and sum(bool(demands(entry).in_place) for entry in cases) >= 8
    assert cortexm_harness.run(cases, *flags, board=BOARD, lead=promised_lead) == []


def test_without_the_distance_layers_overwrite_what_they_read():
    cases = [entry for entry in cortexm_cases() if demands(entry).overlap and promised_lead(entry) > 0]
    assert len(cortexm_harness.run(cases, board="host", lead=lambda entry: 0)) >= len(cases) // 2 >= 5
