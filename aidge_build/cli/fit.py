# SPDX-License-Identifier: MIT
"""The verb `fit`: on which boards a model fits, what is missing on the others, and how fast it is."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError
from aidge_build.base.options import BOARD_PATH, MODEL, add_options, also_called, typed_again
from aidge_build.base.output import write_files
from aidge_build.base.terminal import counting, table
from aidge_build.boards import Board, list_boards, load_board
from aidge_build.build.inputs import read_model_file
from aidge_build.build.option_values import of_chip
from aidge_build.cli.boards import board_row
from aidge_build.cli.outcome import Outcome
from aidge_build.measure.fit.answer_table import UNVERIFIED, lines_of, unverified_line
from aidge_build.measure.fit.budget import Budget, Row, budget_of, sorted_rows
from aidge_build.measure.fit.cache import Cache, cache_folder
from aidge_build.measure.fit.evaluation import REFUSED, Evaluation
from aidge_build.measure.fit.parallel import answers_of
from aidge_build.measure.fit.question import Question, read_questions
from aidge_build.measure.report.fit_page import fit_page
from aidge_build.plan.arena_regions import NO_ROOM
from aidge_build.prepare.quantization.prepare import is_float
from aidge_build.sources.formats import format_of
from aidge_build.sources.onnx_format import read_model

EXAMPLES = (
    ("fit kws.onnx", "on all boards"),
    ("fit kws.onnx person.tflite --board stm32f4,rp2040 --build", "two models, linked for two boards"),
    ("fit kws.onnx --budget ram=32K,flash=128K --html fit.html", "within a budget, as a page"),
    ("fit", "the boards"),
)
# Options that need less of a memory: docs/howto-shrink.md says what each costs.
_LESS = {
    "ram": (("io", "arena"), ("input", "rows"), ("output", "rows")),
    "flash": (("optimize", "size"),),
}
_NAMES = {"ram": "RAM", "flash": "flash"}
_TARGET = ("board", "cpu", "fpu")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="*", metavar="MODEL", help="ONNX or TensorFlow Lite files; none: list the boards")
    parser.add_argument("--board", dest="boards", metavar="A,B", help="boards to ask (default: all that state their memories)")
    also_called(parser, "--board", "--boards")
    parser.add_argument(
        "--budget",
        default="",
        metavar="LIMITS",
        help="limits of the whole firmware and of an inference, such as ram=64K,flash=256K,ms=50; an unknown value is over its "
        "limit "
        "(default: the memories of each board)",
    )
    parser.add_argument(
        "--build",
        action="store_true",
        help="link the program for each board, to know image and stack (default: estimate the image, no stack)",
    )
    parser.add_argument(
        "--measure", action="store_true", help="count the instructions on the emulated core (default: predict them)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="page with a picture to write, too (default: none)")
    add_options(parser, [option for option in MODEL.options if option.argument not in _TARGET])


def run(arguments: argparse.Namespace) -> Outcome:
    names = arguments.boards.split(",") if arguments.boards else list_boards(arguments.board_path)
    boards = {name: load_board(name, arguments.board_path) for name in dict.fromkeys(names)}
    if not arguments.boards:
        boards = {name: board for name, board in boards.items() if board.regions}
    budget = budget_of(arguments.budget)
    if not arguments.models:
        return _listed(list(boards.values()))
    models = list(dict.fromkeys(arguments.models))
    questions = [question for model in models for question in _questions(arguments, model, list(boards))]
    cache = Cache(cache_folder())
    answers = iter(answers_of(questions, cache, lambda: counting("FIT")))
    cache.tidy()
    found = {model: _rows(budget, [(next(answers), board) for board in boards.values()]) for model in models}
    if arguments.html:
        write_files({arguments.html: fit_page(found).encode()})
    chips = [line for name, board in boards.items() for line in of_chip(board, name)]
    return Outcome(
        [*chips, *_lines(found, arguments)],
        {"models": _data(found)},
        0 if all(map(_has_one, found.values())) else EXIT_CHECK_FAILED,
    )


def _questions(arguments: argparse.Namespace, model: str, boards: Sequence[str]) -> list[Question]:
    own = argparse.Namespace(**{**vars(arguments), "model": model, **{name: None for name in _TARGET}})
    return read_questions(own, boards, build=arguments.build, measure=arguments.measure)


def _rows(budget: Budget, found: Sequence[tuple[Evaluation, Board]]) -> list[Row]:
    """The answers with their boards; options that are wrong are so for every board, and refused as such."""
    for evaluation, _ in found:
        if evaluation.code == "USAGE":
            raise AidgeError(evaluation.reason, hint=evaluation.hint, code=evaluation.code)
    return sorted_rows([Row(evaluation, board, budget.excess(evaluation, board)) for evaluation, board in found])


def _has_one(rows: Sequence[Row]) -> bool:
    return any(row.is_kept for row in rows)


def _lines(found: dict[str, list[Row]], arguments: argparse.Namespace) -> list[str]:
    lines: list[str] = []
    for model, rows in found.items():
        lines += [*([""] if lines else []), *lines_of(model, rows)]
        if arguments.quantize is None and any(row.found.verdict != REFUSED for row in rows) and _is_float(Path(model)):
            lines.append("Float: the model computes in float32; --quantize samples.npz makes it int8, with less RAM and flash")
        lines += _next(model, rows, arguments)
    return lines


def _is_float(path: Path) -> bool:
    """Only of files that --quantize takes."""
    model, external = read_model_file(path)
    return format_of(model).is_quantizable and is_float(read_model(model, str(path), external))


def _next(model: str, rows: Sequence[Row], arguments: argparse.Namespace) -> list[str]:
    """Returns the lines that say what to type next."""
    short = {
        kind: [row for row in rows if any(one.kind == kind and one.name in dict(row.found.missing) for one in row.board.regions)]
        for kind in _LESS
    }
    lines = [_less(kind, lacking, arguments) for kind, lacking in short.items() if lacking]
    first = rows[0]
    if not first.is_kept:
        return lines
    return [*lines, f"Next: aidge-build {_again(shlex.quote(model), first.board.name, arguments)}"]


def _again(model: str, board: str, arguments: argparse.Namespace) -> str:
    """The command that goes on from a model that fits a board, with the options that the answer depends on."""
    options = typed_again(arguments, [option for option in MODEL.options if option.argument not in _TARGET])
    if not (arguments.build and arguments.measure):
        budget = f" --budget {shlex.quote(arguments.budget)}" if arguments.budget else ""
        return f"fit {model} --board {board}{options}{budget} --build --measure"
    folders = typed_again(arguments, [BOARD_PATH])
    if options == folders:
        return f"new DIR --board {board} --model {model}{folders}"
    # A starter project takes the model at the options' defaults.
    return f"compile {model} --board {board}{options} --out generated"


def _less(kind: str, rows: Sequence[Row], arguments: argparse.Namespace) -> str:
    """Returns what to try if a memory of this kind is too small: the options that are not on. If no plan fits the memories,
    layers were computed row by row already."""
    by_rows = (
        arguments.memory_model == "cascade"
        or arguments.memory_model != "plain"
        and all(row.found.code == NO_ROOM for row in rows)
    )
    left = [f"--{name} {value}" for name, value in _LESS[kind] if getattr(arguments, name) != value]
    if kind == "ram" and not by_rows:
        left.append("a smaller --ram-budget" if arguments.ram_budget else "--memory-model cascade or --ram-budget BYTES")
    if kind == "flash":
        left.append("int8 in place of float32 weights")
    if not left:
        return f"Less {_NAMES[kind]}: no option is left; a smaller model, or a board with more {_NAMES[kind]}"
    return f"Less {_NAMES[kind]}: {', '.join(left)}; no promise that it is enough (docs/howto-shrink.md)"


def _listed(boards: Sequence[Board]) -> Outcome:
    rows = [(*board_row(board), "" if board.is_verified else UNVERIFIED) for board in boards]
    lines = [*table(rows), unverified_line(), "Next: aidge-build fit MODEL says on which of them a model fits"]
    return Outcome(lines, {"boards": [{"name": board.name, "cpu": board.cpu, "verified": board.is_verified} for board in boards]})


def _nanojoules(row: Row) -> float | None:
    """The energy of an inference in the estimated time, if somebody measured the board's energy of a cycle."""
    milliseconds, per_cycle = row.found.milliseconds, row.board.nanojoules_per_cycle
    return milliseconds / 1e3 * row.board.clock_hz * per_cycle if milliseconds is not None and per_cycle else None


def _data(found: dict[str, list[Row]]) -> list[dict]:
    return [
        {
            "model": model,
            "fits": sum(row.is_kept for row in rows),
            "boards": [
                {
                    **row.found.as_json(),
                    "ram_bytes": row.found.ram_bytes,
                    "fits": row.is_kept,
                    "over_budget": list(row.excess),
                    "verified": row.board.is_verified,
                    "clock_hz": row.board.clock_hz,
                    "nanojoules": _nanojoules(row),
                }
                for row in rows
            ],
        }
        for model, rows in found.items()
    ]
