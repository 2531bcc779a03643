# SPDX-License-Identifier: MIT
"""The verb `conformance`: cases of the ONNX project as generated C, and the table of verdicts."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError
from aidge_build.base.options import MODEL, add_options, options_named
from aidge_build.base.output import write_files
from aidge_build.base.terminal import with_progress
from aidge_build.cli.outcome import Outcome
from aidge_build.measure.conformance.suites import COLLECTIONS, SANITIZED, run_cases
from aidge_build.measure.conformance.table import VERDICTS, Suite, Verdict, page

EXAMPLES = (
    ("conformance --only conv", "on this machine"),
    ("conformance --board mps2-an386 --every 50", "a sample, in an emulator"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--board", default="host", metavar="A,B", help="boards that run the cases, separated by commas (default: host)"
    )
    add_options(parser, options_named(MODEL, "lib"))
    parser.add_argument(
        "--suite", default=",".join(COLLECTIONS), metavar="A,B", help=f"collections of cases (default: {','.join(COLLECTIONS)})"
    )
    parser.add_argument("--only", default="", metavar="PATTERN", help="pattern of the names of cases (default: all)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="step through the cases: every N-th (default: 1)")
    parser.add_argument(
        "--sanitize",
        action="store_true",
        help="run on the host with address and undefined-behaviour sanitizers, too (default: without)",
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of programs that are built at the same time (default: 2)")
    parser.add_argument("--out", metavar="FILE", help="file for the table, as Markdown (default: none)")
    parser.add_argument("--work", metavar="DIR", help="folder that keeps the generated sources (default: nothing is kept)")


def _title(suite: str, count: int, machine: str) -> str:
    return f"{count} of {suite} on {machine}"


def run(arguments: argparse.Namespace) -> Outcome:
    machines = [*arguments.board.split(","), *([SANITIZED] if arguments.sanitize else [])]
    suites = [_suite(arguments, key, machines) for key in arguments.suite.split(",")]
    if arguments.out:
        write_files({Path(arguments.out): page(suites).encode()})
    every = [one for suite in suites for one in suite.overall]
    bad = [f"{one.name}: {one.verdict}: {one.reason}" for one in every if one.verdict in ("wrong", "refused")]
    data = {
        "cases": len(every),
        **{kind: sum(suite.count[kind] for suite in suites) for kind in VERDICTS},
        "verdicts": [_verdict_data(one) for one in every],
    }
    return Outcome(
        [*bad, *(f"{suite.title}: {suite.summary()}" for suite in suites)],
        data,
        EXIT_CHECK_FAILED if data["wrong"] else 0,
    )


def _suite(arguments: argparse.Namespace, key: str, machines: Sequence[str]) -> Suite:
    """The cases of a suite that were asked for, run on each machine."""
    if key not in COLLECTIONS:
        raise AidgeError(f"there is no suite '{key}'", code="USAGE", hint=f"suites: {', '.join(COLLECTIONS)}")
    names = [name for name in COLLECTIONS[key].names() if re.search(arguments.only, name)][:: arguments.every]
    announced = with_progress("CASES", machines, partial(_title, key, len(names)))
    found: dict[str, Sequence[Verdict]] = {
        machine: run_cases(machine, arguments.lib, names, arguments.jobs, arguments.work, key) for machine in announced
    }
    return Suite(COLLECTIONS[key].title, COLLECTIONS[key].text, found)


def _verdict_data(one: Verdict) -> dict:
    return {
        "name": one.name,
        "verdict": one.verdict,
        "reason": one.reason,
        "bound": list(one.bound),
        "distance": one.distance,
        "unit": one.unit,
    }
