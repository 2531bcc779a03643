# SPDX-License-Identifier: MIT
"""The verb `bench`: instructions, memory and flash of a folder of models on emulated boards, compared with other figures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from aidge_build.base.errors import EXIT_BAD_INPUT, EXIT_CHECK_FAILED, AidgeError, MissingTool
from aidge_build.base.machine import CROSS_COMPILER
from aidge_build.base.naming import counted
from aidge_build.base.options import MODEL, add_options, also_called, options_named
from aidge_build.base.output import write_files
from aidge_build.base.terminal import with_progress
from aidge_build.boards import Board, load_board
from aidge_build.boards.cores import find_core
from aidge_build.build.inputs import NAME_TO_LOOK_AT, UNNAMED_CONTRACT, add_model_arguments, load
from aidge_build.build.request import CompileRequest
from aidge_build.cli.outcome import SCHEMA, Outcome
from aidge_build.cli.probing import add_probe_arguments, not_measured_lines, probe_from
from aidge_build.measure.bench.figures import ANY, Figures
from aidge_build.measure.bench.measure import DATA_ENDING, ENDINGS, Case, cases_in, measure
from aidge_build.measure.bench.other_weights import measure_spread, spread_table
from aidge_build.measure.bench.page import render_page
from aidge_build.measure.bench.peers import Peers, read_peers
from aidge_build.measure.bench.record import Comparison, compare_with, read_record, record_text, require_same_compiler
from aidge_build.measure.bench.rows import Row, read_rows, rows_of
from aidge_build.measure.bench.table import page_with, tables
from aidge_build.run.probe.server import Probe
from aidge_build.run.verify.float_tolerance import BY_FLOATS

EXAMPLES = (
    ("bench models", "time, instructions and bytes of each model of a folder"),
    ("bench models --board mps2-an386,mps3-an547 --html bench.html", "on two cores, as a page"),
)
COMMON = ("board", "rows", "models", "vectors", "probe", "optimize", "peers", "out", "html", "check", "update")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="DIR",
        type=Path,
        help=f"holds NAME{' or NAME'.join(ENDINGS.values())}, or models called as you like; with vectors in NAME{DATA_ENDING}, "
        "or else measured with a seeded random input",
    )
    parser.add_argument(
        "--board",
        dest="boards",
        metavar="A,B",
        help="emulated boards; with --rows only these (default: the boards of --rows, or mps2-an386)",
    )
    also_called(parser, "--board", "--boards")
    parser.add_argument(
        "--rows",
        metavar="F.toml",
        type=Path,
        help="file of boards with data and vectors for each, as docs/benchmarks.toml (default: the boards of --board)",
    )
    add_probe_arguments(parser)
    parser.add_argument("--models", metavar="A,B", help="names of models (default: all of the folder)")
    parser.add_argument(
        "--data", default=",".join((*ENDINGS, ANY)), metavar="A,B", help=f"types of data, of {', '.join(ENDINGS)} (default: all)"
    )
    *others, rounding = options_named(MODEL, "lib", "optimize", "cost-table", "rounding")
    one_contract = "numerical contract of every model, whatever its format: figures of one record are comparable"
    add_options(parser, (*others, replace(rounding, meaning=one_contract, default=UNNAMED_CONTRACT)))
    parser.add_argument("--vectors", type=int, metavar="N", help="number of test vectors of each model (default: all)")
    parser.add_argument(
        "--reference",
        default="y_ort_qdq",
        metavar="KEY",
        help="array of the NPZ files with the values to compare with (default: y_ort_qdq; where there is none: the numpy "
        "backend's)",
    )
    parser.add_argument(
        "--peers",
        metavar="F.json",
        type=Path,
        help="file with figures of other systems: instructions, arena, flash (default: none)",
    )
    parser.add_argument("--out", metavar="F.json", type=Path, help="file for all figures, with every layer (default: none)")
    parser.add_argument(
        "--html", metavar="F.html", type=Path, help="page to write, too, with a bar for each layer (default: none)"
    )
    parser.add_argument(
        "--other-weights",
        type=int,
        metavar="N",
        help="number of other orders of weights to measure each model with, besides its own (seeds 0 to N - 1; default: none)",
    )
    _add_record(parser)


def _add_record(parser: argparse.ArgumentParser) -> None:
    """The record of figures: compared with, or written."""
    record = parser.add_mutually_exclusive_group()
    record.add_argument(
        "--check",
        metavar="F.json",
        type=Path,
        help="record to compare with; fails when an instruction count is above it (default: none)",
    )
    record.add_argument(
        "--update", metavar="F.json", type=Path, help="record to write, with the tables in F.md next to it (default: none)"
    )


def run(arguments: argparse.Namespace) -> Outcome:
    cases = _cases(arguments)
    rows = _rows(arguments)
    boards = {name: load_board(name, []) for row in rows for name in row.boards}
    compiler = f"{CROSS_COMPILER.name} {CROSS_COMPILER.version()}"
    probe = _probe(arguments, list(boards.values()))
    if arguments.other_weights is not None:
        return _other_weights(arguments, [(case, boards[name]) for case, name, _ in _work(cases, rows)])
    record = _record(arguments, compiler)
    peers = read_peers(arguments.peers)
    work = [(case, boards[name], row) for case, name, row in _work(cases, rows)]
    figures, refused = _measured(arguments, work, probe)
    found = Comparison() if record is None else compare_with(record, figures)
    data = _data(arguments, compiler, figures, refused)
    _write(arguments, figures, peers, compiler, data)
    wrong = [f"{entry.title}: {counted(entry.wrong_values, 'value', 'differs')}" for entry in figures if entry.wrong_values]
    lines = [*tables(figures, peers).split("\n"), "", *_remarks(figures, found, record is not None), *wrong]
    lines += [f"{title} is refused: {error}" for title, error in refused.items()]
    while not lines[-1]:
        del lines[-1]
    code = EXIT_CHECK_FAILED if found.worse or wrong else max((error.exit_code for error in refused.values()), default=0)
    return Outcome(lines, data | {kind: list(lines) for kind, lines in asdict(found).items()}, code)


def _data(arguments: argparse.Namespace, compiler: str, figures: Sequence[Figures], refused: Mapping[str, AidgeError]) -> dict:
    return {
        "compiler": compiler,
        "rounding": arguments.rounding,
        "results": [entry.as_json() for entry in figures],
        "refused": [{"title": title, **error.as_json()} for title, error in refused.items()],
    }


def _remarks(figures: Sequence[Figures], found: Comparison, is_checked: bool) -> Iterator[str]:
    """Models without cycles, the comparison with the record, converted inputs, and values that may differ."""
    yield from dict.fromkeys(f"no time on {entry.board}: {reason}" for entry in figures if (reason := _why_no_time(entry)))
    yield from not_measured_lines(figures)
    yield from _verdict(found, is_checked)
    for entry in figures:
        yield from (f"{entry.title}: {line}" for line in entry.conversions)
        if entry.by_floats:
            yield f"{entry.title}: {counted(entry.differing_values, 'value', 'differs')} {BY_FLOATS}"


def _why_no_time(entry: Figures) -> str:
    """Returns why there are no milliseconds; "" if there are."""
    name = entry.cpu.partition("+")[0]
    core = find_core(name)
    if core is not None and not core.timing:
        return f"core {name} has no timing table"
    return "" if entry.clock_hz else "the board's file states no clock"


def _record(arguments: argparse.Namespace, compiler: str) -> dict | None:
    """The record to compare with, which is of the same compiler."""
    if not arguments.check:
        return None
    record = read_record(arguments.check)
    require_same_compiler(record, compiler, str(arguments.check))
    return record


def _rows(arguments: argparse.Namespace) -> tuple[Row, ...]:
    rows = read_rows(arguments.rows, (*ENDINGS, ANY)) if arguments.rows else (Row(("mps2-an386",)),)
    return rows_of(rows, arguments.boards.split(",")) if arguments.boards else rows


def _measured(
    arguments: argparse.Namespace, work: Sequence[tuple[Case, Board, Row]], probe: Probe | None
) -> tuple[list[Figures], dict[str, AidgeError]]:
    """The figures, and of several models why some have none. A record is of all models, and nothing is one of none."""
    found: list[Figures] = []
    refused: dict[str, AidgeError] = {}
    for task in with_progress("BENCH", work, _title):
        case, board, row = task
        try:
            request = _request(arguments, case, board)
            found.append(measure(case, request, board, arguments.reference, row.most_vectors(arguments.vectors), probe))
        except AidgeError as error:
            if error.exit_code not in (EXIT_BAD_INPUT, EXIT_CHECK_FAILED) or arguments.check or arguments.update:
                raise
            refused[_title(task)] = error
    if not found:
        raise next(iter(refused.values()))
    return found, refused


def _probe(arguments: argparse.Namespace, boards: Sequence[Board]) -> Probe | None:
    """The probe that was named, which has one board; AidgeError (USAGE) for more, and for what is measured in the emulator
    alone."""
    if arguments.probe is None:
        return None
    if len(boards) != 1:
        names = ", ".join(board.name for board in boards)
        raise AidgeError(f"the probe has one board, not {names}", where="--probe", hint="--board A", code="USAGE")
    for option in ("other_weights", "update"):
        if getattr(arguments, option) is not None:
            raise AidgeError(
                "works only in the emulator", where=f"--{option.replace('_', '-')}", hint="leave out --probe", code="USAGE"
            )
    return probe_from(arguments, boards[0])


def _work(cases: Sequence[Case], rows: Sequence[Row]) -> list[tuple[Case, str, Row]]:
    return [(case, name, row) for case in cases for row in rows if row.takes(case.data) for name in row.boards]


def _cases(arguments: argparse.Namespace) -> tuple[Case, ...]:
    folder = arguments.folder
    if folder.is_file():
        raise AidgeError(
            "is a file; bench measures a folder of models",
            where=str(folder),
            code="USAGE",
            hint=f"for one model: aidge-build verify {folder} --board stm32f7",
        )
    if not folder.is_dir():
        raise MissingTool(
            "the folder of models is not there",
            where=str(folder),
            code="BENCH",
            hint="name a folder of your own models",
        )
    found = [case for case in cases_in(folder) if case.data in arguments.data.split(",")]
    wanted = arguments.models.split(",") if arguments.models else sorted({case.model for case in found})
    missing = sorted(set(wanted) - {case.model for case in found})
    if missing or not found:
        what = f"model '{missing[0]}'" if missing else "model of this type of data" if cases_in(folder) else "model"
        raise AidgeError(f"holds no {what}", where=str(folder), tried=sorted({case.model for case in found}), code="BENCH")
    return tuple(case for case in found if case.model in wanted)


def _request(arguments: argparse.Namespace, case: Case, board: Board) -> CompileRequest:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    words = [
        str(case.path),
        "--board",
        board.name,
        "--optimize",
        arguments.optimize,
        "--rounding",
        arguments.rounding,
        *(["--lib", arguments.lib] if arguments.lib else []),
        *(["--select", "cost", "--cost-table", arguments.cost_table] if arguments.cost_table else []),
    ]
    return load(parser.parse_args(words), NAME_TO_LOOK_AT)


def _title(task: tuple[Case, Board, Row]) -> str:
    case, board, _ = task
    return f"{case.model} {case.data} on {board.name}"


def _write(arguments: argparse.Namespace, figures: Sequence[Figures], peers: Peers, compiler: str, data: dict) -> None:
    files = {}
    if arguments.out:
        files[arguments.out] = json.dumps({"schema": SCHEMA, **data}, indent=1) + "\n"
    if arguments.html:
        files[arguments.html] = render_page(figures, peers, compiler)
    if arguments.update:
        files[arguments.update] = record_text(compiler, figures)
        page = arguments.update.with_suffix(".md")
        if page.is_file():
            files[page] = page_with(page.read_text(), tables(figures, peers), str(page))
    write_files({path: text.encode() for path, text in files.items()})


def _verdict(found: Comparison, is_checked: bool) -> list[str]:
    if not is_checked:
        return []
    kinds = {"WORSE ": found.worse, "better": found.better, "new   ": found.unknown, "STALE ": found.stale}
    lines = [f"{kind}  {line}" for kind, those in kinds.items() for line in those]
    if found.better or found.unknown or found.stale:
        lines.append("record what became better, is new, or is stale: ./sconsw bench --update")
    return [*lines, f"{len(found.worse)} counts became worse" if found.worse else "no count became worse"]


def _other_weights(arguments: argparse.Namespace, work: Sequence[tuple[Case, Board]]) -> Outcome:
    if arguments.other_weights < 1:
        raise AidgeError(
            f"{counted(arguments.other_weights, 'set')} of weights, wants at least 1", where="--other-weights", code="USAGE"
        )
    spreads = [
        measure_spread(case, _request(arguments, case, board), board, arguments.other_weights)
        for case, board, _ in with_progress("BENCH", [(*task, Row((task[1].name,))) for task in work], _title)
    ]
    wrong = [
        f"{spread.stored.title}: {counted(spread.wrong_values, 'value', 'differs')}" for spread in spreads if spread.wrong_values
    ]
    lines = [*spread_table(spreads).split("\n"), *wrong]
    return Outcome(lines, {"results": [spread.as_json() for spread in spreads]}, EXIT_CHECK_FAILED if wrong else 0)
