# SPDX-License-Identifier: MIT
"""Cycles of predicted instructions, without an emulator: from the cycles of functions in networks on each core and with each
flash.

`boards/networks/CORE.toml`, written by `python -m tools.prediction networks`, holds for each function (as the tables of
predictions name it) and for all others ("other") the core's cycles per instruction and the stalls of each kind of flash, and how
far the sums for whole networks were from the emulator's estimate, when each network was left out of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aidge_build.base.installed import board_folder
from aidge_build.base.settings import read_settings
from aidge_build.boards.board import Board
from aidge_build.boards.flash import Flash

FOLDER, OTHER = "networks", "other"
_KEYS = {"networks": int, "error": float, "core": dict, "flash": dict}


@dataclass(frozen=True)
class Work:
    """Calls of a function in an inference: their `instructions`, the elements of their `constants`, and the products of one
    output (`terms`). The function "" has no table."""

    function: str
    instructions: float
    calls: int = 0
    constants: int = 0
    terms: int = 0


@dataclass(frozen=True)
class Stalls:
    """Cycles that a function waits for the flash: per cycle of the core, per call and per element of its constants. A layer with
    unrolled loops that no longer fit the cache of code waits `long` more per cycle: from `beyond` products of an output on, in
    full from twice as many on."""

    cycle: float = 0.0
    call: float = 0.0
    constant: float = 0.0
    long: float = 0.0
    beyond: float = 0.0

    def cycles(self, work: Work, core: float) -> float:
        """Returns the stalls of calls that take `core` cycles."""
        return sum(
            factor * value for factor, value in zip((self.cycle, self.call, self.constant, self.long), self.units(work, core))
        )

    def units(self, work: Work, core: float) -> tuple[float, float, float, float]:
        """Returns the four numbers of the calls that the factors belong to."""
        share = min(max(work.terms / self.beyond - 1, 0.0), 1.0) if self.beyond else 0.0
        return core, work.calls, work.constants, core * share


@dataclass(frozen=True)
class Learned:
    """The measurements of a board: cycles per instruction, the stalls, the stalls without the cache of an external flash
    (`uncached`), and the `error` of their sums. Stalls are None if no network ran with such a flash."""

    core: Mapping[str, float]
    error: float
    stalls: Mapping[str, Stalls] | None = None
    uncached: Mapping[str, Stalls] | None = None

    def core_cycles(self, works: Sequence[Work]) -> float:
        """Returns the cycles of the core alone."""
        return sum(map(self._of_one, works))

    def stall_cycles(self, stalls: Mapping[str, Stalls], works: Sequence[Work]) -> float:
        """Returns the cycles that the core waits; `stalls`: with or without a cache."""
        return sum(stalls.get(work.function, stalls[OTHER]).cycles(work, self._of_one(work)) for work in works)

    def _of_one(self, work: Work) -> float:
        return self.core.get(work.function, self.core[OTHER]) * work.instructions


def learned_for(board: Board) -> Learned | None:
    """Returns the measurements of networks on the core of the board, and with its flash; None if none ran on the core."""
    folder = next((Path(path).parent.parent for path in board.core.files if Path(path).stem == board.core.name), board_folder())
    core, flashes = _read(folder / FOLDER / f"{board.core.name}.toml")
    return flashes.get(described(board), core)


def described(board: Board) -> str:
    """Returns the flash of a board in words: boards with equal words have equal stalls. "" if nobody described it, or it never
    waits."""
    flash = board.flash
    if flash is None or not board.stall_cycles:
        return ""
    words = [f"{flash.line_bytes} B in 1 + {board.stall_cycles} cycles", "prefetch" if flash.prefetches else "", *_caches(flash)]
    return ", ".join(word for word in (*words, "external" if flash.is_external else "") if word)


def _caches(flash: Flash) -> list[str]:
    named = [("code", flash.code_cache), ("constants", flash.data_cache)]
    if flash.is_shared:
        named = [("one", flash.code_cache)]
    return [
        f"{name} cache {cache.size_bytes} B in {cache.ways} ways of {cache.line_bytes} B"
        for name, cache in named
        if cache is not None
    ]


@cache
def _read(path: Path) -> tuple[Learned | None, Mapping[str, Learned]]:
    if not path.is_file():
        return None, {}
    settings = read_settings(path, _KEYS, {})
    core = Learned(settings["core"], settings["error"])
    found = {}
    for flash, table in settings.get("flash", {}).items():
        kinds = {kind: {function: Stalls(**each) for function, each in table[kind].items()} for kind in table if kind != "error"}
        found[flash] = Learned(core.core, table["error"], **kinds)
    return core, found
