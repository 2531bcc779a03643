# SPDX-License-Identifier: MIT
"""The boards that tests go over: one of each core, or all of them where there is time (AIDGE_STRESS).

Those of a core whose code is not read (RISC-V) need a toolchain that a machine may lack, and have tests of their own.
"""

from __future__ import annotations

import os

from aidge_build.boards import Board, list_boards, load_board
from aidge_build.boards.cores import THUMB


def each_core(boards: tuple[str, ...]) -> tuple[str, ...]:
    """The first of `boards` with each core, FPU and emulator."""
    found: dict[tuple, str] = {}
    for name in boards:
        board = load_board(name)
        found.setdefault((board.cpu, board.fpu, board.emulator), name)
    return tuple(found.values())


def is_emulated(board: Board) -> bool:
    return board.emulator is not None


ALL = tuple(name for name in list_boards() if name == "host" or load_board(name).core.stack == THUMB)
OF_OTHER_CORES = tuple(sorted({*list_boards()} - {*ALL}))
OTHERS_EMULATED = tuple(name for name in OF_OTHER_CORES if is_emulated(load_board(name)))
EMULATED = tuple(name for name in ALL if is_emulated(load_board(name)))
TRIED = EMULATED if os.environ.get("AIDGE_STRESS") else each_core(EMULATED)
LINKED = tuple(name for name in (ALL if os.environ.get("AIDGE_STRESS") else each_core(ALL)) if name != "host")
