# SPDX-License-Identifier: MIT
"""The smallest firmware with a model: compiled once for a core, linked for boards with memories that are large enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from aidge_build.base.output import write_sources
from aidge_build.base.render import render
from aidge_build.boards import Board, Region
from aidge_build.build.emit import emit
from aidge_build.measure.fit.evaluation import MemoryUse
from aidge_build.measure.fit.loop import loop_of
from aidge_build.measure.fit.sharing import start_up_of
from aidge_build.plan.program import Program
from aidge_build.prove.elf import Image, read_image, region_use
from aidge_build.run.toolchain import compile_sources, link_objects
from aidge_build.run.toolchain.program_stack import program_stack
from aidge_build.run.verify.calling import calling_of

_SPACE_BYTES = 1 << 26  # between the memories of a roomy board, and the length of each: more than any program here
_FIRST = 1 << 26  # not 0: some cores address their first bytes with shorter instructions


class StartUps:
    """The objects of the start-up code, made in `folder`: one set for all boards with the core of `board`, and for every program.
    Other boards use the files of `board`, or their own if these differ and are there."""

    def __init__(self, board: Board, folder: Path):
        self.board, self._folder = board, folder
        self._objects: dict[tuple[str, ...], list[Path]] = {}

    def placed(self, board: Board) -> Board:
        """The board with files of start-up code that are there."""
        like = self._like(board)
        return replace(board, sources=like.sources, link_script=like.link_script)

    def objects(self, board: Board) -> list[Path]:
        """Returns the objects; compiles them at the first call. Errors as of `build_program`."""
        like = replace(self._like(board), name=self.board.name)
        if like.sources not in self._objects:
            self._objects[like.sources] = compile_sources(like, [], work_folder=self._folder / str(len(self._objects)))
        return self._objects[like.sources]

    def _like(self, board: Board) -> Board:
        return self.board if start_up_of(board) == start_up_of(self.board) else board


class Firmware:
    """The objects of a program and of the smallest `main` around it, made in `folder` for a board's flags."""

    def __init__(self, program: Program, board: Board, folder: Path, start_ups: StartUps):
        self.program, self._board, self._folder, self._start_ups = program, board, folder, start_ups
        write_sources(emit(program), folder)
        main = folder / "main.c"
        template = files(__package__).joinpath("main.c.j2").read_text()
        buffers, calls = loop_of(program)
        main.write_text(render(template, name=program.name, call=calling_of(program), buffers=buffers, calls=calls))
        self._sources = [folder / program.code_file, folder / f"{program.name}_weights.c", main]
        self._objects: list[Path] = []
        self._with_room: dict[tuple, tuple[int, ...]] = {}

    def link(self, board: Board) -> Path:
        """Links the program for a board with the same flags; TooLarge if the linker says so."""
        if not self._objects:
            alone = replace(self._board, sources=())
            folders = [self._folder, *map(Path, self._board.include_folders)]
            self._objects = compile_sources(
                alone,
                self._sources,
                work_folder=self._folder / "objects",
                include_folders=folders,
                extra_flags=self.program.compiler_flags,
            )
        objects = [*self._objects, *self._start_ups.objects(board)]
        output = self._folder / f"{board.name}.elf"
        return link_objects(self._start_ups.placed(board), self._sources, objects, output, work_folder=self._folder)

    def used(self, board: Board) -> tuple[MemoryUse, ...]:
        """Returns the bytes that the program uses in each memory of the board, as linked for it."""
        return _used(self.link(board), board.regions)

    def used_with_room(self, board: Board) -> tuple[int, ...]:
        """Returns the bytes in each memory of the board, in its order, as if none were too small. The program's own arena, if no
        memory was chosen for it, is counted in the memory for data."""
        placed = self._start_ups.placed(board)
        shape = (placed.sources, placed.link_script, *structure(board, with_names=bool(self.program.target.regions)))
        if shape not in self._with_room:
            large = roomy(board, f"room{len(self._with_room)}")
            self._with_room[shape] = tuple(use.used_bytes for use in _used(self.link(large), large.regions))
        return self._with_room[shape]

    def stack_bytes(self, board: Board) -> int | None:
        """Returns the proved bound of an inference in the program of the board; None if there is none."""
        image = read_image(self._folder / f"{board.name}.elf")
        entries = _entries(image, self.program.name)
        use = program_stack(image, board.core, entries)
        if use is None:
            return None
        bounds = [use.runs[entry].bytes if entry in use.runs else None for entry in entries]
        return max((bound for bound in bounds if bound is not None), default=None) if None not in bounds else None


def _entries(image: Image, name: str) -> tuple[str, ...]:
    """Returns the functions of an inference that the loop calls: N_run, or the functions for a row at a time."""
    wanted = (f"{name}_run", f"{name}_begin", f"{name}_end", f"{name}_push_", f"{name}_pull_")
    found = {symbol.name for symbol in image.symbols if symbol.kind == "function"}
    return tuple(sorted(each for each in found if each in wanted[:3] or each.startswith(wanted[3:])))


def roomy(board: Board, name: str) -> Board:
    """Returns the board with the same memories, each so large that every program fits, at addresses far from each other."""
    large = {
        region.name: replace(region, origin=_FIRST + 2 * number * _SPACE_BYTES, length_bytes=_SPACE_BYTES)
        for number, region in enumerate(board.regions)
    }
    arena = tuple(large[region.name] for region in board.arena_regions)
    return replace(board, name=name, regions=tuple(large.values()), arena_regions=arena)


def structure(board: Board, *, with_names: bool) -> tuple:
    """Returns the properties of a board's memories that a link depends on if they are large enough; with names if the program
    uses them."""
    regions = ((region.name if with_names else "", region.kind, region.roles, region.clock) for region in board.regions)
    return (*regions, board.stack_bytes)


def _used(elf: Path, regions: Sequence[Region]) -> tuple[MemoryUse, ...]:
    uses, _ = region_use(read_image(elf), regions)
    return tuple(MemoryUse(use.region.name, use.region.kind, use.used_bytes, use.region.length_bytes) for use in uses)
