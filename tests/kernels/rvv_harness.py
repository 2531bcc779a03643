# SPDX-License-Identifier: MIT
"""Cases of the library `rvv`, on an emulated RISC-V core with vectors."""

from __future__ import annotations

from dataclasses import replace

import cortexm_harness
import harness
import helium_harness
from helium_harness import BOARDS, run

from aidge_build.boards import Board, load_board
from tests.programs import needs_riscv

BOARD = "qemu_riscv32_v"


class Case(helium_harness.Case):
    library_name, features = "rvv", frozenset({"rv32m", "fpu", "rvv"})


def case(*arguments, **output) -> Case:
    return taken(harness.case(*arguments, **output))


def taken(entry: harness.Case) -> Case:
    """A case of another library's tests."""
    return Case(entry.view, entry.values)


def with_vectors(bits: int) -> Board:
    """The board, with vectors of so many bits."""
    found = load_board(BOARD, BOARDS)
    flags = tuple(flag.replace("vlen=128", f"vlen={bits}") for flag in found.core.qemu_flags)
    assert flags != found.core.qemu_flags
    return replace(found, core=replace(found.core, qemu_flags=flags))


accepted = cortexm_harness.accepted

__all__ = ["BOARD", "accepted", "case", "needs_riscv", "run", "taken", "with_vectors"]
