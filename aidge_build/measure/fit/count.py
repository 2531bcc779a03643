# SPDX-License-Identifier: MIT
"""The instructions and cycles of an inference, counted on the emulated core."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board, Region, list_boards
from aidge_build.measure.fit.firmware import roomy
from aidge_build.measure.fit.sharing import board_of, start_up_of
from aidge_build.plan.program import Program
from aidge_build.prove.timing.estimate import Cycles
from aidge_build.run.emulate import Counted, RunResult, run_program
from aidge_build.run.emulate.estimate import program_timing
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import random_vectors

_ROOM = 1 << 20  # bytes of a memory in which programs are counted, at least
_GRID = 1 << 16  # addresses keep their place in every cache that is no larger


@dataclass(frozen=True)
class Count:
    """Instructions of one inference, for one seeded random input; None: not counted, and why. `cycles` are estimated; None if
    that is impossible."""

    instructions: int | None
    reason: str = ""
    cycles: Cycles | None = None


class Counter:
    """Runs a program on the core of a board, once for all boards that read their flash alike. The executed instructions depend on
    no memory: if the emulator takes any memories, they are as large as needed."""

    def __init__(self, program: Program, board: Board, folder: Path):
        self._program, self._board, self._folder = program, board, folder
        self._elf: Path | None = None
        self._known: dict[tuple, Count] = {}

    def count(self, board: Board) -> Count:
        """Returns the count of an inference with the flash of `board`, a board with the same core."""
        how = {name: getattr(board, name) for name in ("flash", "flash_wait_states", "multiplier_cycles")}
        key = tuple(how.values())
        if key not in self._known:
            has_regions = bool(self._program.target.regions)
            machine = counting_twin(self._board) if has_regions else counting_board(self._board)
            self._known[key] = (
                self._counted(replace(machine, **how)) if machine else Count(None, f"no board with core {board.cpu} is emulated")
            )
        return self._known[key]

    def _counted(self, machine: Board) -> Count:
        try:
            result = self._run(machine)
        except AidgeError as error:
            return Count(None, error.what)
        if result.run_instructions is None:
            return Count(None, "the emulators' counters need a C compiler of this machine")
        return Count(result.run_instructions, cycles=result.run_cycles)

    def _run(self, machine: Board) -> RunResult:
        if self._elf is None:
            vectors = random_vectors(self._program.view, 1, seed=0)
            execution = execute(self._program, machine, vectors, self._folder, estimates=True)
            self._elf = execution.elf
            return execution.result
        symbol, timing = f"{self._program.name}_run", program_timing(self._elf, machine)
        return run_program(self._elf, machine, work_folder=self._folder, counted=Counted(symbol, timing=timing))


def counting_board(board: Board) -> Board | None:
    """Returns the core of a board on an emulated board with the same code, with memories as large as needed if the emulator takes
    any, or as `counting_twin` does; None if no emulator has such a core."""
    found = _emulated(board)
    if found is None or found.emulator is None:
        return counting_twin(_with_room(board))
    machine = replace(found, core=board.core)
    return roomy(machine, machine.name) if found.emulator.kind == "unicorn" else machine


def counting_twin(board: Board) -> Board | None:
    """Returns a board whose programs count as those of `board`: itself if it is emulated, or its memories at addresses of a
    machine of QEMU that takes the core by an option and has one memory; None if no such machine is large enough."""
    if board.emulator is not None:
        return board
    machine = next((one for one in map(_built_in, list_boards()) if _takes(one, board)), None)
    if machine is None:
        return None
    first, places = min(region.origin for region in machine.regions), dict[str, Region]()
    for region in sorted(board.regions, key=lambda region: "vectors" not in region.roles):  # the core begins at the first address
        places[region.name] = replace(region, origin=first)
        first += -(-region.length_bytes // _GRID) * _GRID
    arena = tuple(places[region.name] for region in board.arena_regions)
    return replace(board, emulator=machine.emulator, regions=tuple(places.values()), arena_regions=arena)


def _with_room(board: Board) -> Board:
    """The board with memories that hold more programs: the counts do not depend on their lengths."""
    return replace(board, regions=tuple(replace(one, length_bytes=max(one.length_bytes, _ROOM)) for one in board.regions))


def _takes(machine: Board, board: Board) -> bool:
    """Whether a machine can have the core of a board, and its memories one after the other."""
    if machine.emulator is None or not board.core.qemu_flags or machine.core.qemu != board.core.qemu:
        return False
    ordered = sorted(machine.regions, key=lambda region: region.origin)
    is_one = all(lower.end == upper.origin for lower, upper in zip(ordered, ordered[1:]))
    wanted = sum(-(-region.length_bytes // _GRID) * _GRID for region in board.regions)
    return is_one and wanted <= ordered[-1].end - ordered[0].origin


def _built_in(name: str) -> Board:
    return board_of(name, None)


def _emulated(board: Board) -> Board | None:
    """The board, or one for which the compiler makes the same code, with the same start-up code, that an emulator knows."""
    if board.emulator is not None:
        return board
    others = map(_built_in, list_boards())
    return next((one for one in others if one.emulator is not None and _code_of(one) == _code_of(board)), None)


def _code_of(board: Board) -> list:
    return [list(board.compiler_flags), sorted(board.features), list(board.libs), *start_up_of(board)]
