# SPDX-License-Identifier: MIT
"""Runs a linked program: natively, in Unicorn on the board's true memory map, or in QEMU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board
from aidge_build.prove.elf.image import Symbol, read_image
from aidge_build.prove.timing.estimate import Timing
from aidge_build.run.emulate.program import (
    INSTRUCTION_LIMIT,
    NO_ADDRESS,
    NO_STOPS,
    End,
    LayerCount,
    Program,
    RunResult,
    Steps,
    Stops,
)

__all__ = ["End", "LayerCount", "RunResult", "Steps", "Stops", "run_program"]


def run_program(
    elf: Path,
    board: Board,
    *,
    work_folder: Path,
    arguments: Sequence[str] = (),
    count: bool = True,
    run_symbol: str = "",
    layer_symbols: Sequence[str] = (),
    emulator: str = "",
    instruction_limit: int = INSTRUCTION_LIMIT,
    watched_symbols: Sequence[str] = (),
    timing: Timing | None = None,
    step_symbol: str = "",
    stops: Stops | None = None,
    answers_peripherals: bool = False,
    dumped: tuple[Symbol, ...] = (),
) -> RunResult:
    """Runs `elf` until it exits and says what it did.

    The program sees the command line "stem arguments..." and, by semihosting, the files of `work_folder` (Unicorn refuses
    others; QEMU serves files itself and does not). `count` asks for exact instruction counts: of the program, of all calls of
    `run_symbol` together, and of each of `layer_symbols` within them; of the calls of `step_symbol`, the longest.
    `watched_symbols` are variables (arenas): how many of their bytes the runs wrote. `timing`
    asks for an estimate of cycles.
    `stops` says what ends a program that does not end by itself; with it, one that is interrupted or goes on for ever is a result
    (`RunResult.ended`) and no error.
    `answers_peripherals`: registers of peripherals, which Unicorn has none of, hold what is written (emulate/peripherals.py).
    `dumped` are variables in memories of the board, whose bytes after the run are in the result (Unicorn).
    `emulator` overrides the board's ("unicorn" or "qemu", for a second opinion).

    Raises CheckFailed (RUN) when the program leaves the board's memories, faults, or does not end within `instruction_limit`;
    MissingTool when the emulator is not installed.
    """
    kind = emulator or (board.emulator.kind if board.emulator else "")
    words = (elf.stem, *arguments)
    program = Program(
        read_image(elf),
        board,
        work_folder.resolve(),
        words,
        count,
        run_symbol,
        tuple(layer_symbols),
        (stops.instructions if stops else 0) or instruction_limit,
        tuple(watched_symbols),
        timing,
        step_symbol,
        stops or NO_STOPS,
        stops is not None,
        answers_peripherals,
        dumped,
    )
    if program.stops.until and program.until_address == NO_ADDRESS:
        raise AidgeError(
            f"the program has no symbol {program.stops.until}",
            where=str(elf),
            hint="nm lists the names; the linker removes unused functions, and the compiler may inline others into callers",
            code="USAGE",
        )
    if board.is_host:
        from aidge_build.run.emulate.native import run_natively

        return run_natively(program)
    if kind == "unicorn":
        from aidge_build.run.emulate.unicorn_machine import run_in_unicorn

        return run_in_unicorn(program)
    if kind == "qemu":
        from aidge_build.run.emulate.qemu import run_in_qemu

        return run_in_qemu(program)
    raise AidgeError(
        "no emulator is named for it", where=f"board {board.name}", code="RUN", hint="key 'emulator' of the board file"
    )
