# SPDX-License-Identifier: MIT
"""Cases of the library `rv32`, on an emulated RISC-V core."""

from __future__ import annotations

import cortexm_harness
import harness
import helium_harness
from helium_harness import run

from tests.programs import needs_riscv

BOARD, BOARD_OF_16 = "qemu_riscv32", "qemu_rv32e"


class Case(helium_harness.Case):
    library_name, features = "rv32", frozenset({"rv32m"})


class Case16(Case):
    """For a core with 16 registers."""

    features = Case.features | {"rv32e"}


def taken(entry: harness.Case) -> Case:
    """A case of another library's tests."""
    return Case(entry.view, entry.values)


accepted = cortexm_harness.accepted

__all__ = ["BOARD", "BOARD_OF_16", "Case16", "accepted", "needs_riscv", "run", "taken"]
