# SPDX-License-Identifier: MIT
"""The verb `calibrate`: the cycles that a board counts and the estimated cycles, in a file that can be sent in."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.machine import CROSS_COMPILER
from aidge_build.base.naming import counted
from aidge_build.base.output import write_files
from aidge_build.base.serial_line import BAUD, received_lines
from aidge_build.base.terminal import print_notes, table, with_progress
from aidge_build.boards import Board, load_board
from aidge_build.build.calls import model_sha256
from aidge_build.build.inputs import NAME_TO_LOOK_AT, add_model_arguments, load
from aidge_build.build.request import CompileRequest
from aidge_build.cli.boards import add_board_path
from aidge_build.cli.outcome import Outcome
from aidge_build.cli.probing import add_probe_arguments, not_measured_lines, probe_from
from aidge_build.measure.bench.calibration import calibration_of_report, calibration_text
from aidge_build.measure.bench.figures import ANY, Figures, LayerFigures
from aidge_build.measure.bench.image import digest_in_emulator
from aidge_build.measure.bench.image_report import Report, read_report
from aidge_build.measure.bench.measure import Case, measure
from aidge_build.prove.calibrations import FOLDER, read_calibration, stated_error

EXAMPLES = (
    ("bench --calibrate kws.onnx --board stm32f4 --probe :3333", "runs the model on the board, and writes calibration.json"),
    ("bench --calibrate kws.onnx --serial /dev/ttyACM0", "reads what a bench image of the model prints"),
)
_SILENCE_SECONDS = 60.0  # the time of two runs, and more, on the slowest board
_TITLES = ("measured", "~cycles", "", "instructions", "operator", "kernel")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models",
        metavar="MODEL",
        type=Path,
        nargs="*",
        help="models to run on the board, with a seeded random input; with --serial the model of the image, or none",
    )
    parser.add_argument(
        "--board", metavar="B", help="board that the probe is connected to (default: the one that the image names)"
    )
    add_board_path(parser)
    add_probe_arguments(parser)
    parser.add_argument(
        "--serial",
        metavar="PORT",
        help="serial port of a board with a bench image (package --for bench-image), or a file with the lines that it printed "
        "(default: measure with --probe)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("calibration.json"),
        metavar="F.json",
        help="file for kernels, instructions and cycles, without names and weights of models (default: calibration.json)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    if arguments.serial:
        return _from_image(arguments)
    if not arguments.models or not arguments.board:
        raise AidgeError(
            "wants models and a board",
            where="calibrate",
            hint="add MODEL, --board and --probe; or --serial PORT, for a bench image",
            code="USAGE",
        )
    board = load_board(arguments.board, arguments.board_path)
    probe = probe_from(arguments, board)
    if probe is None:
        raise AidgeError(
            "the board is missing",
            where="calibrate",
            hint="add --probe localhost:3333, --probe pyocd, or --serial PORT",
            code="USAGE",
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
    return _written(arguments.out, calibration_text(figures, board, compiler), board.cpu, _rows(figures))


def _written(path: Path, text: str, cpu: str, rows: list[str]) -> Outcome:
    write_files({path: text.encode()})
    found = read_calibration(path)
    error = stated_error(cpu, [found])
    lines = [*rows, *([error] if found.layers else []), f"{path}: send it in, it belongs into boards/{FOLDER}"]
    return Outcome(lines, {"file": str(path), "layers": len(found.layers), "error": error})


def _from_image(arguments: argparse.Namespace) -> Outcome:
    """Reads the report of a bench image, and compares it with the model, if there is one, in the emulator."""
    if arguments.probe or len(arguments.models) > 1:
        raise AidgeError(
            "reads one bench image, and needs no probe", where="--serial", hint="leave out --probe, name one MODEL", code="USAGE"
        )
    if Path(arguments.serial).is_char_device():
        print_notes([f"waiting for a report on {arguments.serial}"])
    report = read_report(received_lines(arguments.serial, BAUD, _SILENCE_SECONDS), arguments.serial)
    board = load_board(report.board, arguments.board_path)
    if arguments.board and load_board(arguments.board, arguments.board_path).name != board.name:
        raise AidgeError(f"the image is for board {board.name}", where=arguments.serial, hint="leave out --board", code="USAGE")
    figures = _emulated(arguments, report, board) if arguments.models else None
    digests = {*report.outputs_crc32, *([figures[1]] if figures else [])}
    if len(digests) > 1:
        here = f", {figures[1]} here" if figures else ""
        said = f"outputs differ: {', '.join(report.outputs_crc32)} in the runs on the board{here}"
        return Outcome([said, f"FAILED: {arguments.out} is not written"], {"file": None}, 1)
    known = figures[0] if figures else None
    text = calibration_of_report(report, known)
    return _written(arguments.out, text, report.cpu, _rows_of_report(report, known))


def _emulated(arguments: argparse.Namespace, report: Report, board: Board) -> tuple[Figures, str]:
    """The figures of the model in the emulator, and the digest of its outputs from the inputs of the image."""
    case = Case(arguments.models[0].stem, ANY, arguments.models[0], None)
    request = _request(argparse.Namespace(**{**vars(arguments), "board": board.name}), case)
    if model_sha256(request.model, request.external) != report.model_sha256:
        raise AidgeError(
            "is not the model of the image",
            where=str(case.path),
            hint="name the model that the image was made from, or leave it out",
            code="CALIBRATIONS",
        )
    as_measured = replace(board, clock_hz=report.clock_hz, flash_wait_states=report.flash_wait_states)
    return measure(case, request, as_measured, "", 1), digest_in_emulator(request, board)


def _rows_of_report(report: Report, figures: Figures | None) -> list[str]:
    layers: Sequence[LayerFigures | None] = figures.layers if figures else [None] * len(report.layers)
    rows = [
        _row(each.cycles[-1], known.cycles if known else None, known.instructions if known else None, each.operator, each.kernel)
        for each, known in zip(report.layers, layers, strict=True)
    ]
    estimated, instructions = (figures.cycles, figures.instructions) if figures else (None, None)
    rows.append(_row(report.cycles[-1], estimated, instructions, f"{report.clock_hz / 1e6:g} MHz", "in all"))
    return table(rows, _TITLES, numbers=(0, 1, 2, 3))


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


def _row(measured: int | None, estimated: int | None, instructions: int | None, operator: str, kernel: str) -> tuple[str, ...]:
    error = f"{100 * (measured / estimated - 1):+.1f} %" if measured and estimated else "-"
    return _number(measured), _number(estimated), error, _number(instructions), operator, kernel


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
