# SPDX-License-Identifier: MIT
"""The deviation of estimated cycles from cycles that were measured on chips.

`boards/cores/counts/TABLE.*.toml` hold counts of public programs: the published or measured cycles, and the cycles that the
timing table gives for the same program. The stated error of an estimate follows from these pairs alone. If no chip was measured,
the counts come from another model of the core, and the text says so.
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
    """The cycles of one program: measured on a chip, and estimated; `chip` is "" if the first number comes from another model,
    and `has_vectors` says whether vector instructions take most of its time."""

    program: str
    source: str
    measured: float
    estimated: float
    chip: str = ""
    has_vectors: bool = False

    @property
    def error(self) -> float:
        """The error of the estimate, as a share of the measured cycles; below zero the estimate is too low."""
        return self.estimated / self.measured - 1


@dataclass(frozen=True)
class Deviation:
    """Errors of the estimates of `counts` programs, as shares of the measured cycles: lowest, highest, and mean absolute
    error."""

    counts: int
    lowest: float
    highest: float
    mean: float

    def range_of(self, cycles: float) -> tuple[float, float]:
        """Returns the least and the most cycles of a program with an estimate of `cycles`, if its error is within the known
        range."""
        return cycles / (1 + max(self.highest, 0.0)), cycles / (1 + min(self.lowest, 0.0))

    def bound_of(self, cycles: float) -> float:
        """Returns the most cycles of a program with an estimate of `cycles`, if its error is within the known range in either
        direction: a few programs with too high estimates do not show that the next estimate is too high."""
        return cycles * max(1 + self.highest, 1 / (1 + self.lowest))


def deviation_of(core: Core | None) -> Deviation | None:
    """Returns the errors of estimates for `core`; None without an estimate, and without a comparison.

    Raises AidgeError (BOARD) for a wrong file of counts.
    """
    return _deviation(counts_of(core)) if core else None


def measured_deviation(core: Core, features: Collection[str]) -> Deviation | None:
    """Returns the errors against chips alone, for a core with these features; None if no chip was measured, or no chip with the
    vector instructions of such a core."""
    counts = [count for count in counts_of(core) if count.chip]
    return _deviation(counts) if MVE not in features or any(count.has_vectors for count in counts) else None


def _deviation(counts: Sequence[Count]) -> Deviation | None:
    errors = [count.error for count in counts]
    return Deviation(len(errors), min(errors), max(errors), sum(map(abs, errors)) / len(errors)) if errors else None


def stated(core: Core | None) -> str:
    """Returns the text that goes with an estimate for `core`; "" without an estimate."""
    if core is None or not core.timing:
        return ""
    found = deviation_of(core)
    if found is None:
        return UNKNOWN
    source = next((count.source for count in counts_of(core) if not count.chip), "")
    compared = f"{_range(found)} what was measured for {found.counts} programs"
    if source:
        compared = f"no chip was measured; {_range(found)} what {source} says of {found.counts} programs"
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
    """Returns all counts of the core's timing table, in the order of the files' names; () without a table."""
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
