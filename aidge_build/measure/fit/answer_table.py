# SPDX-License-Identifier: MIT
"""Answers for people: a table with a row for each board, the unknown figures, and the next step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import PurePath

from aidge_build.base.naming import counted
from aidge_build.base.terminal import table
from aidge_build.measure.fit.budget import Row
from aidge_build.measure.fit.evaluation import FITS, IMAGE, INSTRUCTIONS, MILLISECONDS, REFUSED, STACK

NOT_KNOWN = "not known"
UNVERIFIED = "*"
TITLES = ("board", "core", "verdict", "RAM", "flash", "arena", "instructions", "time", "stack")
NUMBERS = (3, 4, 5, 6, 7, 8)
VERDICT = 2
_MOST_DETAILED = 4  # boards with a note that lists their memories
_GOOD, _CLOSE, _BAD = "green", "yellow", "bold red"
_NAMES = {IMAGE: "flash", STACK: "stack", INSTRUCTIONS: "instructions", MILLISECONDS: "time"}


def lines_of(model: str, rows: Sequence[Row]) -> list[str]:
    """Returns the lines about a model, with the rows in the order of `sorted_rows`."""
    refused = {row.found.reason: row.found for row in rows if row.found.verdict == REFUSED}
    kept = sum(row.is_kept for row in rows)
    lines = [f"{model}: fits {kept} of {counted(len(rows), 'board')}"]
    if len(refused) == 1 and all(row.found.verdict == REFUSED for row in rows):
        found = next(iter(refused.values()))
        return [f"FAILED: {found.reason}", *([f"Hint: {found.hint}"] if found.hint else [])]
    shown = known_columns(rows)
    lines += table(
        [[cells[index] for index in shown] for cells in map(cells_of, rows)],
        [TITLES[index] for index in shown],
        numbers=[place for place, index in enumerate(shown) if index in NUMBERS],
        styles={(number, shown.index(VERDICT)): _style(row) for number, row in enumerate(rows)},
    )
    lines += _noticed(model, rows)
    return [*lines, *notes_of(rows), *[f"Refused: {reason}. Hint: {found.hint}" for reason, found in refused.items()]]


def _noticed(model: str, rows: Sequence[Row]) -> list[str]:
    """Returns the notices of `compile` for a model, each once. The names of its boards follow a notice that is not true of all
    boards and names none."""
    boards: dict[str, list[str]] = {}
    for row in rows:
        for notice in row.found.notices:
            boards.setdefault(notice, []).append(row.board.name)
    compiled = sum(row.found.verdict != REFUSED for row in rows)
    return [
        f"{PurePath(model).name}: {notice}"
        + ("" if len(names) == compiled or names[0] in notice else f" (on {_shortened(names)})")
        for notice, names in boards.items()
    ]


def _shortened(names: Sequence[str]) -> str:
    """The first of these names, and how many more there are."""
    more = len(names) - _MOST_DETAILED
    return ", ".join(names[:_MOST_DETAILED]) + (f" and {more} more" if more > 0 else "")


def known_columns(rows: Sequence[Row]) -> list[int]:
    """The columns in which something is known of a board."""
    cells = [cells_of(row) for row in rows]
    return [index for index in range(len(TITLES)) if any(row[index] != NOT_KNOWN for row in cells)]


def cells_of(row: Row) -> tuple[str, ...]:
    """A row of the table as words, in the order of its titles."""
    found = row.found
    return (
        row.board.name + ("" if row.board.is_verified else f" {UNVERIFIED}"),
        found.core,
        row.verdict,
        _of(row, "ram"),
        _of(row, "flash"),
        _bytes(found.arena_bytes),
        _instructions(found.instructions, found.instructions_error),
        _time(found.milliseconds, found.milliseconds_error, found.milliseconds_uncached, row.board.clock_hz),
        _bytes(found.stack_bytes),
    )


def _style(row: Row) -> str:
    if row.is_kept:
        return _GOOD
    return _CLOSE if row.found.verdict == FITS else _BAD


def _of(row: Row, kind: str) -> str:
    """Returns the bytes used of all memories of a kind."""
    length = sum(region.length_bytes for region in row.board.memories if region.kind == kind)
    if not row.found.memories:
        return f"? of {size(length)}" if length else NOT_KNOWN
    used = sum(memory.used_bytes for memory in row.found.memories if memory.kind == kind)
    return f"{used:,} of {size(length)}"


def size(count: int) -> str:
    """Returns a size as 256K, 1M, or so many bytes."""
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if count >= unit and count % unit == 0:
            return f"{count // unit:,}{letter}"
    return f"{count:,} B"


def _bytes(count: int | None) -> str:
    return NOT_KNOWN if count is None else f"{count:,} B"


def _instructions(count: int | None, error: float | None) -> str:
    if count is None:
        return NOT_KNOWN
    return f"{count:,}" if not error else f"~{count:,} ±{error:.1f} %"


def _time(milliseconds: float | None, error: float | None, uncached: float | None, clock_hz: int | None) -> str:
    """Returns the shortest and the longest time that the stated error allows, at the clock of the board; for an external flash
    also the approximate time without its cache."""
    if milliseconds is None:
        return NOT_KNOWN
    share = (error or 0.0) / 100
    ends = two_digits(milliseconds * (1 - share), math.floor), two_digits(milliseconds * (1 + share), math.ceil)
    clock = f" at {clock_hz / 1e6:g} MHz" if clock_hz else ""
    without = f", {two_digits(uncached, round)} uncached" if uncached is not None else ""
    return " to ".join(dict.fromkeys(ends)) + f" ms{clock}{without}"


def two_digits(value: float, towards: Callable[[float], int]) -> str:
    """A number that is not negative, with two significant digits: `towards` floor or ceil."""
    if value <= 0:
        return "0"
    unit = math.floor(math.log10(value)) - 1
    scaled = towards(round(value / 10.0**unit, 6))
    return f"{scaled * 10**unit:,}" if unit >= 0 else f"{scaled / 10**-unit:g}"


def unverified_line() -> str:
    """Returns the line that explains the mark after a board's name."""
    return f"{UNVERIFIED} the memories in this board's file are not checked against a source (verified = false)"


