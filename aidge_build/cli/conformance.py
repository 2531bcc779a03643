# SPDX-License-Identifier: MIT
"""The verb `conformance`: the ONNX node cases MCU-793 as generated C, and the table of verdicts."""

from __future__ import annotations

import argparse
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aidge_build.boards import load_board
from aidge_build.cli.outcome import Outcome
from aidge_build.conformance.cases import listed_names, prepare
from aidge_build.conformance.run import SANITIZERS, Verdict, verdicts
from aidge_build.conformance.table import VERDICTS, page, summary
from aidge_build.errors import EXIT_CHECK_FAILED
from aidge_build.inputs import find_libraries, load_libraries
from aidge_build.onnx_format.node_cases import node_cases

SUMMARY = "run the ONNX node cases as generated C"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--board", default="host", help="where they run (default: host)")
    parser.add_argument("--lib", metavar="A,B", help="kernel libraries in order of preference (default: the board's)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only the cases whose name matches")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th case")
    parser.add_argument("--sanitize", action="store_true", help="with address and undefined-behaviour sanitizers")
    parser.add_argument("--jobs", type=int, default=2, help="programs that are built at the same time (default: 2)")
    parser.add_argument("--out", metavar="FILE", help="write the table (Markdown)")
    parser.add_argument("--work", metavar="DIR", help="keep the generated sources there")


def run(arguments: argparse.Namespace) -> Outcome:
    found = run_cases(arguments.board, arguments.lib, [name for name in listed_names() if re.search(arguments.only, name)][::arguments.every],
                      SANITIZERS if arguments.sanitize else (), arguments.jobs, arguments.work)
    if arguments.out:
        Path(arguments.out).write_text(page(found, f"board {arguments.board}"))
    bad = [f"{one.name}: {one.verdict}: {one.reason}" for one in found if one.verdict in ("wrong", "refused")]
    data = {"cases": len(found), **{kind: sum(one.verdict == kind for one in found) for kind in VERDICTS},
            "verdicts": [{"name": one.name, "verdict": one.verdict, "reason": one.reason, "bound": list(one.bound), "ulps": one.ulps}
                         for one in found]}
    return Outcome("\n".join([*bad, summary(found)]), data, EXIT_CHECK_FAILED if data["wrong"] else 0)


def run_cases(board_name: str, lib: str | None, names: list[str], flags: tuple[str, ...], jobs: int, work: str | None) -> list[Verdict]:
    """The verdicts of these cases; the work is cut into `jobs` parts."""
    board = load_board(board_name, [])
    libraries, _ = load_libraries(lib.split(",") if lib else list(board.libs), find_libraries([]))
    cases = node_cases()
    prepared = [prepare(cases[name], f"case_{number}", libraries, board.features) for number, name in enumerate(names)]
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(max(1, jobs)) as pool:
        folder = Path(work or temporary)
        size = -(-len(prepared) // max(1, jobs))
        parts = [prepared[first:first + size] for first in range(0, len(prepared), size)]
        done = pool.map(lambda part: verdicts(part[1], board, folder / f"part_{part[0]}", flags), enumerate(parts))
        return [verdict for part in done for verdict in part]
