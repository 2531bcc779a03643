# SPDX-License-Identifier: MIT
"""A point of the matrix with its answers: a row of the file and of the page."""

from __future__ import annotations

import types
import typing
from dataclasses import astuple, dataclass
from typing import Literal

State = Literal["fits", "too small", "refused", "waiting"]


@dataclass(frozen=True)
class Row:
    """A point of the matrix; None means not known. `task` names the models that are compared with each other; `words` are the
    options as the command line has them; `state` is the verdict about the board ("waiting": not answered yet), and `reason` says
    which memory is too small, or why there is no firmware. `ram_bytes` and `flash_bytes` are the bytes of the smallest firmware,
    with its stack; errors of predictions are in percent, 0.0 for exact counts; `milliseconds_uncached`: without the cache of an
    external flash. `accuracy` is a share or an area, 1 is best, and `measure` says of what. `evaluation` is the key of the
    answer."""

    model: str
    board: str
    options: str
    task: str
    words: str
    state: State
    reason: str
    ram_bytes: int | None = None
    arena_bytes: int | None = None
    io_bytes: int | None = None
    stack_bytes: int | None = None
    flash_bytes: int | None = None
    constants_bytes: int | None = None
    instructions: int | None = None
    instructions_error: float | None = None
    milliseconds: float | None = None
    milliseconds_error: float | None = None
    milliseconds_uncached: float | None = None
    accuracy: float | None = None
    measure: str | None = None
    evaluation: str | None = None

    def values(self) -> tuple:
        """Returns the values in the order of the columns."""
        return astuple(self)


def _kind(annotation: object) -> str:
    """Returns the type in SQLite; NOT NULL for a column that always has a value."""
    optional = isinstance(annotation, types.UnionType)
    first = typing.get_args(annotation)[0] if optional else str
    return {int: "INTEGER", float: "REAL", str: "TEXT"}[first] + ("" if optional else " NOT NULL")


COLUMNS = tuple((name, _kind(annotation)) for name, annotation in typing.get_type_hints(Row).items())