def notes_of(rows: Sequence[Row]) -> list[str]:
    """Returns lines that explain the marks and words of a table."""
    lines = []
    if not all(row.board.is_verified for row in rows):
        lines.append(unverified_line())
    lines += _parts_of_short(rows)
    reasons: dict[str, dict[str, None]] = {}
    for row in rows:
        for figure, reason in row.found.unknown:
            reasons.setdefault(reason, {})[_NAMES[figure]] = None
    lines += [f"{NOT_KNOWN}: {', '.join(figures)}: {reason}" for reason, figures in reasons.items()]
    if any(row.found.image_bytes is not None and not row.found.is_built for row in rows):
        lines.append(
            "RAM and flash: of the smallest firmware with the model, from one link for each core; --build links each board"
        )
    if any(row.found.memories for row in rows):
        lines += _what_counts(rows)
    if any(row.found.milliseconds is not None for row in rows):
        lines.append(
            "time: at the board file's clock, with the stalls of the flash, its caches and prefetch switched on; "
            "aidge-build run app.elf --board B times yours"
        )
    return lines


def _parts_of_short(rows: Sequence[Row]) -> list[str]:
    """Returns the contents of the memories that are too small, for boards with several of them."""
    lacking = {row.board.name: [one for one in row.board.regions if one.name in dict(row.found.missing)] for row in rows}
    several = {name: regions for name, regions in lacking.items() if len(regions) > 1}
    if not several or len(several) > _MOST_DETAILED:
        return []
    parts = [
        f"{name}: {', '.join(f'{one.name} holds {_joined(one.roles)}' for one in regions)}" for name, regions in several.items()
    ]
    return [f"too small: each memory lacks these bytes for its own parts: {'; '.join(parts)}"]


def _joined(roles: Sequence[str]) -> str:
    return " and ".join(roles)


def _what_counts(rows: Sequence[Row]) -> list[str]:
    """Returns lines with the memories that the column RAM adds up, and how much of it is the stack."""
    boards = [row.board for row in rows]
    stacks = sorted({board.stack_bytes for board in boards})
    spread = f"{stacks[0]:,} B" if len(stacks) == 1 else f"{stacks[0]:,} to {stacks[-1]:,} B"
    first = f"RAM: inputs, outputs and a stack of {spread} included"
    if len(boards) > _MOST_DETAILED:
        return [f"{first}, of all RAM of a board together"]
    memories = {
        board.name: " + ".join(f"{region.name} {size(region.length_bytes)}" for region in board.memories if region.kind == "ram")
        for board in boards
    }
    return [f"{first}, of {'; '.join(f'{name}: {each}' for name, each in memories.items())}"]
