# SPDX-License-Identifier: MIT
"""The milliseconds of an inference at a board's clock, as an interval.

The interval follows from published counts of programs on chips with the core, from the error of the prediction, and from how far
predicted cycles of whole networks were from estimated ones on the core with the same flash (`prediction/networks.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.boards.board import Board
from aidge_build.plan.prediction.networks import learned_for
from aidge_build.plan.prediction.predict import Prediction
from aidge_build.prove.timing.deviation import deviation_of
from aidge_build.prove.timing.estimate import Cycles

NO_COUNTS = "chips with this core have no published counts of cycles"
NO_NETWORKS = "no networks ran on this core"
NO_CLOCK = "the board's file states no clock"
NO_WAIT_STATES = (
    "the board's file states no wait states of its flash; a file that extends it can: flash_wait_states = 0, if code and "
    "constants are in RAM"
)


@dataclass(frozen=True)
class Time:
    """The milliseconds in the middle of the interval, and how far its ends are from it, relative to it; None: not known, for this
    `reason`. `uncached` are the milliseconds without the cache of an external flash."""

    milliseconds: float | None
    error: float = 0.0
    reason: str = ""
    uncached: float | None = None


def predicted_time(prediction: Prediction, board: Board, leaves_flash: bool = False) -> Time:
    """Returns the time of an inference from predicted instructions. The error is the larger one of the prediction's error and of
    the error observed for networks on the core with the flash. If constants or functions leave flash, between no stalls and all
    of them remain."""
    learned, works = learned_for(board), prediction.works
    if learned is None:
        return Time(None, reason=NO_NETWORKS if deviation_of(board.core) else NO_COUNTS)
    core, error = learned.core_cycles(works), max(learned.error, prediction.error)
    if learned.stalls is None:
        return _time(board, core, None, None, error)
    uncached = learned.stall_cycles(learned.uncached, works) if learned.uncached else None
    stalls = learned.stall_cycles(learned.stalls, works)
    return _time(board, core, (0.0 if leaves_flash else stalls, stalls), uncached, error)


def estimated_time(cycles: Cycles | None, board: Board) -> Time:
    """The time of an inference that was emulated for the board; `cycles` None: its core has no timing table."""
    if cycles is None:
        return Time(None, reason=NO_COUNTS)
    stalls = cycles.total - cycles.core
    return _time(board, cycles.core, (stalls, stalls) if cycles.are_complete else None, cycles.uncached, 0.0)


def unknown_time(board: Board, reason: str) -> Time:
    """Returns no time: for this reason, or because no cycles are known for the core."""
    return Time(None, reason=reason if deviation_of(board.core) else NO_COUNTS)


def _time(board: Board, core: float, stalls: tuple[float, float] | None, uncached: float | None, error: float) -> Time:
    """The time of so many cycles, and of the least and the most stalls. If these are not known, the wait states are the bounds:
    none for the shorter end, and for the longer one all in every cycle, as a core reads the flash at most once in each."""
    known = deviation_of(board.core)
    if known is None:
        return Time(None, reason=NO_COUNTS)
    if not board.clock_hz:
        return Time(None, reason=NO_CLOCK)
    states = board.flash_wait_states
    if stalls is None and states is None:
        return Time(None, reason=NO_WAIT_STATES)
    ends, waits = known.range_of(core), stalls or (0.0, core * (states or 0))
    least, most = (ends[0] + waits[0]) * (1 - min(error, 1.0)), (ends[1] + waits[1]) * (1 + error)
    one = 1e3 / board.clock_hz
    without = (core + uncached) * one if uncached is not None else None
    return Time((least + most) / 2 * one, (most - least) / (most + least), uncached=without)
