# SPDX-License-Identifier: MIT
"""The rows of a sweep for people at a terminal: a line for each model with each option set."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from aidge_build.base.terminal import table
from aidge_build.measure.sweep.rows import Row, State

_TITLES = ("model", "options", "boards", "RAM", "flash", "instructions", "accuracy")
_STATES: dict[State, str] = {"fits": "fit", "too small": "too large for the board", "refused": "refused", "waiting": "not asked"}


def counted(rows: Sequence[Row]) -> str:
    """Returns a line with the number of points for each verdict."""
    states = Counter(row.state for row in rows)
    parts = [f"{states[state]:,} {words}" for state, words in _STATES.items() if states[state]]
    return f"{len(rows):,} points: {', '.join(parts)}"


def lines(rows: Sequence[Row]) -> list[str]:
    """Returns a line for each model with each option set: how many boards it fits, and the figures there, smallest to largest."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.model, row.options].append(row)
    return table([(*names, *_figures(groups[names])) for names in sorted(groups)], _TITLES, numbers=(2, 3, 4, 5, 6))


def _figures(group: Sequence[Row]) -> tuple[str, ...]:
    fitting = [row for row in group if row.state == "fits"]
    accuracy = next((f"{row.measure} {row.accuracy:.4f}" for row in group if row.accuracy is not None), "")
    return (
        f"{len(fitting)} of {len(group)}",
        _range([row.ram_bytes for row in fitting]),
        _range([row.flash_bytes for row in fitting]),
        _range([row.instructions for row in fitting]),
        accuracy,
    )


def _range(values: Sequence[int | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "not known" if values else ""
    low, high = min(known), max(known)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
