# SPDX-License-Identifier: MIT
"""Firmware that never returns: the words that say when a run ends, and what is said of a run that was stopped."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError, CheckFailed
from aidge_build.base.naming import counted
from aidge_build.prove.elf import Claim
from aidge_build.run.emulate import End, RunResult, Stops
from aidge_build.run.emulate.program import NEVER_RETURNS, WAITS

Number = TypeVar("Number", int, float)

EXIT_INTERRUPTED = 130
_SAID = {
    End.UNTIL: "ended at {until}",
    End.INSTRUCTIONS: "ended after {instructions:,} instructions, at {at}",
    End.SECONDS: "ended after {seconds:g} s, at {at}",
    End.INTERRUPT: "interrupted at {at}",
    End.LOOP: "ended in an endless loop at {at}",
    End.LIMIT: "not ended after {total:,} instructions and {inferences}, at {at}. Hint: {never_returns}",
}
_UNCOUNTED = "an unknown number of inferences"


def _inferences(word: str) -> int:
    return _number(word, int, 1, (1 << 32) - 1)


def _instructions(word: str) -> int:
    return _number(word, int, 1, (1 << 63) - 1)


def _seconds(word: str) -> float:
    return _number(word, float, 0.001, 1e6)


def _number(word: str, kind: Callable[[str], Number], lowest: Number, highest: Number) -> Number:
    try:
        number = kind(word)
    except ValueError:
        number = None
    if number is None or not lowest <= number <= highest:
        raise argparse.ArgumentTypeError(f"'{word}' is no number from {lowest:,} to {highest:,}")
    return number


def add_stop_arguments(parser: argparse.ArgumentParser) -> None:
    """Words for firmware that never returns; the first end that comes is taken."""
    group = parser.add_argument_group("firmware that never returns", "the run ends at the first of these, or with Ctrl-C")
    group.add_argument("--inferences", type=_inferences, default=0, metavar="N", help="number of inferences (default: no limit)")
    group.add_argument(
        "--until", default="", metavar="SYMBOL", help="function to be called, or label to be reached (default: none)"
    )
    group.add_argument(
        "--instructions", type=_instructions, default=0, metavar="N", help="number of instructions (default: no limit)"
    )
    group.add_argument("--seconds", type=_seconds, default=0.0, metavar="S", help="seconds on this machine (default: no limit)")


def stops_of(arguments: argparse.Namespace, claims: Sequence[Claim]) -> Stops:
    """Returns the stops that the options name; AidgeError (USAGE) for inferences of a program in which they are not counted."""
    if arguments.inferences and len(claims) != 1:
        raise AidgeError(
            f"counts inferences of a program with one model, and this one has {len(claims)}",
            where="--inferences",
            hint="--until FUNCTION, --instructions N or --seconds S",
            code="USAGE",
        )
    return Stops(arguments.inferences, arguments.until, arguments.instructions, arguments.seconds)


def refuse_end(result: RunResult, elf: Path) -> RunResult:
    """Returns the result; CheckFailed (RUN) for a program in an endless loop, if nothing of the program was measured.

    A loop in `main` is how much firmware waits for ever; any other that no instruction leaves is what fault handlers end in.
    """
    in_main = re.match(r"main\b", result.ended_at)
    if result.ended is End.LOOP and not result.waits_in and not (in_main and result.runs):
        raise CheckFailed(
            f"the program stops in an endless loop at {result.ended_at}{_after_fault(result)}",
            where=str(elf),
            hint="a fault handler, an unexpected interrupt, or main without exit (--inferences N ends before)",
            code="RUN",
        )
    return result


def _after_fault(result: RunResult) -> str:
    return f", which a fault or an interrupt entered from {result.seen.faulted}" if result.seen.faulted else ""


def end_lines(result: RunResult, stops: Stops) -> list[str]:
    """Returns why the run ended, unless the program ended it, and which requested end did not come."""
    lines = []
    if result.ended in _SAID:
        at = result.ended_at or "an unknown place"
        lines.append(
            _SAID[result.ended].format(
                until=stops.until,
                instructions=stops.instructions,
                seconds=stops.seconds,
                total=result.instructions or 0,
                inferences=_UNCOUNTED if result.runs is None else counted(result.runs, "inference"),
                at=at,
                never_returns=NEVER_RETURNS,
            )
        )
    if result.waits_in:
        before = f"{_UNCOUNTED if result.runs is None else 'no inference'} ended before"
        ends = f"--inferences {result.runs} ends the run before" if result.runs else before
        lines.append(f"{result.waits_in} {WAITS}: {ends}")
    if result.ended is not End.INTERRUPT:
        lines += [f"{text} was asked for and did not come" for text in _missing(result, stops)]
    return lines


def spread(result: RunResult) -> str:
    """Returns how far inferences of a stopped program differ; interrupts and other tasks count with them."""
    if result.ended is End.EXIT or result.fewest is None or result.fewest == result.most:
        return ""
    return f" ({result.fewest:,} to {result.most:,})"


def end_code(result: RunResult, stops: Stops) -> int:
    """The exit code of the command as far as it depends on how the run ended."""
    if result.ended is End.INTERRUPT:
        return EXIT_INTERRUPTED
    is_too_early = bool(result.waits_in) and result.ended is End.LOOP and result.runs == 0
    if result.ended is End.LIMIT or is_too_early or _missing(result, stops):
        return EXIT_CHECK_FAILED
    return 0


def _missing(result: RunResult, stops: Stops) -> list[str]:
    """Returns the requested ends, --inferences and --until, if the run ended for another reason; other options are limits."""
    if result.ended in (End.INFERENCES, End.UNTIL):
        return []
    texts = [f"an inference number {stops.inferences:,} (there were {result.runs or 0:,})"] if stops.inferences else []
    return [*texts, stops.until] if stops.until else texts
