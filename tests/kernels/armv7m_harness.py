# SPDX-License-Identifier: MIT
"""Cases of the library `armv7m`, on an emulated Cortex-M3."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import harness
import helium_harness

BOARD = "mps2-an385"


class Case(helium_harness.Case):
    library_name, features = "armv7m", frozenset({"thumb2"})


def of_this_library(cases: Iterable[harness.Case]) -> list[Case]:
    """The same nodes and values, for kernels of this library, which take none of a build for the least memory."""
    return [
        Case(replace(entry.view, objective="speed" if entry.view.objective == "speed" else "balanced"), entry.values)
        for entry in cases
    ]
