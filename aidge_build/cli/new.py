# SPDX-License-Identifier: MIT
"""`aidge-build new`: a starter project that builds and runs at once."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import example_model
from aidge_build.base.naming import comment_text, counted, model_name_of
from aidge_build.base.npz import read_npz
from aidge_build.base.output import write_files
from aidge_build.base.reading import read_regular
from aidge_build.base.zoo import of_model
from aidge_build.boards import Board, load_board
from aidge_build.boards.cores import THUMB
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.emit.template import render_file
from aidge_build.build.inputs import LARGEST_MODEL_BYTES, add_model_arguments, load
from aidge_build.cli.boards import add_board_path
from aidge_build.cli.new_sample import Sample, sample_of
from aidge_build.cli.outcome import Outcome
from aidge_build.graph.dtype import DType
from aidge_build.plan.program import Program
from aidge_build.run.toolchain import render_link_script

EXAMPLES = (
    ("new demo --board stm32f7", "a project for SCons, with a model that reads digits"),
    ("new demo --board stm32f4 --model zoo:keyword", "with a model of `aidge-build list zoo`, and a sample with its result"),
    ("new demo --build cmake --board host --model kws.onnx", "for CMake, with your model"),
)

# File of the project -> its template.
_COMMON = {
    "src/main.c": "main.c",
    ".vscode/launch.json": "launch.json",
    ".vscode/tasks.json": "tasks.json",
    "README.md": "README.md",
}
_BUILD = {
    "scons": {"SConstruct": "SConstruct"},
    "cmake": {"CMakeLists.txt": "CMakeLists.txt", "CMakePresets.json": "CMakePresets.json"},
}
_IGNORED = "build/\n.sconsign.dblite\ncompile_commands.json\n__pycache__/\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="NAME", help="folder to make; the program gets its name")
    parser.add_argument("--build", default="scons", choices=tuple(_BUILD), help="build system of the project (default: scons)")
    parser.add_argument(
        "--board", default="host", metavar="B", help="board, a name of `aidge-build list boards` (default: host, this machine)"
    )
    parser.add_argument(
        "--model",
        type=Path,
        metavar="FILE",
        help="model of the project, also zoo:NAME of `aidge-build list zoo` (default: one that reads handwritten digits)",
    )
    parser.add_argument(
        "--samples",
        type=Path,
        metavar="F.npz",
        help="inputs (x, or x_<input>): main.c runs the first and compares (default: samples of a zoo model, else zeros)",
    )
    add_board_path(parser)


def run(arguments: argparse.Namespace) -> Outcome:
    folder = arguments.folder
    project = folder.resolve().name
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", project):
        raise AidgeError("is not a program name: use letters, digits, - and _", where=str(folder), code="USAGE")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AidgeError("exists already, and is not an empty folder", where=str(folder), code="USAGE", hint="name a new folder")
    board = load_board(arguments.board, arguments.board_path)
    model, seen = arguments.model or example_model(), _seen_from(folder, arguments.board_path)
    found = of_model(model) if arguments.model and not arguments.samples else None
    samples = arguments.samples or (found.samples if found else None)
    files = project_files(project, arguments.build, board, model, samples, arguments.board_path, seen)
    write_files({folder / name: content for name, content in files.items()})
    name = arguments.board
    runs = board.emulator is not None
    cmake = f"cmake --preset {name} && cmake --build build{' --target run' if runs else ''}"
    command = {"scons": "scons run" if runs else "scons", "cmake": cmake}
    done = f"{folder}: {counted(len(files), 'file')}. Now: cd {folder} && {command[arguments.build]}"
    return Outcome([done], {"files": sorted(files)})


def _seen_from(project: Path, folders: list[Path]) -> list[str]:
    """The user's folders of boards as the project names them: a path that holds as long as both move together."""
    seen = [os.path.relpath(folder.resolve(), project.resolve()) for folder in folders]
    unfit = next((folder for folder in seen if re.search(r"[\"\\$;\s]", folder)), None)
    if unfit is not None:
        raise AidgeError(
            "no build file can name this folder",
            where=f"--board-path {unfit}",
            code="USAGE",
            hint="move it to where no space, quote, $, ; or \\ is in its path",
        )
    return [Path(folder).as_posix() for folder in seen]


def project_files(
    project: str, build: str, board: Board, model: Path, samples: Path | None, board_path: list[Path], seen: list[str]
) -> dict[str, bytes]:
    """Path in the project -> content; `seen` are the folders of boards as the project names them."""
    files = {"models/" + model.name: read_regular(model, LARGEST_MODEL_BYTES), ".gitignore": _IGNORED.encode()}
    for path in board.files:
        if path in board.sources or path.endswith(".h"):
            files["board/" + Path(path).name] = board.files[path]
    if not board.is_host:
        files["board/link.ld"] = render_link_script(board).encode()
    templates = {**_COMMON, **_BUILD[build]}
    if build == "cmake" and not board.is_host:
        templates["cmake/toolchain.cmake"] = "toolchain.cmake"
    if samples is not None:
        templates["src/sample.h"] = "sample.h"
    values = {**_values(project, build, board, model, samples, board_path), "board_path": seen}
    for path, name in templates.items():
        files[path] = render_file(f"new/{name}", **values).encode()
    return files


def _values(
    project: str, build: str, board: Board, model: Path, samples: Path | None, board_path: list[Path]
) -> dict[str, object]:
    """Returns the values that the templates use."""
    name = model_name_of(model)
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    where = [f"--board={board.name}", *(f"--board-path={folder}" for folder in board_path)]
    program = build_program(load(parser.parse_args([*where, "--", str(model)]), name))
    manifest = emit(program).manifest
    return {
        "project": project,
        "build": build,
        "name": name,
        "model": model.name,
        "board": board.name,
        "title": board.title,
        "cpu": board.cpu,
        "host": board.is_host,
        "runs": board.emulator is not None,
        "is_cortex_m": board.core.stack == THUMB,
        "compiler": "cc" if board.is_host else board.core.prefix + "gcc",
        "flags": list(board.compiler_flags),
        "link_flags": [*board.link_flags, *([] if board.is_host else ["-T", "board/link.ld"])],
        "qemu": board.emulator.machine if board.emulator and board.emulator.kind == "qemu" else "",
        "sample": _sample(program, samples) if samples is not None else None,
        "samples": comment_text(samples.name) if samples is not None else "",
        "inputs": [_port(port) for port in manifest["inputs"]],
        "outputs": [_port(port) for port in manifest["outputs"]],
    }


def _sample(program: Program, path: Path) -> Sample:
    try:
        return sample_of(program, read_npz(path))
    except AidgeError as error:
        raise error.within(str(path))


def _port(port: dict) -> dict[str, object]:
    dtype = DType(port["dtype"])
    about = f"{'x'.join(map(str, port['dims']))} {dtype.name}"
    if port.get("scale"):
        about += f": real value = (element - {port['zero_point']}) * {port['scale']:.9g}"
    return {"symbol": port["symbol"], "macro": port["macro"], "c_type": dtype.c_type, "is_float": dtype.is_float, "about": about}
