# SPDX-License-Identifier: MIT
"""`aidge-build run`: runs a linked program without the board."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.options import BUDGET, add_options, options_named
from aidge_build.base.output import write_sources
from aidge_build.base.source_files import Sources
from aidge_build.boards import Board, load_board
from aidge_build.cli.boards import add_board_path
from aidge_build.cli.cycles import cache_lines, cycle_data, cycle_findings, cycle_lines, layer_cycle_data
from aidge_build.cli.outcome import SCHEMA, Outcome
from aidge_build.cli.probing import add_probe_arguments, is_measured, measured_json, measured_lines, observed, probe_from
from aidge_build.cli.run_by_rows import counted_by_rows, pieces_of
from aidge_build.cli.run_dumps import add_dump_argument, dumped_symbols, written_dumps
from aidge_build.cli.run_seen import add_samples_argument, input_findings, passed_in, seen_findings
from aidge_build.cli.run_stops import add_stop_arguments, end_code, end_lines, refuse_end, spread, stops_of
from aidge_build.cli.steps import step_data, step_finding, step_lines
from aidge_build.prove.elf import Claim, read_claims, read_image
from aidge_build.prove.elf.findings import ERROR, Finding
from aidge_build.run.emulate import Counted, Firmware, RunResult, Stops, run_program
from aidge_build.run.emulate.channels import control_block
from aidge_build.run.emulate.estimate import program_timing

EXAMPLES = (
    ("run app.elf --board stm32f7", "in the emulator, on the board's true memory map"),
    ("run app.elf --board mps2-an386 --json", "instructions of each layer"),
    ("run app.elf --board stm32f4 --inferences 1 --peripherals", "firmware that sets up its chip and never returns"),
    ("run app.elf --board stm32f4 --probe localhost:3333", "on the board, with its cycles"),
)
COMMON = (
    "board",
    "inferences",
    "seconds",
    "until",
    "peripherals",
    "input",
    "output",
    "argument",
    "folder",
    "probe",
    "max-instructions",
    "io-data",
    "dump",
    "out",
)
_BUDGETS = ("max-instructions", "max-cycles", "max-ms")
_INPUT, _OUTPUT = "input.bin", "output.bin"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("elf", type=Path, metavar="ELF", help="linked program")
    parser.add_argument("--board", required=True, metavar="B", help="board that the program was linked for")
    add_board_path(parser)
    parser.add_argument("--emulator", default="", choices=("unicorn", "qemu"), help="emulator (default: the board's)")
    parser.add_argument(
        "--input", type=Path, metavar="FILE", help=f"file that the program finds as '{_INPUT}', its next argument (default: none)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help=f"file that the program writes as '{_OUTPUT}', its next argument (default: none)",
    )
    parser.add_argument(
        "--argument", action="append", default=[], metavar="WORD", help="further argument of the program (repeat)"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("."),
        metavar="DIR",
        help="folder of the program's files, without --input and --output (default: this folder)",
    )
    add_stop_arguments(parser)
    parser.add_argument(
        "--peripherals",
        action="store_true",
        help="let registers of peripherals hold what is written, and change while the program waits for them (Unicorn; default: "
        "an "
        "access to a peripheral stops the run)",
    )
    add_probe_arguments(parser)
    add_options(parser, options_named(BUDGET, *_BUDGETS))
    add_samples_argument(parser)
    add_dump_argument(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="RUN.json",
        help="file for the result as JSON, too (`report --counts` reads it; default: none)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    board = load_board(arguments.board, arguments.board_path)
    claims = read_claims(read_image(arguments.elf))
    stops_of(arguments, claims)
    if not (arguments.input or arguments.output):
        return _outcome(arguments, _run(arguments, board, claims, arguments.folder, arguments.argument), board, claims, {})
    with tempfile.TemporaryDirectory() as name:
        folder, words = Path(name), list(arguments.argument)
        if arguments.output:
            words.insert(0, _OUTPUT)
        if arguments.input:
            words.insert(0, _INPUT)
            _copy(arguments.input, folder / _INPUT)
        result = _run(arguments, board, claims, folder, words)
        return _outcome(arguments, result, board, claims, _collect_output(folder, arguments.output))


def _run(arguments: argparse.Namespace, board: Board, claims: tuple[Claim, ...], folder: Path, words: list[str]) -> RunResult:
    """Inferences and layers are counted in a program with one model; with several, only the whole program is."""
    layers = [layer for claim in claims for layer in claim.layers]
    dumped = dumped_symbols(arguments, read_image(arguments.elf), board)
    timing = program_timing(arguments.elf, board)
    stops, passed = stops_of(arguments, claims), passed_in(claims)

    def run(run_symbol: str, stops: Stops = stops) -> RunResult:
        alone = Counted(run_symbol, layers, claims[0].step_symbol, _arenas(claims[0]), timing) if run_symbol else None
        return run_program(
            arguments.elf,
            board,
            work_folder=folder,
            arguments=words,
            counted=alone or Counted(timing=timing),
            emulator=arguments.emulator,
            firmware=Firmware(stops, arguments.peripherals, dumped, passed),
        )

    probe = probe_from(arguments, board)
    if probe:
        read = passed if arguments.io_data else replace(passed, inputs=(), pushes="")
        return observed(arguments.elf, board, probe, claims, (folder, words), stops, run, read)
    if len(claims) != 1:
        whole = run("")
        return refuse_end(replace(whole, runs=None) if claims else whole, arguments.elf)
    return refuse_end(
        counted_by_rows(stops, f"{claims[0].model}_run", pieces_of(claims[0], read_image(arguments.elf)), run), arguments.elf
    )


def _arenas(claim: Claim) -> tuple[str, ...]:
    return tuple(part.symbol for part in claim.arenas)


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise AidgeError(f"cannot copy: {error.strerror}", where=str(source), code="INPUT") from error


def _collect_output(folder: Path, output: Path | None) -> dict[str, str]:
    """Moves what the program wrote to `output`; its SHA-256 by file name. Nothing written: nothing listed."""
    written = folder / _OUTPUT
    if output is None or not written.is_file():
        return {}
    _copy(written, output)
    return {output.name: hashlib.sha256(written.read_bytes()).hexdigest()}


def _outcome(
    arguments: argparse.Namespace, result: RunResult, board: Board, claims: tuple[Claim, ...], outputs: dict[str, str]
) -> Outcome:
    promised = claims[0].max_step if len(claims) == 1 else 0
    findings = [
        _over_budget(result, arguments.max_instructions),
        *cycle_findings(result, board, arguments.max_cycles, arguments.max_ms),
        step_finding(result, promised),
        *seen_findings(result, board, claims),
        *input_findings(result, passed_in(claims).inputs, arguments.io_data),
    ]
    excess = [finding for finding in findings if finding is not None]
    stops = stops_of(arguments, claims)
    dump_hashes, dump_lines = written_dumps(arguments, result)
    lines = [
        *_printed(result.stdout),
        *_said(result),
        *_unheard(result, arguments.elf),
        *_counts(result, board),
        *cycle_lines(result, board),
        *cache_lines(result, board),
        *measured_lines(result, board),
        *_memory_used(result, claims),
        *([f"exit code {result.exit_code}"] if result.exit_code else []),
        *step_lines(result, result.runs, {}),
        *_peripherals(result),
        *end_lines(result, stops),
        *dump_lines,
        *(finding.line(arguments.elf) for finding in excess),
    ]
    data = _data(result, board, claims, outputs | dump_hashes)
    failed = result.exit_code or any(finding.severity == ERROR for finding in excess)
    code = EXIT_CHECK_FAILED if failed else end_code(result, stops)
    if arguments.out:
        content = json.dumps({"schema": SCHEMA, "ok": not code, **data}, indent=1) + "\n"
        write_sources(Sources({arguments.out.name: content.encode()}, {}), arguments.out.parent)
    return Outcome(lines, data, code)


def _data(result: RunResult, board: Board, claims: tuple[Claim, ...], outputs: dict[str, str]) -> dict:
    """The result for programs; `outputs` are digests of the files that were written, by name."""
    alone = claims[0] if len(claims) == 1 else None
    return {
        "board": board.name,
        "emulator": result.emulator,
        "exit_code": result.exit_code,
        "ended_by": result.ended.value,
        "ended_at": result.ended_at,
        "stdout": result.stdout,
        "channels": dict(result.channels),
        "instructions": result.instructions,
        "models": [claim.model for claim in claims],
        **cycle_data(result, board),
        "run_instructions": result.run_instructions,
        "runs": result.runs or 0,
        "run_pieces": list(result.pieces),  # the functions of a run that is not one call of N_run
        "steps": step_data(result, alone.max_step if alone else 0) or None,
        "run_flash_lines": result.run_cycles.data_lines if result.run_cycles else None,
        "layers": [
            {
                "name": layer.symbol,
                "instructions": layer.instructions,
                **layer_cycle_data(layer),
                **({"cycles_measured": layer.cycles_measured} if is_measured(result) else {}),
            }
            for layer in result.layers
        ],
        **measured_json(result),
        "outputs_sha256": outputs,
        "stack_high_water_bytes": result.stack_high_water_bytes,
        "inference_stack_bytes": result.inference_stack_bytes,
        "arena_bytes": alone.arena_bytes if alone else None,
        "arena_written_bytes": result.written_bytes,
    }


def _counts(result: RunResult, board: Board) -> list[str]:
    """Instructions of the program and of an inference; [] where nothing was counted."""
    if result.instructions is None:
        return []
    mean = result.instructions_per_run
    within = f" inside of {' and '.join(result.pieces)}" if result.pieces else ""
    per_run = f", {round(mean):,} per inference{spread(result)}{within}" if mean is not None else ""
    wait = f" with the wait in {result.waits_in}" if result.waits_in else ""
    return [f"{result.instructions:,} instructions{wait}{per_run} on {board.title} ({_where(result)})"]


def _printed(stdout: str) -> list[str]:
    """The lines that the program wrote; the terminal of a board knows tabs and both ends of lines."""
    text = stdout.replace("\r\n", "\n").rstrip("\n")
    return text.expandtabs().split("\n") if text else []


def _said(result: RunResult) -> list[str]:
    """Returns the program's other output, each line with its channel."""
    return [f"{channel}: {line}" for channel, text in result.channels for line in _printed(text)]


