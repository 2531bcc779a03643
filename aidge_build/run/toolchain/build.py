# SPDX-License-Identifier: MIT
"""Compiles C sources and links them to a program for a board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import remove_file
from aidge_build.boards import Board
from aidge_build.run.toolchain.compiler import Compiler, find_compiler
from aidge_build.run.toolchain.link_script import write_link_script
from aidge_build.run.toolchain.other_compiler import LINK_FLAGS


def build_program(
    board: Board,
    sources: Sequence[Path],
    output: Path,
    *,
    work_folder: Path,
    include_folders: Sequence[Path] = (),
    extra_flags: Sequence[str] = (),
    defines: Sequence[str] = (),
) -> Path:
    """Compiles `sources` with the board's flags, links them with its start-up code and linker script, returns `output`.

    `extra_flags` come after the board's and go to the compiler and to the linker (`-O3`, `-flto`, `-Wl,...`); `defines` are
    `NAME` or `NAME=VALUE`. Objects and the linker script go to `work_folder`; `.incbin` searches the folder of the source. Raises
    MissingTool, or AidgeError with gcc's first error line. For a memory that overflows the error gives the missing bytes, for a
    header that does not belong to the linked model it names both.
    """
    objects = compile_sources(
        board, sources, work_folder=work_folder, include_folders=include_folders, extra_flags=extra_flags, defines=defines
    )
    return link_objects(board, sources, objects, output, work_folder=work_folder, extra_flags=extra_flags)


def compile_sources(
    board: Board,
    sources: Sequence[Path],
    *,
    work_folder: Path,
    include_folders: Sequence[Path] = (),
    extra_flags: Sequence[str] = (),
    defines: Sequence[str] = (),
) -> list[Path]:
    """The objects of `sources` and of the board's start-up code in `work_folder`; parameters and errors as in `build_program`."""
    compiler = find_compiler(board)
    work_folder.mkdir(parents=True, exist_ok=True)
    folders = [*include_folders, *map(Path, board.include_folders)]
    flags = [*board.compiler_flags, *extra_flags]
    options = [f"-I{folder}" for folder in folders] + [f"-D{define}" for define in defines]
    objects = []
    for index, source in enumerate([*map(Path, sources), *map(Path, board.sources)]):
        objects.append(work_folder / f"{index}_{source.stem}.o")
        _compile(compiler, source, objects[-1], [*flags, *options])
    return objects


def link_objects(
    board: Board,
    sources: Sequence[Path],
    objects: Sequence[Path],
    output: Path,
    *,
    work_folder: Path,
    extra_flags: Sequence[str] = (),
) -> Path:
    """The program of `objects`, which were compiled of `sources` for this board or for one with the same flags and sources."""
    flags = [*board.compiler_flags, *extra_flags]
    _link(find_compiler(board), board, sources, objects, output, flags, work_folder)
    return output


def build_shared_library(compiler: Compiler, source: Path, output: Path, include_folder: Path) -> Path:
    """Compiles one C file to a shared library for this machine."""
    arguments = ["-O2", "-shared", "-fPIC", f"-I{include_folder}", "-o", str(output), str(source)]
    compiler.run([compiler.c, *arguments], where=str(source))
    return output


def _compile(compiler: Compiler, source: Path, output: Path, flags: Sequence[str]) -> None:
    # The folder of a generated source is searched for relative includes and .incbin.
    where = [f"-Wa,-I{source.parent}"] if source.parent != Path() else []
    compiler.run([*compiler.compiling(source, flags), *where, "-c", str(source), "-o", str(output)], where=str(source))


def _link(
    compiler: Compiler,
    board: Board,
    sources: Sequence[Path],
    objects: Sequence[Path],
    output: Path,
    flags: Sequence[str],
    work_folder: Path,
) -> None:
    script = []
    if board.link_script:
        path = work_folder / f"{board.name}.ld"
        write_link_script(board, path)
        script = ["-T", str(path)]
    output.parent.mkdir(parents=True, exist_ok=True)
    remove_file(output)
    driver = compiler.driver([Path(source) for source in sources])
    beside = LINK_FLAGS if compiler.chosen else ()
    command = [driver, *flags, *map(str, objects), *board.link_flags, *beside, *script, "-lm", "-o", str(output)]
    try:
        compiler.run(command, where=str(output))
    except AidgeError as error:
        remove_file(output)
        if error.code in ("LINK_OVERFLOW", "LINK_HEADER"):
            from aidge_build.run.toolchain.failed_link import as_error, diagnose  # with the room of reports

            raise as_error(diagnose(command), str(output)) from None
        raise
