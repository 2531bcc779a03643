# SPDX-License-Identifier: MIT
"""Why ways of branches stay untaken: another model takes them, or a row of untaken.toml gives the reason."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError
from tools.safety.measured import Coverage, Direction

TABLE = Path(__file__).with_name("untaken.toml")
ROOT = Path(__file__).resolve().parents[2]
KINDS = ("constants", "data", "reviewed", "machine")


@dataclass(frozen=True)
class Reason:
    """A row of the table: expressions for the whole name of a function and for a part of a line, and why it stays untaken. `test`
    is a file of tests that takes it, for the kind `data` alone."""

    name: str
    kind: str
    functions: str
    why: str
    lines: str = ""
    test: str = ""

    def fits(self, one: Direction) -> bool:
        return bool(re.fullmatch(self.functions, one.function) and re.search(self.lines, one.text))


@dataclass(frozen=True)
class Explained:
    """The untaken ways of a model: how many another model takes, how many each reason covers, and the others. `unsteady` are ways
    of lines that constants decide, by their reason, and that two sets of vectors took differently."""

    coverage: Coverage
    elsewhere: int
    reasons: Counter[str]
    unexplained: tuple[Direction, ...]
    unsteady: tuple[Direction, ...]


def reasons() -> list[Reason]:
    """Returns the rows of the table."""
    rows = [Reason(**row) for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["reason"]]
    for row in rows:
        if row.kind not in KINDS or (row.kind == "data") != bool(row.test) or not (ROOT / row.test).exists():
            what = f"kind {row.kind}, test '{row.test}'"
            raise AidgeError(
                what, where=f"{TABLE.name}: {row.name}", hint="the head of the file lists the kinds and what each needs"
            )
    return rows


def explain(measured: Sequence[Coverage], known: Sequence[Reason]) -> list[Explained]:
    """Returns what is known about the untaken ways of each model."""
    taken = {one.key for coverage in measured for one in coverage.directions if one.count}
    return [_explained(coverage, [one for one in coverage.directions if not one.count], taken, known) for coverage in measured]


def _explained(coverage: Coverage, untaken: Sequence[Direction], taken: set, known: Sequence[Reason]) -> Explained:
    left = [one for one in untaken if one.key not in taken]
    found = [(one, _reason(one, known)) for one in left]
    fixed = {one.key[:3] for one, row in found if row and row.kind == "constants"}
    return Explained(
        coverage,
        len(untaken) - len(left),
        Counter(row.name for _, row in found if row),
        tuple(one for one, row in found if not row),
        tuple(one for one in coverage.directions if not one.is_steady and one.key[:3] in fixed),
    )


def _reason(one: Direction, known: Sequence[Reason]) -> Reason | None:
    return next((row for row in known if row.fits(one)), None)


def faults(explained: Sequence[Explained], known: Sequence[Reason]) -> list[str]:
    """Returns a line for each way without a reason, for each line that goes otherwise for other vectors although constants are
    said to decide it, and for each row that covers nothing."""
    used: Counter[str] = sum((one.reasons for one in explained), Counter())
    return [
        *(
            f"{_place(one, way)}: way {way.way} is never taken: extend the vectors, or explain it in {TABLE.name}"
            for one in explained
            for way in one.unexplained
        ),
        *(
            f"{_place(one, way)}: goes otherwise for other vectors: constants do not decide it, see {TABLE.name}"
            for one in explained
            for way in one.unsteady
        ),
        *(f"{row.name} covers nothing any more: take it out of {TABLE.name}" for row in known if not used[row.name]),
    ]


def _place(one: Explained, way: Direction) -> str:
    return f"{one.coverage.network.name}: {way.function}: line {way.number} of N.c, `{way.text}`"
