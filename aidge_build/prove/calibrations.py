# SPDX-License-Identifier: MIT
"""The deviation of estimated cycles from the cycles that boards counted. `aidge-build bench --calibrate` writes the files in
boards/calibrations that it is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import board_folder
from aidge_build.base.reading import read_json
from aidge_build.boards.cores import Core
from aidge_build.prove.timing.deviation import stated

SCHEMA = 1
FOLDER = "calibrations"
_NUMBER = (int, type(None))
_SHAPE = {
    "schema": int,
    "board": str,
    "cpu": str,
    "counter": str,
    "models": [{"layers": [{"cycles_estimated": _NUMBER, "cycles_measured": _NUMBER}]}],
}


@dataclass(frozen=True)
class Calibration:
    """The counts of one board: (estimated, measured) cycles of each layer that has both."""

    board: str
    cpu: str
    layers: tuple[tuple[int, int], ...]


def read_calibration(path: Path) -> Calibration:
    """Returns the calibration in a file; AidgeError (CALIBRATIONS) if the file is not a calibration or has another version."""
    read = read_json(path, _SHAPE, "CALIBRATIONS", "")
    if read["schema"] != SCHEMA:
        raise AidgeError(f"schema {read['schema']}, this version reads {SCHEMA}", where=str(path), code="CALIBRATIONS")
    pairs = [
        (layer["cycles_estimated"], layer["cycles_measured"])
        for model in read["models"]
        for layer in model["layers"]
        if layer["cycles_estimated"] and layer["cycles_measured"]
    ]
    if any(number < 0 for pair in pairs for number in pair):
        raise AidgeError("a count of cycles is negative", where=str(path), code="CALIBRATIONS")
    return Calibration(read["board"], read["cpu"], tuple(pairs))


@cache
def known_calibrations(folder: Path | None = None) -> tuple[Calibration, ...]:
    """Returns the calibrations that come with the tool, sorted by file name."""
    return tuple(map(read_calibration, sorted((folder or board_folder() / FOLDER).glob("*.json"))))


def validation_of(core: Core | None, known: Sequence[Calibration] | None = None) -> str:
    """Returns how far an estimate for this core can be trusted: the counts that it was compared with, and the error on boards; ""
    without an estimate."""
    said = stated(core)
    return f"{said}; {stated_error(core.name, known_calibrations() if known is None else known)}" if core and said else ""


def stated_error(cpu: str, known: Sequence[Calibration]) -> str:
    """Returns the range of measured relative to estimated cycles over all layers. Features after a + in the core's name do not
    change cycles."""
    core = cpu.partition("+")[0]
    found = [each for each in known if each.cpu.partition("+")[0] == core and each.layers]
    if not found:
        return "no board was measured"
    errors = [100 * (measured / estimated - 1) for each in found for estimated, measured in each.layers]
    boards = ", ".join(sorted({each.board for each in found}))
    return f"measured on {boards}: {min(errors):+.1f} to {max(errors):+.1f} % of the estimate in {len(errors)} layers"
