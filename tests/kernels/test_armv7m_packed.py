# SPDX-License-Identifier: MIT
"""Layers of `armv7m` with weights of 4 bits, two of which share a byte: right to the bit."""

from __future__ import annotations

import functools
from dataclasses import replace

from armv7m_harness import BOARD, of_this_library
from cortexm_harness import accepted
from harness import under_double
from helium_harness import needs_emulator, run
from test_armv7m_linear import OWN_EDGES
from test_cortexm_linear import EDGES, LONG_ROWS, ROWS, fc_cases, int8_case
from test_cortexm_packed import of_four_bits


@functools.cache
def layers():
    edges = [edge for edge in (*EDGES, *OWN_EDGES) if edge[-1] == 1 and edge[3] > 1]
    shapes = [*(int8_case(seed, *edge) for seed, edge in enumerate(edges)), *fc_cases((*ROWS, *LONG_ROWS))]
    found = of_this_library(of_four_bits(entry, seed) for seed, entry in enumerate(shapes))
    return accepted([*found, *(under_double(entry) for entry in found[::3])])


@needs_emulator
def test_layers_of_both_contracts_equal_their_meaning():
    assert all("_nibbles" in entry.call.function for entry in layers())
    assert {entry.kernel.name for entry in layers()} == {"conv2d_int8", "conv2d_rows_int8", "fc_int8"}
    assert run(layers(), board=BOARD) == []


def test_a_weight_takes_half_a_byte():
    for entry in layers():
        bytes_each = replace(entry, view=replace(entry.view, packs_weights=False))
        packed, plain = (each.call.constants[0].values.nbytes for each in (entry, bytes_each))
        assert packed == plain / 2
