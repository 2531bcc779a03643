# SPDX-License-Identifier: MIT
"""What kernels took on cores and with each flash, for an estimate without an emulator.

`boards/networks/CORE.toml`, written by `python -m tools.prediction networks`, holds ranges over networks, for each kernel and for
kernels that none of them has ("other"): cycles of the core, as a share of predicted ones (whose tables may be of another core),
and stalls of each kind of flash, as a share of the cycles of the core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aidge_build.board import Board
from aidge_build.flash import Flash
from aidge_build.installed import board_folder
from aidge_build.settings import read_settings

FOLDER, OTHER = "networks", "other"
_KEYS = {"networks": int, "core": dict, "flash": dict}


@dataclass(frozen=True)
class Range:
    """The least and the most of a share, or of cycles."""

    least: float
    most: float


@dataclass(frozen=True)
class Ranges:
    """A range for each kernel ("library kernel"), and one for all others."""

    known: Mapping[str, Range]
    other: Range

    def of(self, kernel: str) -> Range:
        """The range of a kernel."""
        return self.known.get(kernel, self.other)


@dataclass(frozen=True)
class Shares:
    """Of a board: `core` cycles as a share of predicted ones; `stalls`, and stalls `uncached` without the cache of an external
    flash, as a share of the cycles of the core. None: not known."""

    core: Ranges
    stalls: Ranges | None
    uncached: Ranges | None


def shares_of(board: Board) -> Shares:
    """What the kernels took. If nobody described the flash, its wait states are the bounds: none for best, and for worst all in
    every cycle, as a core reads the flash at most once in each."""
    folder = next((Path(path).parent.parent for path in board.core.files if Path(path).stem == board.core.name), board_folder())
    core, flashes = _ranges(folder / FOLDER / f"{board.core.name}.toml")
    if board.flash_wait_states == 0:
        return Shares(core, _all(0.0, 0.0), None)
    known = flashes.get(described(board)) if board.flash else None
    if known is not None:
        return Shares(core, known["stalls"], known.get("uncached"))
    states = board.flash_wait_states
    return Shares(core, _all(0.0, float(states)) if states is not None else None, None)


def described(board: Board) -> str:
    """The flash of a board in words: boards with equal words have equal stalls."""
    flash = board.flash
    if flash is None:
        return ""
    stall = board.flash_wait_states if flash.stall_cycles is None else flash.stall_cycles
    words = [f"{flash.line_bytes} B in 1 + {stall} cycles", "prefetch" if flash.prefetches else "", *_caches(flash)]
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


def _all(least: float, most: float) -> Ranges:
    return Ranges({}, Range(least, most))


@cache
def _ranges(path: Path) -> tuple[Ranges, dict[str, dict[str, Ranges]]]:
    if not path.is_file():
        return _all(1.0, 1.0), {}
    settings = read_settings(path, _KEYS, {})
    flashes = {
        flash: {name: _read(kernels) for name, kernels in kinds.items()} for flash, kinds in settings.get("flash", {}).items()
    }
    return _read(settings["core"]), flashes


def _read(kernels: Mapping[str, list[float]]) -> Ranges:
    found = {kernel: Range(*ends) for kernel, ends in kernels.items()}
    return Ranges(found, found[OTHER])
