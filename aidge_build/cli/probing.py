# SPDX-License-Identifier: MIT
"""`--probe`: a board on the desk instead of an emulator, and what is said of its cycles."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.base.naming import counted
from aidge_build.base.terminal import print_notes
from aidge_build.boards import Board
from aidge_build.boards.cores import THUMB
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.measure.bench.figures import Figures
from aidge_build.prove.elf import Claim, read_image, stack_use
from aidge_build.prove.elf.claimed_call import ClaimedCall
from aidge_build.run.emulate import RunResult, Stops
from aidge_build.run.emulate.program import INSTRUCTION_LIMIT, NOTHING_PASSED, MeasuredCycles, Program
from aidge_build.run.probe.measure import WHERE, beside, observe
from aidge_build.run.probe.server import Probe, probe_of
from aidge_build.run.probe.session import on_board
from aidge_build.run.toolchain import disassemble

_SECONDS = 10.0
_LEAST_SECONDS, _MOST_SECONDS = 0.01, 3600.0
_INFERENCES = 3
_MOST_EMULATED = 1_000_000_000  # instructions: firmware may wait for ever for what the emulator lacks of its chip
_NAMES_SHOWN = 4


def add_probe_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the server of the debug probe."""
    parser.add_argument(
        "--probe",
        metavar="HOST:PORT",
        help="address of the gdb server of a debug probe (OpenOCD, pyOCD, J-Link, ...), or a runner of the board, e.g. pyocd, "
        "to start its server: run on the board (default: in the emulator)",
    )
    parser.add_argument(
        "--probe-seconds",
        type=_seconds,
        default=_SECONDS,
        metavar="S",
        help=f"how long an answer of the probe may take, or the program to the model (default: {_SECONDS:g})",
    )


def _seconds(word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = 0.0
    if not _LEAST_SECONDS <= number <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"'{word}' is no number from {_LEAST_SECONDS:g} to {_MOST_SECONDS:g}")
    return number


def probe_from(arguments: argparse.Namespace, board: Board) -> Probe | None:
    """The probe that was named; AidgeError (USAGE) for what is none, and for a board that is followed over none."""
    if arguments.probe is None:
        return None
    probe = probe_of(arguments.probe, arguments.probe_seconds)
    if board.core.stack != THUMB:
        raise AidgeError(
            "a probe works only with Cortex-M cores",
            where=f"board {board.name}",
            hint="leave out --probe: the emulator runs it",
            code="USAGE",
        )
    return probe


def observed(
    elf: Path,
    board: Board,
    probe: Probe,
    claims: tuple[Claim, ...],
    given: tuple[Path, list[str]],
    stops: Stops,
    emulate: Callable[[str, Stops], RunResult],
    passed: ClaimedCall = NOTHING_PASSED,
) -> RunResult:
    """Returns the counts of a linked program on the board, inference by inference, with the counts of `emulate` for as many
    inferences. `given` are the folder and the arguments that the program finds, `passed` the inputs to read from the board."""
    if len(claims) != 1:
        raise AidgeError(
            f"holds {len(claims) or 'no'} models; a probe measures programs with one",
            where=str(elf),
            hint="link a program with one model" if claims else "its linker script must keep .note.aidge",
            code="RUN",
        )
    if stops.until or stops.instructions or stops.seconds:
        raise AidgeError("ends a run only after a number of inferences", where="--probe", hint="add --inferences N", code="USAGE")
    claim, (folder, words) = claims[0], given
    program = Program(
        image=read_image(elf),
        board=board,
        work_folder=folder.resolve(),
        arguments=(elf.stem, *words),
        count=True,
        run_symbol=f"{claim.model}_run",
        layer_symbols=claim.layers,
        instruction_limit=INSTRUCTION_LIMIT,
        watched_symbols=tuple(part.symbol for part in claim.arenas),
        passed=passed,
    )
    with on_board(program, probe, claim.buffers) as session:
        found = observe(session, stops.inferences or _INFERENCES, _stack_bound(program, elf))
    if found.pieces and claim.passed and claim.passed.goes_by_rows:
        return found  # emulators count no inference by rows until its end
    same = Stops(found.runs or 1, instructions=_MOST_EMULATED)
    return beside(found, _emulated(board, lambda: emulate(program.run_symbol, same), found.runs))


