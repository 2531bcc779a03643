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

BOARD, BOARD_OF_INTEGERS = "qemu_riscv32_v", "qemu_rv32_zve32x"


class Case(helium_harness.Case):
    library_name, features = "rvv", frozenset({"rv32m", "fpu", "rvv", "zve32f"})


class CaseOfIntegers(Case):
    """For a core without vectors of floats."""

    features = frozenset({"rv32m", "rvv"})


def of_integers(entry: harness.Case) -> CaseOfIntegers:
    """The case on such a core."""
    return CaseOfIntegers(entry.view, entry.values)


def case(*arguments, **output) -> Case:
    return taken(harness.case(*arguments, **output))


def taken(entry: harness.Case) -> Case:
    """A case of another library's tests."""
    return Case(entry.view, entry.values)


def with_vectors(bits: int, board: str = BOARD) -> Board:
    """The board, with vectors of so many bits, and all ones in the lanes that instructions need not keep."""
    found = load_board(board, BOARDS)
    more = f"vlen={bits},rvv_ta_all_1s=true,rvv_ma_all_1s=true"
    flags = tuple(flag.replace("vlen=128", more) for flag in found.core.qemu_flags)
    assert flags != found.core.qemu_flags
    return replace(found, core=replace(found.core, qemu_flags=flags))


accepted = cortexm_harness.accepted

__all__ = [
    "BOARD",
    "BOARD_OF_INTEGERS",
    "accepted",
    "case",
    "needs_riscv",
    "of_integers",
    "run",
    "taken",
    "with_vectors",
]
