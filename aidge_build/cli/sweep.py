# SPDX-License-Identifier: MIT
"""The verb `sweep`: models x boards x options into one file and a page; what is known is not asked again."""

from __future__ import annotations

import argparse
import os
import re
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.options import BOARD_PATH, MODEL, add_options, also_called, options_named
from aidge_build.base.output import write_files
from aidge_build.base.terminal import print_notes
from aidge_build.boards import list_boards, load_board
from aidge_build.cli.outcome import Outcome
from aidge_build.measure.fit.parallel import cores
from aidge_build.measure.sweep.course import WHOLE, Course, Share
from aidge_build.measure.sweep.matrix import Matrix, matrix_of, read_matrix
from aidge_build.measure.sweep.on_dask import OnDask
from aidge_build.measure.sweep.page import sweep_page
from aidge_build.measure.sweep.processes import Processes
from aidge_build.measure.sweep.store import Store, opened
from aidge_build.measure.sweep.summary import counted, lines
from aidge_build.measure.sweep.tasks import Alone, Crew
from aidge_build.measure.sweep.variants import Variant, read_variants
from aidge_build.run.toolchain.other_compiler import COMPILER_VARIABLE

EXAMPLES = (
    ("fit --sweep matrix.toml --html sweep.html", "all points of a matrix; the same command goes on after an interruption"),
    ("fit --sweep a.onnx b.onnx --board stm32f4,rp2040 --vary optimize=speed,size", "two models on two boards in two ways"),
    ("fit --sweep matrix.toml --scheduler tcp://10.0.0.1:8786", "on the workers of a Dask cluster"),
)
COMMON = ("board", "vary", "build", "measure", "out", "html", "jobs", "scheduler", "part", "answers", "prune")
_WHERE = "the command line"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a matrix (.toml, as docs/sweep.md says), models, or both")
    parser.add_argument(
        "--board", dest="boards", metavar="A,B", help="boards, instead of the matrix's (default: all that have memories)"
    )
    also_called(parser, "--board", "--boards")
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="OPTION=A,B",
        help="further axis: an option of a model, and its values (repeat; default: none)",
    )
    parser.add_argument(
        "--build",
        action="store_true",
        help="link each program for its board, to know image and stack (default: estimate the image, no stack)",
    )
    parser.add_argument(
        "--measure", action="store_true", help="count the instructions on the emulated cores (default: predict them)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("sweep.sqlite"), metavar="F.sqlite", help="file of the answers (default: sweep.sqlite)"
    )
    parser.add_argument(
        "--html", type=Path, metavar="F.html", help="page to write, too, with a picture, filters and a table (default: none)"
    )
    add_workers(parser)
    parser.add_argument(
        "--part",
        default="1/1",
        metavar="K/N",
        help="part of the answers, so that N machines share the work (default: all of them)",
    )
    parser.add_argument(
        "--answers",
        action="append",
        default=[],
        type=Path,
        metavar="F.sqlite",
        help="file with answers to take (repeat; default: none)",
    )
    parser.add_argument("--prune", action="store_true", help="forget answers that this matrix does not use (default: keep them)")
    add_options(parser, [*options_named(MODEL, "kernel-path"), BOARD_PATH])


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say who does the work; `crew_of` reads them."""
    workers = parser.add_mutually_exclusive_group()
    workers.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: one for each core)")
    workers.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of a Dask scheduler: its workers compute, e.g. tcp://10.0.0.1:8786 (default: processes of this machine)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    require_known_compiler()
    variants, share = variants_of(arguments), _share(arguments.part)
    with opened(arguments.out) as store, closing(crew_of(arguments)) as crew:
        course = Course(store, crew, share)
        try:
            for path in arguments.answers:
                with opened(path, is_new=False) as other:
                    store.add(other.all_answers())
            course.run(variants)
        except KeyboardInterrupt:
            print_notes([f"{arguments.out} keeps all answers that came: the same command goes on from there"])
            raise
        if arguments.prune:
            store.keep_only(course.used)
        return _outcome(arguments, store, course)


def require_known_compiler() -> None:
    """Raises AidgeError (USAGE) for a compiler of the user's choice: stored answers could come from another compiler."""
    if os.environ.get(COMPILER_VARIABLE):
        raise AidgeError(
            "a sweep keeps its answers, and cannot tell when this compiler changes",
            where=COMPILER_VARIABLE,
            code="USAGE",
            hint="unset it",
        )


def variants_of(arguments: argparse.Namespace) -> tuple[Variant, ...]:
    """Everything that is to be answered."""
    matrix = _matrix(arguments)
    boards = matrix.boards or _boards_with_memories(arguments)
    return read_variants(matrix, boards, arguments.board_path, arguments.kernel_path)


def _outcome(arguments: argparse.Namespace, store: Store, course: Course) -> Outcome:
    rows, content = store.rows(), store.content()
    if arguments.html:
        write_files({arguments.html: sweep_page(rows).encode()})
    failed = [f"FAILED: {error}" for error in course.failed]
    asked = f"{course.asked:,} tasks were done, {course.reused:,} answers were there"
    text = [*lines(rows), *failed, f"{arguments.out}: {counted(rows)}; {asked}; content {content[:16]}"]
    data = {
        "file": str(arguments.out),
        "content": content,
        "tasks": course.asked,
        "reused": course.reused,
        "failed": [error.as_json() for error in course.failed],
        "points": [asdict(row) for row in rows],
    }
    return Outcome(text, data, course.failed[0].exit_code if course.failed else 0)


def _matrix(arguments: argparse.Namespace) -> Matrix:
    """Returns the settings of the matrix; the command line overrides them."""
    tables = [name for name in arguments.files if name.endswith(".toml")]
    if len(tables) > 1:
        raise AidgeError("is a second matrix file", where=tables[1], code="USAGE", hint="name one matrix file, and models")
    settings = read_matrix(Path(tables[0])) if tables else {}
    settings["models"] = [*settings.get("models", ()), *({"file": name} for name in arguments.files if name not in tables)]
    if arguments.boards:
        settings["boards"] = arguments.boards.split(",")
    if arguments.vary:
        settings["vary"] = {**settings.get("vary", {}), **dict(map(_axis, arguments.vary))}
    settings |= {name: True for name in ("build", "measure") if getattr(arguments, name)}
    return matrix_of(settings, tables[0] if tables else _WHERE)


def _axis(text: str) -> tuple[str, list[str]]:
    option, _, values = text.partition("=")
    if not option or not values:
        raise AidgeError(f"wants OPTION=A,B, got {text!r}", where="--vary", code="USAGE", hint="--vary optimize=speed,size")
    return option, values.split(",")


def _share(text: str) -> Share:
    found = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", text)
    if found is None or int(found[1]) > int(found[2]):
        raise AidgeError(f"'{text}' is not K/N", where="--part", code="USAGE", hint="2/4 is the second of four")
    return (int(found[1]), int(found[2])) if text != "1/1" else WHOLE


def _boards_with_memories(arguments: argparse.Namespace) -> tuple[str, ...]:
    names = list_boards(arguments.board_path)
    return tuple(name for name in names if load_board(name, arguments.board_path).regions)


def crew_of(arguments: argparse.Namespace) -> Crew:
    """Returns the workers that the options name: this process, several processes, or a Dask scheduler."""
    if arguments.scheduler:
        return OnDask(arguments.scheduler)
    jobs = cores() if arguments.jobs is None else arguments.jobs
    if jobs < 1:
        raise AidgeError(f"wants a positive number, got {jobs}", where="--jobs", code="USAGE")
    return Alone() if jobs == 1 else Processes(jobs)
