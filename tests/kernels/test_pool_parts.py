# SPDX-License-Identifier: MIT
"""Pools that take in their rows part by part give the bits of the whole pool, in every library."""

from __future__ import annotations

import functools
import os

import cortexm_harness
import harness
import helium_harness
import pytest
from cortexm_harness import taken
from helium_harness import needs_emulator
from part_cases import float_means, means, with_parts


class CaseOfRef(helium_harness.Case):
    """A case of the plain C on an emulated core."""

    library_name, features = "ref", frozenset()


Ref, RefOnCore, Cortexm, Helium = map(with_parts, (harness.Case, CaseOfRef, cortexm_harness.Case, helium_harness.Case))
STRESS = "AIDGE_STRESS" in os.environ
STEPS = {"-O2": 1 if STRESS else 3, "-Os": 1 if STRESS else 5}  # of the cases, by optimisation
CONTRACTS = pytest.mark.parametrize("double", (False, True))


@functools.cache
def mean_cases(case, made: type, double: bool) -> tuple:
    """Those that the library takes, made once."""
    return tuple(taken(means(case, made, double)))


def candidates():
    """Of the libraries for one core, for the tests of what every kernel keeps."""
    harnesses = ((cortexm_harness, Cortexm), (helium_harness, Helium))
    found = [entry for one, made in harnesses for double in (False, True) for entry in mean_cases(one.case, made, double)]
    return [*found, *taken(float_means(helium_harness.case, Helium))]


@CONTRACTS
def test_parts_of_means_in_plain_c_are_the_whole(double):
    cases = mean_cases(harness.case, Ref, double)
    assert len(cases) > 10
    assert harness.differing(cases, harness.run(cases)) == []


@needs_emulator
@pytest.mark.parametrize("board", (cortexm_harness.BOARD, cortexm_harness.BOARD_WITHOUT_FPU))
def test_parts_of_means_in_plain_c_on_emulated_cores_are_the_whole(board):
    cases = mean_cases(harness.case, RefOnCore, False)
    assert helium_harness.run(cases[:: STEPS["-Os"]], board=board) == []


@CONTRACTS
def test_parts_of_means_of_cortexm_are_the_whole(double):
    cases = mean_cases(cortexm_harness.case, Cortexm, double)
    assert len(cases) > 10
    assert cortexm_harness.run(cases, board="host") == []


@needs_emulator
@pytest.mark.parametrize("flag", STEPS)
def test_parts_of_means_on_an_emulated_cortex_m4_are_the_whole(flag):
    cases = [entry for double in (False, True) for entry in mean_cases(cortexm_harness.case, Cortexm, double)]
    assert cortexm_harness.run(cases[:: STEPS[flag]], flag, board=cortexm_harness.BOARD) == []


@needs_emulator
@pytest.mark.parametrize("flag", STEPS)
def test_parts_of_means_on_an_emulated_cortex_m55_are_the_whole(flag):
    cases = [entry for double in (False, True) for entry in mean_cases(helium_harness.case, Helium, double)]
    assert len(cases) > 20
    assert helium_harness.run(cases if flag == "-O2" else cases[:: STEPS[flag]], flag) == []


def test_parts_of_float32_means_have_the_bits_of_the_whole():
    cases = float_means(harness.case, Ref)
    assert harness.far(cases, harness.run(cases)) == []


@needs_emulator
def test_parts_of_float32_means_on_an_emulated_cortex_m55_have_the_bits_of_the_whole():
    assert helium_harness.run(float_means(helium_harness.case, Helium)) == []


KINDS = ("average", "average_up", "fixed_mean", "max", "mean")


def test_float32_is_added_up_only_where_sums_do_not_decide():
    names = {entry.call.function.split("_part_")[0].split("_chains_")[0]: entry for entry in candidates()}
    assert sorted(names) == [f"aidge_{library}_{kind}" for library in ("cortexm", "helium") for kind in KINDS]
    for entry in mean_cases(cortexm_harness.case, Cortexm, False):
        count = entry.view.inputs[0].elements // entry.view.inputs[0].dims[1]
        equal = entry.view.inputs[0].quantization == entry.view.outputs[0].quantization
        if equal and count < 200 and "_max_" not in entry.call.function:
            assert ("_chains_" in entry.call.function) == (count % 2 == 0), entry.call.function
