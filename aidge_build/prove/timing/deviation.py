# SPDX-License-Identifier: MIT
"""How far estimates of cycles are from what chips were measured to take.

`boards/cores/counts/TABLE.*.toml` hold counts of public programs: what somebody published or measured, and what the timing table
says for the same program. From these pairs, and nothing else, the stated error of an estimate follows. Where no chip was
measured, the counts are the ones of another model of the core, and the text says so.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.settings import CODE, read_settings
from aidge_build.boards.cores import MVE, Core
from aidge_build.prove.timing.table import timing_of

FOLDER = "counts"
UNKNOWN = "estimated; compared with no measured count, its error is unknown"
_KEYS = {"source": str, "chip": str, "compiler": str, "numbers": str, "counts": dict}
_OPTIONAL_KEYS = {"vectors": bool}


@dataclass(frozen=True)
class Count:
    """The cycles of one program: measured on a chip, and estimated; `chip` is "" where another model says the first number, and
    `has_vectors` says whether vector instructions take most of its time."""

    program: str
    source: str
    measured: float
    estimated: float
    chip: str = ""
    has_vectors: bool = False

    @property
    def error(self) -> float:
        """Of the estimate, as a share of what was measured; below zero: it is too low."""
        return self.estimated / self.measured - 1


@dataclass(frozen=True)
class Deviation:
    """Errors of estimates of `counts` programs, as shares of what was measured: lowest, highest, and the mean of their sizes."""

    counts: int
    lowest: float
    highest: float
    mean: float

    def range_of(self, cycles: float) -> tuple[float, float]:
        """Between which numbers of cycles a program lies that is estimated at `cycles`, if it errs no further than those."""
        return cycles / (1 + max(self.highest, 0.0)), cycles / (1 + min(self.lowest, 0.0))

    def bound_of(self, cycles: float) -> float:
        """The cycles that a program takes at most that is estimated at `cycles`, if it errs no further than those, in either
        direction: a few programs that were all estimated too high do not show that the next one is."""
        return cycles * max(1 + self.highest, 1 / (1 + self.lowest))


def deviation_of(core: Core | None) -> Deviation | None:
    """The errors of what is estimated for `core`; None without an estimate, and where nothing was compared.

    Raises AidgeError (BOARD) for a wrong file of counts.
    """
    return _deviation(counts_of(core)) if core else None


def measured_deviation(core: Core, features: Collection[str]) -> Deviation | None:
    """The errors against chips alone, for a core with these features; None if no chip was measured, or none with the vector
    instructions of such a core."""
    counts = [count for count in counts_of(core) if count.chip]
    return _deviation(counts) if MVE not in features or any(count.has_vectors for count in counts) else None


def _deviation(counts: Sequence[Count]) -> Deviation | None:
    errors = [count.error for count in counts]
    return Deviation(len(errors), min(errors), max(errors), sum(map(abs, errors)) / len(errors)) if errors else None


def stated(core: Core | None) -> str:
    """The text that goes with an estimate for `core`; "" where there is none."""
    if core is None or not core.timing:
        return ""
    found = deviation_of(core)
    if found is None:
        return UNKNOWN
    source = next((count.source for count in counts_of(core) if not count.chip), "")
    compared = f"{_range(found)} what was measured for {found.counts} programs"
    if source:
        compared = f"no chip was measured; {_range(found)} what {source} says of {found.counts} loops"
    return f"estimated; the core without wait states: {compared}, {_percent(found.mean)} on average"


def _range(found: Deviation) -> str:
    ends = [(found.lowest, "below"), (found.highest, "above")]
    if found.highest <= 0:
        ends = [(found.lowest, ""), (found.highest, "below")]
    elif found.lowest >= 0:
        ends = [(found.lowest, ""), (found.highest, "above")]
    return " to ".join(f"{_percent(abs(share))} {word}".strip() for share, word in ends)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def counts_of(core: Core) -> tuple[Count, ...]:
    """All counts of the core's timing table, in the order of the files' names; () without a table."""
    table = timing_of(core)
    if table is None:
        return ()
    own = next(Path(path) for path in table.files if Path(path).stem == table.name)
    paths = sorted((own.parent.parent / FOLDER).glob(f"{table.name}.*.toml"))
    return tuple(count for path in paths for count in _counts(path, table.digest))


@cache
def _counts(path: Path, digest: str) -> list[Count]:
    settings = read_settings(path, _KEYS | _OPTIONAL_KEYS, {})
    for key in _KEYS:
        if key not in settings:
            raise AidgeError(
                f"key '{key}' is missing", where=str(path), code=CODE, hint="the files of other cores have all of them"
            )
    if settings["numbers"] != digest:
        raise AidgeError(
            f"was estimated with another timing table than the core has now ({settings['numbers']}, and not {digest})",
            where=str(path),
            code=CODE,
            hint="estimate its programs again",
        )
    source, chip, has_vectors = settings["source"], settings["chip"], settings.get("vectors", False)
    pairs = {program: _pair(program, pair, str(path)) for program, pair in sorted(settings["counts"].items())}
    return [Count(program, source, *pair, chip, has_vectors) for program, pair in pairs.items()]


def _pair(program: str, pair: object, where: str) -> tuple[float, float]:
    numbers = pair if isinstance(pair, list) else []
    if len(numbers) != 2 or not all(isinstance(number, (int, float)) and number > 0 for number in numbers):
        raise AidgeError(
            f"'{program}' has no two numbers of cycles", where=where, code=CODE, hint="[measured, estimated], both above 0"
        )
    return numbers[0], numbers[1]
