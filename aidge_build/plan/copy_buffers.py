# SPDX-License-Identifier: MIT
"""Adds the buffers of constants that are copied or expanded to a plan: as many as its arena has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from aidge_build.plan.place import Placed
from aidge_build.plan.schedule.copies import ConstantCopy
from aidge_build.plan.schedule.schedule import Schedule

MOST_TRIALS = 12  # plans of the arena


@dataclass(frozen=True)
class WithCopies:
    """The copies that found room, and the schedule and places with their buffers."""

    copies: Sequence[ConstantCopy]
    schedule: Schedule
    placed: Placed


def most_copies(
    wanted: Sequence[ConstantCopy], schedule: Schedule, placed: Placed, placing: Callable[[Schedule], Placed], room_bytes: int
) -> WithCopies | None:
    """Returns the copies for which an arena of at most `room_bytes` (0: any number) has room in the memory that it is in; of
    several, the ones that save most for each byte. None if no copy has room."""
    chosen = list(wanted)
    for number in range(MOST_TRIALS):
        if not chosen:
            break
        trial = replace(
            schedule,
            buffers=(*schedule.buffers, *(copy.buffer for copy in chosen)),
            copies=tuple(sorted((*schedule.copies, *chosen), key=_in_order)),
        )
        new = placing(trial)
        if new.region == placed.region and not new.split and (not room_bytes or new.arena.peak_bytes <= room_bytes):
            return WithCopies(chosen, trial, new)
        chosen = _fewer(chosen, new) if number else _live_within(wanted, placed, len(schedule.steps), room_bytes)
    return None


def _in_order(copy: ConstantCopy) -> int:
    return copy.step


def _worth(copy: ConstantCopy) -> tuple[float, int]:
    """Returns a key that sorts by the saving for each byte; equals are in the order of layers."""
    return copy.saved / copy.size_bytes, -copy.step


def _live_within(copies: Sequence[ConstantCopy], placed: Placed, steps: int, room_bytes: int) -> list[ConstantCopy]:
    """Returns the copies that save most for each byte, as long as the live bytes of every step fit the room."""
    live, chosen = [_live_bytes(placed, step) for step in range(steps)], []
    for copy in sorted(copies, key=_worth, reverse=True):
        span = range(copy.first, copy.step + 1)
        if all(live[step] + copy.size_bytes <= room_bytes for step in span):
            chosen.append(copy)
            for step in span:
                live[step] += copy.size_bytes
    return chosen


def _live_bytes(placed: Placed, step: int) -> int:
    """Returns the live bytes of the arena in a step; bytes that tensors share count once."""
    total, reached = 0, 0
    for placement in placed.arena.live_at(step):
        low, high = (placement.offset_bytes + end for end in placement.buffer.live_bytes(step))
        total += max(0, high - max(low, reached))
        reached = max(reached, high)
    return total


def _fewer(chosen: list[ConstantCopy], placed: Placed) -> list[ConstantCopy]:
    """Returns the copies without the one that saves least for each byte; a copy that is live at the step of the peak goes
    first."""
    there = [copy for copy in chosen if copy.first <= placed.arena.bound_step <= copy.step]
    least = min(there or chosen, key=_worth)
    return [copy for copy in chosen if copy is not least]
