# SPDX-License-Identifier: MIT
"""Limits and preferences that people add to a board's own memories: a budget, and which board is the best answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board
from aidge_build.boards.reader import size_of
from aidge_build.measure.fit.evaluation import FITS, REFUSED, TOO_SMALL, Evaluation
from aidge_build.prove.timing.deviation import measured_deviation

RAM, FLASH, TIME = "ram", "flash", "ms"
_SIZES = (RAM, FLASH)


@dataclass(frozen=True)
class Budget:
    """The limits of the firmware, in bytes and milliseconds; None: no limit."""

    ram_bytes: int | None = None
    flash_bytes: int | None = None
    milliseconds: float | None = None

    def excess(self, found: Evaluation, board: Board) -> tuple[str, ...]:
        """Returns the figures above the budget, or not known, in words; () for an answer that keeps the budget."""
        return tuple(
            words
            for words in (
                _over_bytes("RAM", found.ram_bytes, self.ram_bytes),
                _over_bytes("flash", found.image_bytes, self.flash_bytes),
                _over_time(found, board, self.milliseconds),
            )
            if words
        )


def budget_of(text: str) -> Budget:
    """The meaning of `ram=64K,flash=256K,ms=50`; AidgeError (USAGE) for other words."""
    values: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        number = size_of(value) if name in _SIZES else _positive(value) if name == TIME else None
        if number is None or name in values:
            raise AidgeError(
                f"wants ram=BYTES, flash=BYTES or ms=TIME, each once, got {part!r}",
                where="--budget",
                hint="--budget ram=64K,flash=256K,ms=50",
                code="USAGE",
            )
        values[name] = number
    ram, flash = (int(values[name]) if name in values else None for name in _SIZES)
    return Budget(ram, flash, values.get(TIME))


def _positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def _over_bytes(what: str, used: int | None, most: int | None) -> str:
    if most is None:
        return ""
    if used is None:
        return f"{what} not known"
    return f"{what} +{used - most:,} B" if used > most else ""


def _over_time(found: Evaluation, board: Board, most: float | None) -> str:
    """The longer end counts, and the time without the cache of an external flash. Estimates that were compared with no chip keep
    no budget."""
    if most is None:
        return ""
    if found.most_milliseconds is None:
        return "time not known"
    if measured_deviation(board.core, board.features) is None:
        return "time compared with no chip"
    used = max(found.most_milliseconds, found.milliseconds_uncached or 0.0)
    return f"+{used - most:,.1f} ms" if used > most else ""


@dataclass(frozen=True)
class Row:
    """An answer with its board, and the figures above the budget."""

    found: Evaluation
    board: Board
    excess: tuple[str, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether the model fits, within the budget."""
        return self.found.verdict == FITS and not self.excess

    @property
    def verdict(self) -> str:
        """The verdict in words: fits, over the budget, or how much is missing."""
        if self.found.verdict == TOO_SMALL:
            return "too small: " + (", ".join(f"{name} +{size:,} B" for name, size in self.found.missing) or "memory")
        if self.found.verdict == REFUSED:
            return f"refused: {self.found.code}"
        ways = ["by rows"] if self.found.by_rows else []
        ways += [f"in {len(self.found.arena_in)} memories"] if len(self.found.arena_in) > 1 else []
        return f"over budget: {', '.join(self.excess)}" if self.excess else ", ".join([FITS, *ways])


def sorted_rows(rows: Sequence[Row]) -> list[Row]:
    """Returns the boards that the model fits, the smallest first; then the others, sorted by how little they miss."""
    return sorted(rows, key=_rank)


def _rank(row: Row) -> tuple:
    missing = sum(size for _, size in row.found.missing)
    memory = tuple(sum(one.length_bytes for one in row.board.memories if one.kind == kind) for kind in (RAM, FLASH))
    order = 0 if row.is_kept else 1 if row.found.verdict == FITS else 2 if row.found.verdict == TOO_SMALL else 3
    return order, missing, *memory, row.board.name
