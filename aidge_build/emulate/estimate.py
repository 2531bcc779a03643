# SPDX-License-Identifier: MIT
"""The table with which cycles of a program are estimated while it runs."""

from __future__ import annotations

from pathlib import Path

from aidge_build.boards import Board
from aidge_build.elf import read_disassembly
from aidge_build.elf.cycles import cycle_model, instruction_cycles
from aidge_build.emulate.program import InstructionCycles
from aidge_build.errors import MissingTool
from aidge_build.toolchain import disassemble


def cycles_of(elf: Path, board: Board) -> InstructionCycles | None:
    """The numbers of the board's core for `elf`; None where there are none, or no disassembler to read the program with."""
    model = cycle_model(board.core, board.multiplier_cycles)
    if model is None:
        return None
    try:
        return InstructionCycles(instruction_cycles(model, read_disassembly(disassemble(elf, board.core))), model.taken_cycles)
    except MissingTool:
        return None
