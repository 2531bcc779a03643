# SPDX-License-Identifier: MIT
"""All that cycles of a program are estimated with while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aidge_build.base.errors import MissingTool
from aidge_build.boards import Board
from aidge_build.boards.cores import RISCV, Core
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf.image import Image, read_image
from aidge_build.prove.elf.riscv_walk import instructions_in
from aidge_build.prove.timing.estimate import Timing
from aidge_build.prove.timing.instructions import Instruction
from aidge_build.prove.timing.memory import caches_of
from aidge_build.prove.timing.reads import pieces_of
from aidge_build.prove.timing.table import timing_of
from aidge_build.run.toolchain import disassemble


def program_timing(elf: Path, board: Board, *, tells_apart: bool = False) -> Timing | None:
    """The timing of `elf` on the board; None if the core has no timing table, or this machine no disassembler. `tells_apart`: the
    reads of each function and constant are counted apart, also without a table."""
    table = timing_of(board.core, board.multiplier_cycles)
    if table is None and not tells_apart:
        return None
    image = read_image(elf)
    try:
        instructions = _instructions(elf, image, board.core)
    except MissingTool:
        return None
    pieces = pieces_of(image, board) if tells_apart else ()
    return Timing(table, instructions, caches_of(board.flash), board.stall_cycles, pieces)


def _instructions(elf: Path, image: Image, core: Core) -> Mapping[int, Instruction]:
    """Returns the instructions of a program by address. RISC-V needs no disassembler."""
    if core.stack == RISCV:
        return instructions_in(image)
    return read_disassembly(disassemble(elf, core))
