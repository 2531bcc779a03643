# SPDX-License-Identifier: MIT
"""Cases of the library `armv6m`, on an emulated Cortex-M0+."""

from __future__ import annotations

from dataclasses import replace

import cortexm_harness
import harness
import helium_harness
from helium_harness import run

BOARD = "rp2040"


class Case(helium_harness.Case):
    library_name, features = "armv6m", frozenset({"narrow"})


def case(*arguments, **output) -> Case:
    made = harness.case(*arguments, **output)
    return Case(made.view, made.values)


def taken(entry: harness.Case, objective: str = "balanced") -> Case:
    """A case of another library's tests."""
    return Case(replace(entry.view, objective=objective), entry.values)


accepted = cortexm_harness.accepted

__all__ = ["BOARD", "accepted", "case", "run", "taken"]
