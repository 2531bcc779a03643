# SPDX-License-Identifier: MIT
"""Cases of the library `armv7m`, on an emulated Cortex-M3 or as plain C on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import harness
import helium_harness

from aidge_build.boards.cores import SLOW_LONG_PRODUCTS

BOARD = "mps2-an385"
PORTABLE = ("-DAIDGE_ARMV7M_ASSEMBLY=0",)  # the C versions on an Arm core


class Case(helium_harness.Case):
    library_name, features = "armv7m", frozenset({"thumb2"})


class SlowCase(Case):
    """On a core whose long multiplications are slow, as those of the Cortex-M3 are."""

    features = Case.features | {SLOW_LONG_PRODUCTS}


def of_this_library(cases: Iterable[harness.Case]) -> list[Case]:
    """The same nodes and values, for kernels of this library, which take none of a build for the least memory; those for speed
    for a Cortex-M3, the others for a Cortex-M33 without DSP instructions."""
    return [
        SlowCase(replace(entry.view, features=SlowCase.features), entry.values)
        if entry.view.objective == "speed"
        else Case(replace(entry.view, objective="balanced"), entry.values)
        for entry in cases
    ]