def _unheard(result: RunResult, elf: Path) -> list[str]:
    """QEMU lets nobody empty RTT's buffers while its program runs."""
    speaks = result.emulator == "qemu" and control_block(read_image(elf)) is not None
    return ["what the program says by RTT is not read in QEMU: --emulator unicorn"] if speaks else []


def _peripherals(result: RunResult) -> list[str]:
    if result.peripherals is None or not result.peripherals[0]:
        return []
    used, waited = result.peripherals
    return [f"used {counted(used, 'register')} of peripherals, which nothing emulates; for {waited:,} of them the program waited"]


def _memory_used(result: RunResult, claims: tuple[Claim, ...]) -> list[str]:
    """Returns a line: how much of the reserved stack and arena a run used."""
    parts = [] if result.stack_high_water_bytes is None else [f"stack {result.stack_high_water_bytes:,} B used"]
    if result.inference_stack_bytes is not None:
        parts.append(
            f"{result.inference_stack_bytes:,} B of it by an inference"
            if parts
            else f"stack {result.inference_stack_bytes:,} B used by an inference"
        )
    if result.written_bytes is not None and len(claims) == 1:
        parts.append(f"arena {result.written_bytes:,} of {claims[0].arena_bytes:,} B written")
    return [", ".join(parts)] if parts else []


def _over_budget(result: RunResult, budget: int | None) -> Finding | None:
    """Counts are exact, so a budget has no tolerance; one that cannot be compared is not kept."""
    if budget is None:
        return None
    if result.run_instructions is None or not result.runs:
        return Finding(
            "INS01",
            ERROR,
            "the budget of instructions cannot be checked: no inference was counted",
            "a program with one model whose run function is called, and, for QEMU, a C compiler on this machine",
        )
    excess = result.run_instructions - budget * result.runs
    mean = -(-result.run_instructions // result.runs)
    text = f"{mean:,} instructions per inference, the budget is {budget:,} (+{mean - budget:,})"
    return Finding("INS01", ERROR, text) if excess > 0 else None


def _where(result: RunResult) -> str:
    if result.emulator == "unicorn":
        return "emulated, true memory map"
    return "counted in the emulator" if is_measured(result) else "emulated by QEMU"