def _stack_bound(program: Program, elf: Path) -> int | None:
    """Returns the most bytes of the stack that N_run may use; None where nobody can prove it here."""
    try:
        use = stack_use(program.image, read_disassembly(disassemble(elf, program.board.core)), (program.run_symbol,))
    except MissingTool:
        return None
    return use.runs[program.run_symbol].bytes if program.run_symbol in use.runs else None


def _emulated(board: Board, emulate: Callable[[], RunResult], runs: int | None) -> RunResult | None:
    """Returns the emulator's counts; None without an emulator, or if it lacks a part of the chip that the firmware uses."""
    if board.emulator is None or not runs:
        return None
    try:
        found = emulate()
    except AidgeError as error:
        reason = error.what
    else:
        if found.runs == runs:
            return found
        at = f", it is at {found.ended_at}" if found.ended_at else ""
        reason = f"the emulator does not come to inference {runs:,}{at}"
    print_notes([f"instructions are not counted: {reason}"])
    return None


def is_measured(result: RunResult) -> bool:
    """Whether it ran on a board."""
    return result.emulator == WHERE


def measured_lines(result: RunResult, board: Board) -> list[str]:
    """The cycles of an inference and of its layers, and what they were counted with; [] for an emulated run."""
    measured = result.measured
    if measured is None:
        return []
    if not measured.counter:
        return [f"{counted(result.runs or 0, 'inference')} on {board.title} (over the probe); cycles {measured.why_not}"]
    lines = [f"{_cycles(measured)} on {board.title} ({_how(measured)})"]
    known = [layer for layer in result.layers if layer.cycles_measured is not None]
    width = max((len(layer.symbol) for layer in known), default=0)
    lines += [f"  {layer.symbol:{width}}  {layer.cycles_measured:,} cycles" for layer in known]
    if measured.unseen:
        shown = ", ".join(measured.unseen[:_NAMES_SHOWN])
        more = len(measured.unseen) - _NAMES_SHOWN
        lines.append(f"layers not seen (inlined, or not called): {shown}{f' and {more} more' if more > 0 else ''}")
    return lines


def _cycles(measured: MeasuredCycles) -> str:
    known = [cycles for cycles in measured.per_run if cycles is not None]
    if not known:
        return f"more cycles per inference than {measured.counter} counts"
    mean, count = measured.per_inference, len(known)
    spread = f", {min(known):,} to {max(known):,}" if min(known) != max(known) else ""
    return f"{mean:,} cycles per inference{spread} ({count} measured)"


def _how(measured: MeasuredCycles) -> str:
    halts = (
        f"{measured.overhead:,} of each halt subtracted"
        if measured.overhead is not None
        else "what a halt adds is not known, and not subtracted"
    )
    return f"over the probe, by {measured.counter}, {halts}"


def measured_json(result: RunResult) -> dict:
    """The same for programs; {} for an emulated run."""
    measured = result.measured
    if measured is None:
        return {}
    return {
        "cycles_measured": {
            "counter": measured.counter,
            "why_not": measured.why_not,
            "per_inference": measured.per_inference,
            "per_run": list(measured.per_run),
            "halt_cycles": measured.overhead,
            "layers_not_seen": list(measured.unseen),
        }
    }


def not_measured_lines(figures: Sequence[Figures]) -> list[str]:
    """Returns the reasons why models that ran on a board have no cycles."""
    reasons = {entry.title: entry.measured.why_not for entry in figures if entry.measured and not entry.measured.counter}
    return [f"{title}: cycles {reason}" for title, reason in reasons.items()]
