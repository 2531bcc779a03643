# SPDX-License-Identifier: MIT
"""The verb `calibrate`: what a board counts beside the estimate of cycles, in a file that can be sent in."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from aidge_build.bench.calibration import calibration_text
from aidge_build.bench.figures import ANY, Figures
from aidge_build.bench.measure import Case, measure
from aidge_build.boards import load_board
from aidge_build.calibrations import FOLDER, read_calibration, stated_error
from aidge_build.cli.boards import add_board_path
from aidge_build.cli.outcome import Outcome
from aidge_build.cli.probing import add_probe_arguments, not_measured_lines, probe_from
from aidge_build.errors import AidgeError
from aidge_build.inputs import NAME_TO_LOOK_AT, add_model_arguments, load
from aidge_build.machine import CROSS_COMPILER
from aidge_build.naming import counted
from aidge_build.output import write_files
from aidge_build.request import CompileRequest
from aidge_build.terminal import table, with_progress

SUMMARY = "count cycles on a board, next to the estimate, in a file to send in"
EXAMPLES = (
    ("bench --calibrate kws.onnx --board stm32f4 --probe :3333", "runs the model on the board, and writes calibration.json"),
)
_TITLES = ("measured", "~cycles", "", "instructions", "operator", "kernel")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models", metavar="MODEL", type=Path, nargs="+", help="models to run on the board, with a seeded random input"
    )
    parser.add_argument("--board", required=True, metavar="B", help="board that the probe is connected to")
    add_board_path(parser)
    add_probe_arguments(parser)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("calibration.json"),
        metavar="F.json",
        help="file for kernels, instructions and cycles, without names and weights of models (default: calibration.json)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    board = load_board(arguments.board, arguments.board_path)
    probe = probe_from(arguments, board)
    if probe is None:
        raise AidgeError(
            "the board is missing", where="calibrate", hint="add --probe localhost:3333, or --probe pyocd", code="USAGE"
        )
    cases = [Case(path.stem, ANY, path, None) for path in arguments.models]
    figures = [
        measure(case, _request(arguments, case), board, "", 1, probe)
        for case in with_progress("BOARD", cases, lambda case: f"{case.model} on {board.name}")
    ]
    wrong = [f"{entry.title}: {counted(entry.wrong_values, 'value', 'differs')}" for entry in figures if entry.wrong_values]
    unknown = not_measured_lines(figures)
    if unknown or wrong:
        return Outcome([*wrong, *unknown, f"FAILED: {arguments.out} is not written"], {"file": None}, 1)
    compiler = f"{CROSS_COMPILER.name} {CROSS_COMPILER.version()}"
    write_files({arguments.out: calibration_text(figures, board, compiler).encode()})
    found = read_calibration(arguments.out)
    error = stated_error(board.cpu, [found])
    lines = [*_rows(figures), *([error] if found.layers else []), f"{arguments.out}: send it in, it belongs into boards/{FOLDER}"]
    return Outcome(lines, {"file": str(arguments.out), "layers": len(found.layers), "error": error})


def _request(arguments: argparse.Namespace, case: Case) -> CompileRequest:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    paths = [word for path in arguments.board_path for word in ("--board-path", str(path))]
    return load(parser.parse_args([str(case.path), "--board", arguments.board, *paths]), NAME_TO_LOOK_AT)


def _rows(figures: Sequence[Figures]) -> list[str]:
    rows = []
    for entry in figures:
        rows += [
            _row(layer.cycles_measured, layer.cycles, layer.instructions, layer.operator, f"{layer.library} {layer.kernel}")
            for layer in entry.layers
        ]
        rows.append(_row(entry.cycles_measured, entry.cycles, entry.instructions, entry.model, "in all"))
    return table(rows, _TITLES, numbers=(0, 1, 2, 3))


def _row(measured: int | None, estimated: int | None, instructions: int, operator: str, kernel: str) -> tuple[str, ...]:
    error = f"{100 * (measured / estimated - 1):+.1f} %" if measured and estimated else "-"
    return _number(measured), _number(estimated), error, f"{instructions:,}", operator, kernel


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
