# SPDX-License-Identifier: MIT
"""Runs a linked program: natively, in Unicorn on the board's true memory map, or in QEMU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board, list_boards, load_board
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate.program import (
    NO_ADDRESS,
    Counted,
    End,
    Firmware,
    LayerCount,
    Program,
    RunResult,
    Steps,
    Stops,
)

__all__ = ["Counted", "End", "Firmware", "LayerCount", "RunResult", "Steps", "Stops", "run_program"]

WHOLE = Counted()  # the program alone


def run_program(
    elf: Path,
    board: Board,
    *,
    work_folder: Path,
    arguments: Sequence[str] = (),
    count: bool = True,
    counted: Counted = WHOLE,
    emulator: str = "",
    firmware: Firmware | None = None,
) -> RunResult:
    """Runs `elf` until it exits, and returns the result.

    The program sees the command line "stem arguments..." and, by semihosting, the files of `work_folder` (Unicorn refuses others;
    QEMU serves files itself and does not). `count` asks for exact counts of `counted`; `firmware` gives the end of a program that
    does not end by itself. `emulator` overrides the board's ("unicorn" or "qemu", for a second opinion).

    Raises CheckFailed (RUN) when the program leaves the board's memories, faults, or does not end within the limit; MissingTool
    when the emulator is not installed.
    """
    how = firmware or Firmware()
    program = Program(
        read_image(elf),
        board,
        work_folder.resolve(),
        (elf.stem, *arguments),
        count,
        counted.run_symbol,
        tuple(counted.layer_symbols),
        how.stops.instructions or counted.limit,
        tuple(counted.watched_symbols),
        counted.timing,
        counted.step_symbol,
        how.stops,
        firmware is not None,
        how.answers_peripherals,
        how.dumped,
        how.passed,
    )
    if program.stops.until and program.until_address == NO_ADDRESS:
        raise AidgeError(
            f"the program has no symbol {program.stops.until}",
            where=str(elf),
            hint="nm lists the names; the linker removes unused functions, and the compiler may inline others into callers",
            code="USAGE",
        )
    kind = emulator or (board.emulator.kind if board.emulator else "")
    if board.is_host:
        from aidge_build.run.emulate.native import run_natively

        return run_natively(program)
    if kind == "unicorn":
        from aidge_build.run.emulate.unicorn_machine import run_in_unicorn

        return run_in_unicorn(program)
    if kind == "qemu":
        from aidge_build.run.emulate.qemu import run_in_qemu

        return run_in_qemu(program)
    raise no_emulator(board)


def no_emulator(board: Board) -> AidgeError:
    """Returns the refusal of a board that no emulator runs."""
    emulated = [other for other in map(load_board, list_boards()) if other.emulator and other.core.name == board.core.name]
    same = f"; emulated boards with this core: {', '.join(other.name for other in emulated)}" if emulated else ""
    hint = f"key 'emulator' of the board file{same}"
    return AidgeError("no emulator is named for it", where=f"board {board.name}", code="RUN", hint=hint)
