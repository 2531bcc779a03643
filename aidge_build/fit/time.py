# SPDX-License-Identifier: MIT
"""Milliseconds of an inference at a board's clock, between two ends.

The ends follow from the errors of the prediction, from published counts of programs on chips with the core, and from what
kernels took on the core and behind the same flash (`timing/networks.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aidge_build.board import Board
from aidge_build.timing.deviation import deviation_of
from aidge_build.timing.networks import Ranges, shares_of

NO_CYCLES = "cycles are not predicted for this core: its chips have no published counts, or its kernels no measured cycles"
NO_CLOCK = "the board's file states no clock"
NO_WAIT_STATES = "the board's file states no wait states of its flash"


@dataclass(frozen=True)
class Time:
    """Milliseconds in the middle of what is possible, and how far the ends are from it, relative to it; None: not known, for this
    `reason`. `uncached` are those without the cache of an external flash."""

    milliseconds: float | None
    error: float = 0.0
    reason: str = ""
    uncached: float | None = None


def time_of(cycles: Mapping[str, float] | None, error: float, board: Board) -> Time:
    """The time of an inference of so many predicted cycles by kernel, which may be off by `error` themselves, at the clock of the
    board."""
    known = deviation_of(board.core)
    if cycles is None or known is None:
        return Time(None, reason=NO_CYCLES)
    if not board.clock_hz:
        return Time(None, reason=NO_CLOCK)
    shares = shares_of(board)
    if shares.stalls is None:
        return Time(None, reason=NO_WAIT_STATES)

    def ends(stalls: Ranges) -> tuple[float, float]:
        """The core may err as published counts say; stalls do not err with it."""
        core = {kernel: shares.core.of(kernel) for kernel in cycles}
        least = known.range_of(sum(core[kernel].least * count for kernel, count in cycles.items()))[0]
        most = known.range_of(sum(core[kernel].most * count for kernel, count in cycles.items()))[1]
        least += sum(stalls.of(kernel).least * core[kernel].least * count for kernel, count in cycles.items())
        most += sum(stalls.of(kernel).most * core[kernel].most * count for kernel, count in cycles.items())
        return 1e3 * least * max(0.0, 1 - error) / board.clock_hz, 1e3 * most * (1 + error) / board.clock_hz

    least, most = ends(shares.stalls)
    uncached = sum(ends(shares.uncached)) / 2 if shares.uncached else None
    return Time((least + most) / 2, (most - least) / (most + least), uncached=uncached)
