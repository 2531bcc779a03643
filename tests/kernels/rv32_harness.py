# SPDX-License-Identifier: MIT
"""Cases of the library `rv32`, on an emulated RISC-V core."""

from __future__ import annotations

import shutil

import cortexm_harness
import harness
import helium_harness
import pytest
from helium_harness import run

BOARD = "qemu_riscv32"
needs_riscv = pytest.mark.skipif(
    not (shutil.which("qemu-system-riscv32") and shutil.which("riscv64-unknown-elf-gcc")),
    reason="needs qemu-system-riscv32 and riscv64-unknown-elf-gcc",
)


class Case(helium_harness.Case):
    library_name, features = "rv32", frozenset({"rv32m"})


def taken(entry: harness.Case) -> Case:
    """A case of another library's tests."""
    return Case(entry.view, entry.values)


accepted = cortexm_harness.accepted

__all__ = ["BOARD", "accepted", "needs_riscv", "run", "taken"]
