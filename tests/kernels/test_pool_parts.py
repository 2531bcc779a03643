# SPDX-License-Identifier: MIT
"""Pools that take in their rows part by part give the bits of the whole pool, in every library."""

from __future__ import annotations

import cortexm_harness
import harness
import helium_harness
import pytest
from cortexm_harness import accepted
from helium_harness import needs_emulator
from part_cases import means, with_parts

Ref, Cortexm, Helium = (with_parts(one) for one in (harness.Case, cortexm_harness.Case, helium_harness.Case))


def candidates():
    """Of the libraries for one core, for the tests of what every kernel keeps."""
    harnesses = ((cortexm_harness, Cortexm), (helium_harness, Helium))
    return [entry for one, made in harnesses for double in (False, True) for entry in accepted(means(one.case, made, double))]


@pytest.mark.parametrize("double", (False, True))
def test_parts_of_means_in_plain_c_are_the_whole(double):
    cases = accepted(means(harness.case, Ref, double))
    assert len(cases) > 10
    assert harness.differing(cases, harness.run(cases)) == []


@pytest.mark.parametrize("double", (False, True))
def test_parts_of_means_of_cortexm_are_the_whole(double):
    cases = accepted(means(cortexm_harness.case, Cortexm, double))
    assert len(cases) > 10
    assert cortexm_harness.run(cases, board="host") == []


@needs_emulator
@pytest.mark.parametrize("flag", ("-O2", "-Os"))
def test_parts_of_means_on_an_emulated_cortex_m4_are_the_whole(flag):
    cases = [entry for double in (False, True) for entry in accepted(means(cortexm_harness.case, Cortexm, double))]
    assert cortexm_harness.run(cases, flag, board=cortexm_harness.BOARD) == []


@pytest.mark.parametrize("double", (False, True))
def test_parts_of_means_of_helium_are_the_whole(double):
    cases = accepted(means(helium_harness.case, Helium, double))
    assert len(cases) > 10
    assert helium_harness.run(cases, board="host") == []


@needs_emulator
@pytest.mark.parametrize("flag", ("-O2", "-Os"))
def test_parts_of_means_on_an_emulated_cortex_m55_are_the_whole(flag):
    cases = [entry for double in (False, True) for entry in accepted(means(helium_harness.case, Helium, double))]
    assert helium_harness.run(cases, flag) == []
