# SPDX-License-Identifier: MIT
"""All that cycles of a program are estimated with while it runs."""

from __future__ import annotations

from pathlib import Path

from aidge_build.base.errors import MissingTool
from aidge_build.boards import Board
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import read_image
from aidge_build.prove.timing.estimate import Timing
from aidge_build.prove.timing.memory import caches_of
from aidge_build.prove.timing.reads import pieces_of
from aidge_build.prove.timing.table import timing_of
from aidge_build.run.toolchain import disassemble


def program_timing(elf: Path, board: Board, *, tells_apart: bool = False) -> Timing | None:
    """The timing of `elf` on the board; None if the core has no timing table, or this machine no disassembler. `tells_apart`: the
    reads of each function and constant are counted apart."""
    table = timing_of(board.core, board.multiplier_cycles)
    if table is None:
        return None
    try:
        instructions = read_disassembly(disassemble(elf, board.core))
    except MissingTool:
        return None
    pieces = pieces_of(read_image(elf), board) if tells_apart else ()
    return Timing(table, instructions, caches_of(board.flash), board.stall_cycles, pieces)
