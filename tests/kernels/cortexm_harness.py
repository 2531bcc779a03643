# SPDX-License-Identifier: MIT
"""Cases of the library `cortexm`, on emulated cores with DSP instructions or as plain C on this machine."""

from __future__ import annotations

from dataclasses import replace

import harness
import helium_harness
from helium_harness import run

from aidge_build.contract.call import Call

BOARD = "mps2-an386"
BOARD_WITHOUT_FPU = "mps2-an386-nofpu"
PORTABLE = ("-DAIDGE_CORTEXM_ASSEMBLY=0",)  # the C versions on an Arm core


class Case(helium_harness.Case):
    library_name, features = "cortexm", frozenset({"dsp", "fpu"})


class CaseWithoutFpu(Case):
    features = frozenset({"dsp"})


def without_fpu(cases: list[Case]) -> list[Case]:
    """The cases as a core without an FPU has them."""
    return taken([CaseWithoutFpu(entry.view, entry.values) for entry in cases])


def case(*arguments, **output) -> Case:
    made = harness.case(*arguments, **output)
    return Case(made.view, made.values)


def built_for(entry: Case, objective: str) -> Case:
    """The case as a build with this --optimize has it."""
    return Case(replace(entry.view, objective=objective), entry.values)


def accepted(cases: list[Case]) -> list[Case]:
    """The cases that a kernel of the library accepts; each makes its call."""
    found = taken(cases)
    assert all(isinstance(entry.call, Call) for entry in found)
    return found


def taken(cases: list[Case]) -> list[Case]:
    """The same, and no call is made."""
    found = []
    for entry in cases:
        try:
            assert entry.kernel
        except AssertionError as error:
            assert "no kernel for" in str(error)
        else:
            found.append(entry)
    return found


__all__ = [
    "BOARD",
    "BOARD_WITHOUT_FPU",
    "PORTABLE",
    "CaseWithoutFpu",
    "accepted",
    "built_for",
    "case",
    "run",
    "taken",
    "without_fpu",
]
