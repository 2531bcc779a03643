# SPDX-License-Identifier: MIT
"""QuantizeLinear of `armv6m` by a guess and one key against its numpy meaning, bit for bit."""

from __future__ import annotations

import pytest
from armv6m_harness import BOARD, PORTABLE, Case, run, taken
from helium_harness import needs_emulator
from test_armv7m_quantize import SCALES, quantize_case

NAME = "quantize_int8"


def candidates():
    return tuple(taken(quantize_case(seed, 800 + seed, scale)) for seed, scale in enumerate(SCALES))


@needs_emulator
@pytest.mark.parametrize("flags", [(), PORTABLE], ids=["assembly", "portable"])
def test_stored_values_equal_the_meaning_on_a_cortex_m0(flags):
    cases = candidates()
    assert {entry.kernel.name for entry in cases} == {NAME}
    assert run(cases, *flags, board=BOARD) == []


class WithFpuCase(Case):
    features = Case.features | {"fpu"}


def test_few_values_an_fpu_and_the_least_flash_are_left_to_the_other_kernels():
    entry, few = candidates()[0], taken(quantize_case(1, 63, 0.05))
    for other in (few, taken(entry, "size"), WithFpuCase(entry.view, entry.values)):
        with pytest.raises(AssertionError, match="no kernel"):
            _ = other.kernel
