# SPDX-License-Identifier: MIT
"""Milliseconds of an inference at a board's clock, between two ends that follow from published counts.

An estimate of cycles is compared with what chips took whose flash answered without wait states. A flash each of whose
accesses waits for n cycles takes no time at best (its caches and prefetch hold everything), and at worst n cycles in every
cycle of the estimate, as a core with one issue slot reads the flash at most once in each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.board import Board
from aidge_build.timing.deviation import Deviation, deviation_of

NO_CYCLES = "cycles are estimated only for Cortex-M0+, M3 and M4, because their chips have published counts (docs/proof.md)"
NO_CLOCK = "the board's file states no clock"
NO_WAIT_STATES = "the board's file states no wait states of its flash; caches and serial flash have no such number"


@dataclass(frozen=True)
class Time:
    """Milliseconds in the middle of what is possible, and how far the ends are from it, relative to it; None: not known, for this
    `reason`."""

    milliseconds: float | None
    error: float = 0.0
    reason: str = ""


def time_of(cycles: float | None, error: float, board: Board) -> Time:
    """Of an inference of so many estimated cycles, of whom the number itself may be off by `error`, at the clock of the board."""
    known = deviation_of(board.core)
    if cycles is None or known is None:
        return Time(None, reason=NO_CYCLES)
    if not board.clock_hz:
        return Time(None, reason=NO_CLOCK)
    if board.flash_wait_states is None:
        return Time(None, reason=NO_WAIT_STATES)
    least, most = _ends(cycles, error, known)
    most *= 1 + board.flash_wait_states
    return Time(1e3 * (least + most) / 2 / board.clock_hz, (most - least) / (most + least))


def _ends(cycles: float, error: float, known: Deviation) -> tuple[float, float]:
    """Between which cycles a chip without wait states takes."""
    least, most = known.range_of(cycles)
    return least * max(0.0, 1 - error), most * (1 + error)
