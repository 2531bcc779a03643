# SPDX-License-Identifier: MIT
"""Functions of one int8 value of `armv6m` against their numpy meaning, bit for bit."""

from __future__ import annotations

import pytest
import test_armv7m_tables
from armv6m_harness import BOARD, PORTABLE, run, taken
from helium_harness import needs_emulator


def candidates():
    return tuple(map(taken, test_armv7m_tables.candidates()))


@needs_emulator
@pytest.mark.parametrize("flags", [(), PORTABLE], ids=["assembly", "portable"])
def test_tables_equal_the_meaning_on_a_core_of_16_bit_instructions(flags):
    cases = candidates()
    assert {entry.kernel.name for entry in cases} == {"table_int8"}
    assert run(cases, *flags, board=BOARD) == []
