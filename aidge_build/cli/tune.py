# SPDX-License-Identifier: MIT
"""The verb `tune`: every kernel that accepts a layer, measured on the emulated core; the table says which is faster where."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.machine import CROSS_COMPILER
from aidge_build.base.naming import counted
from aidge_build.base.options import MODEL, add_options
from aidge_build.base.output import write_files
from aidge_build.base.terminal import print_notes
from aidge_build.boards import Board, load_board
from aidge_build.cli.outcome import Outcome
from aidge_build.cli.sweep import add_workers, crew_of, require_known_compiler
from aidge_build.measure.fit.question import Question, read_question
from aidge_build.measure.sweep.store import opened
from aidge_build.measure.tune.course import Course
from aidge_build.measure.tune.table import Head, comparisons, table_text
from aidge_build.prepare.adaptation.cost import CYCLES
from aidge_build.prepare.adaptation.faster import Faster
from aidge_build.prove.timing.table import timing_of

EXAMPLES = (
    ("tune kws.onnx --board stm32f4 --out costs.toml", "then: --select cost --cost-table costs.toml"),
    ("tune *.onnx --board stm32f4 --out costs.toml --layers 5", "for other models, too: what held on at least five layers"),
)
COMMON = ("layers", "unit", "store", "jobs", "scheduler", "board", "cpu", "optimize")
UNITS = ("instructions", CYCLES)
_CHOOSING = ("select", "cost_table")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="MODEL", help="ONNX or TensorFlow Lite files")
    parser.add_argument("--out", "-o", type=Path, required=True, metavar="F.toml", help="table to write")
    parser.add_argument(
        "--layers",
        type=int,
        default=1,
        metavar="N",
        help="compare kernels for a class of shapes where so many of its layers were measured (default: 1, for these models)",
    )
    parser.add_argument(
        "--unit",
        default=UNITS[0],
        choices=UNITS,
        help="unit of the costs (default: instructions); costs in cycles are not compared layer by layer",
    )
    parser.add_argument(
        "--store",
        type=Path,
        metavar="F.sqlite",
        help="file that keeps the measurements (default: the name of --out with .sqlite)",
    )
    add_workers(parser)
    add_options(parser, [option for option in MODEL.options if option.argument not in _CHOOSING])


def run(arguments: argparse.Namespace) -> Outcome:
    require_known_compiler()
    board = _board(arguments)
    if arguments.layers < 1:
        raise AidgeError(f"wants a positive number, got {arguments.layers}", where="--layers", code="USAGE")
    questions = [_question(arguments, model) for model in dict.fromkeys(arguments.models)]
    store_path = arguments.store or arguments.out.with_suffix(".sqlite")
    with opened(store_path) as store, closing(crew_of(arguments)) as crew:
        course = Course(store, crew)
        try:
            layers = course.run(questions)
        except KeyboardInterrupt:
            print_notes([f"{store_path} keeps what was measured: the same command goes on from there"])
            raise
    if not any(layers):
        raise AidgeError("no model could be measured", tried=course.refused, where=str(arguments.models[0]), code="TUNE")
    compiler = f"{CROSS_COMPILER.name} {CROSS_COMPILER.version()}"
    head = Head(board.name, compiler, arguments.unit, tuple(board.features), arguments.optimize)
    found = [] if arguments.unit == CYCLES else comparisons(layers, arguments.layers)
    write_files({arguments.out: table_text(layers, head, arguments.layers).encode()})
    data = {
        "file": str(arguments.out),
        "quicker": [asdict(one) for one in found],
        "refused": course.refused,
        "tasks": course.asked,
        "reused": course.reused,
    }
    asked = f"{course.asked:,} tasks were done, {course.reused:,} answers were there"
    refused = [f"not measured: {reason}" for reason in course.refused]
    return Outcome([*map(_line, found), *refused, f"{arguments.out}: {counted(len(found), 'comparison')}; {asked}"], data)


def _line(one: Faster) -> str:
    where = f"{one.op} {one.types}{f', {one.shape}' if one.shape else ''}"
    ratio = f"{one.ratio:.2f} of {one.than}, {one.most:.2f} at most"
    return f"{where}: {one.library} {one.kernel} takes {ratio}, on {counted(one.layers, 'layer')}"


def _question(arguments: argparse.Namespace, model: str) -> Question:
    return read_question(argparse.Namespace(**{**vars(arguments), "model": model, "select": "library", "cost_table": None}))


def _board(arguments: argparse.Namespace) -> Board:
    if arguments.board is None:
        raise AidgeError(
            "the board that measures is missing",
            where="--board",
            code="USAGE",
            hint="add --board B; `aidge-build list boards` lists them",
        )
    board = load_board(arguments.board, arguments.board_path)
    if arguments.unit == CYCLES and timing_of(board.core) is None:
        raise AidgeError(
            "cycles of this core are not estimated", where=f"board {board.name}", hint="--unit instructions", code="TUNE"
        )
    return board
