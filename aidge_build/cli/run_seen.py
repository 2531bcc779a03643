# SPDX-License-Identifier: MIT
"""`run`: what a firmware does wrong with its model, and how the inputs that it passes differ from samples."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.return_codes import ReturnCode
from aidge_build.boards import Board
from aidge_build.build.emit.ports import quantization_in
from aidge_build.cli.input_samples import unlike_samples
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import NAMED_ORDERS, Format
from aidge_build.graph.tensor import Tensor
from aidge_build.prove.elf import Claim
from aidge_build.prove.elf.claimed_call import ClaimedArgument, ClaimedCall
from aidge_build.prove.elf.findings import ERROR, NOTE, WARNING, Finding
from aidge_build.run.emulate import RunResult
from aidge_build.run.emulate.program import NOTHING_PASSED, Entry

_CODES: dict[int, str] = {  # that N_run returns after it computed nothing
    ReturnCode.POINTER: "a pointer is null, misaligned or overlaps another buffer",
    ReturnCode.ORDER: "called out of order",
    ReturnCode.WEIGHTS: "no weights are bound",
    ReturnCode.DAMAGED: "constants are damaged",
    ReturnCode.OVERWRITTEN: "bytes next to the arena were overwritten",
}
_NOT_YET = (ReturnCode.ORDER, ReturnCode.WEIGHTS)  # a firmware may try, and call again later: a warning if other calls computed
_CLOCK_OFF = 0.02  # of the clock of the board's file
_MANY_CYCLES = 1.5  # of the estimate, which is at most 11 % too low for what was measured without wait states
_RECORD = "a build with --record keeps inputs: verify --replay compares them (docs/c-api.md)"
_TYPE = re.compile(r"(\w+) \[([\d, ]*)\] (\w+)$")


def add_samples_argument(parser: argparse.ArgumentParser) -> None:
    """The samples of the inputs."""
    parser.add_argument(
        "--io-data",
        type=Path,
        metavar="F.npz",
        help="samples of the inputs, an NPZ file with x or x_<input>: says how the inputs that the firmware passes differ from "
        "them, such as another scale or order of axes (Unicorn, or --probe; default: inputs are not compared)",
    )


def passed_in(claims: Sequence[Claim]) -> ClaimedCall:
    """The arguments of N_run in a program with one model; none if they are not known."""
    passed = claims[0].passed if len(claims) == 1 else None
    return passed or NOTHING_PASSED


def seen_findings(result: RunResult, board: Board, claims: Sequence[Claim]) -> Iterator[Finding]:
    """Yields what the run shows of the firmware's own mistakes."""
    seen, claim = result.seen, claims[0] if len(claims) == 1 else None
    refused = [entry for entry in seen.entries if entry.status in _CODES]
    if claim and (refused or seen.refused):
        yield _refused(claim, refused, len(seen.entries), seen.refused, result.runs or 0)
    if claim and seen.entered_again[0] and claim.arenas:
        again, before = seen.entered_again
        yield Finding(
            "RUN02", ERROR, f"{again} calls {claim.model}_run while the call that returns to {before} has not ended: one arena"
        )
    if seen.without_fpu:
        yield Finding("RUN03", ERROR, f"{seen.without_fpu} uses the FPU, and no code switches it on: a fault on the board")
    if seen.full_stack:
        yield Finding("RUN04", WARNING, f"the stack was used down to the last word of its {seen.full_stack}")
    yield from _slower(result, board)


def _refused(claim: Claim, refused: Sequence[Entry], calls: int, uncalled: int, runs: int) -> Finding:
    if not refused:
        how_often = f"{uncalled} of {counted(runs, 'call')}"
        text = f"{claim.model}_run returned before its first layer in {how_often}: it refused its arguments"
        return Finding("RUN01", ERROR, text)
    first = refused[0]
    words = ", ".join(f"0x{word:x}" for word in first.words[: claim.passed.arguments(first.function) if claim.passed else None])
    how_often = f"{len(refused)} of {counted(calls, 'call')}"
    may_wait = len(refused) < calls and all(entry.status in _NOT_YET for entry in refused)
    severity = WARNING if may_wait else ERROR
    return Finding("RUN01", severity, f"{first.function}({words}) returned {first.status} in {how_often}: {_CODES[first.status]}")


def _slower(result: RunResult, board: Board) -> Iterator[Finding]:
    """Yields RUN06 for a clock that is not the board file's, and for many more measured cycles than estimated ones."""
    hertz, estimated = result.seen.clock_hz, result.run_cycles.total / result.runs if result.run_cycles and result.runs else None
    measured = result.measured.per_inference if result.measured else None
    cycles = measured or estimated
    if hertz and board.clock_hz and abs(hertz / board.clock_hz - 1) > _CLOCK_OFF:
        text = f"SystemCoreClock is {hertz / 1e6:g} MHz after the run, the board's file says {board.clock_hz / 1e6:g} MHz"
        if cycles:
            text += f": {1e3 * cycles / hertz:,.3g} ms per inference in place of {1e3 * cycles / board.clock_hz:,.3g} ms"
        yield Finding("RUN06", WARNING, text)
    if measured and estimated and measured > _MANY_CYCLES * estimated:
        text = (
            f"the board takes {measured / estimated:.1f} times the estimated cycles: memory waits, caches or prefetch are off, or"
        )
        yield Finding("RUN06", WARNING, f"{text} interrupts count with it")


def input_findings(result: RunResult, inputs: Sequence[ClaimedArgument], path: Path | None) -> Iterator[Finding]:
    """Yields how the inputs differ from the samples of the file; a finding, too, if the run shows no inputs. The inputs of a call
    that computed nothing are not compared: its arguments may be wrong, and RUN01 says so."""
    if path is None:
        return
    entries = [entry for entry in result.seen.entries if entry.inputs and not entry.status]
    if not entries:
        yield _not_compared(result, inputs)
        return
    for one in unlike_samples(path, [_tensor(port) for port in inputs], [entry.inputs for entry in entries]):
        yield Finding("RUN05", ERROR if one.is_certain else WARNING, one.text, one.hint)


def _not_compared(result: RunResult, inputs: Sequence[ClaimedArgument]) -> Finding:
    """The reason; a note, if a firmware without a mistake may have it."""
    entries, severity, hint = result.seen.entries, NOTE, _RECORD
    if not inputs:
        reason = "a program with one model says what its inputs are, unless an older version generated it"
    elif result.emulator == "qemu":
        reason = "QEMU does not show them: --emulator unicorn"
    elif not entries:
        reason, severity = "no call of the model returned", ERROR
    elif all(entry.status for entry in entries):
        reason, hint = "each call returned a code", "RUN01 says what the code means: when the model computes, run again"
    else:
        reason = "their place is not known"
    return Finding("RUN05", severity, f"inputs were not compared: {reason}", hint)


def _tensor(port: ClaimedArgument) -> Tensor:
    """The input, as the words of its claim say."""
    found = _TYPE.match(port.type)
    if found is None:
        raise AidgeError(f"input '{port.name}' is '{port.type}'", where="--io-data", code="CLAIM", hint="build it again")
    dims = tuple(int(dim) for dim in found[2].split(",") if dim.strip())
    order = NAMED_ORDERS.get(found[3]) or tuple(int(axis) for axis in found[3].split("_")[1:])
    return Tensor(port.name, dims, DType[found[1]], quantization=quantization_in(port.scale), format=Format(order))
