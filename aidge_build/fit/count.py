# SPDX-License-Identifier: MIT
"""The instructions of an inference, counted on the emulated core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aidge_build.boards import Board, list_boards
from aidge_build.emulate import RunResult
from aidge_build.errors import AidgeError
from aidge_build.fit.firmware import roomy
from aidge_build.fit.sharing import board_of, core_of
from aidge_build.program import Program
from aidge_build.verify.firmware import execute
from aidge_build.verify.vectors import random_vectors


@dataclass(frozen=True)
class Count:
    """Instructions of one inference, for one seeded random input; None: not counted, and why. `cycles` are estimated, of the core
    alone and by kernel ("library kernel", and "" around the layers); None where they cannot be."""

    instructions: int | None
    reason: str = ""
    cycles: Mapping[str, float] | None = None


def count_instructions(program: Program, board: Board, folder: Path) -> Count:
    """Run the program on the core of the board. What a core executes depends on no memory: where the emulator takes any, they are
    as large as need be."""
    machine = counting_board(board, has_regions=bool(program.regions))
    if machine is None:
        return Count(None, f"no board with core {board.cpu} is emulated")
    try:
        result = execute(program, machine, random_vectors(program.view, 1, seed=0), folder, estimates=True).result
    except AidgeError as error:
        return Count(None, error.what)
    if result.run_instructions is None:
        return Count(None, "the emulators' counters need a C compiler of this machine")
    return Count(result.run_instructions, cycles=_by_kernel(program, result))


def _by_kernel(program: Program, result: RunResult) -> dict[str, float] | None:
    if result.run_cycles is None:
        return None
    found: dict[str, float] = {"": float(result.run_cycles.core)}
    for layer, count in zip(program.layers, result.layers, strict=True):
        kernel, core = f"{layer.kernel.library} {layer.kernel.name}", count.cycles.core if count.cycles else 0
        found[kernel] = found.get(kernel, 0.0) + core
        found[""] -= core
    return found


def counting_board(board: Board, has_regions: bool = False) -> Board | None:
    """A board with the same core that is emulated, and with memories as large as need be where the emulator takes any and the
    program has no regions of its own; None where no such core is emulated."""
    machine = _emulated(board)
    if machine is None or machine.emulator is None:
        return None
    return roomy(machine, machine.name) if machine.emulator.kind == "unicorn" and not has_regions else machine


def _emulated(board: Board) -> Board | None:
    """The board, or one with the same core, flags and start-up code that an emulator knows."""
    if board.emulator is not None:
        return board
    others = (board_of(name, None) for name in list_boards())
    return next((one for one in others if one.emulator is not None and core_of(one) == core_of(board)), None)
