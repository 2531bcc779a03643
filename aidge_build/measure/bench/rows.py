# SPDX-License-Identifier: MIT
"""The boards that a bench measures, with the data for each: rows of a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aidge_build.base.errors import AidgeError

_KEYS = {"boards": list, "data": list, "vectors": int}


@dataclass(frozen=True)
class Row:
    """`boards` by name; `data` are types of data (empty: all); `vectors`: at most so many of each model (None: all)."""

    boards: tuple[str, ...]
    data: tuple[str, ...] = ()
    vectors: int | None = None

    def takes(self, data: str) -> bool:
        """Whether models of this type of data are measured."""
        return not self.data or data in self.data

    def most_vectors(self, wanted: int | None) -> int | None:
        """The fewer of its own number and another."""
        return min((number for number in (self.vectors, wanted) if number is not None), default=None)


def read_rows(path: Path, kinds: Sequence[str]) -> tuple[Row, ...]:
    """Returns the rows of a file; AidgeError if it is no such file. `kinds` are the known types of data."""
    try:
        content = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _error(path, f"not a TOML file that can be read: {error}") from error
    rows = content.get("rows")
    if set(content) != {"rows"} or not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise _error(path, "wants tables [[rows]] and nothing else")
    return tuple(_row(path, number, row, kinds) for number, row in enumerate(rows, 1))


def rows_of(rows: Sequence[Row], boards: Sequence[str]) -> tuple[Row, ...]:
    """Returns the rows of some boards alone; a board that no row names is measured with all data and all vectors."""
    kept = [replace(row, boards=tuple(name for name in row.boards if name in boards)) for row in rows]
    others = tuple(name for name in boards if not any(name in row.boards for row in rows))
    return tuple(row for row in (*kept, Row(others)) if row.boards)


def _row(path: Path, number: int, row: dict, kinds: Sequence[str]) -> Row:
    where = f"{path}: row {number}"
    for key, value in row.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]) or isinstance(value, bool):
            raise _error(where, f"key '{key}' with {value!r} is not valid")
    boards, data, vectors = row.get("boards", []), row.get("data", []), row.get("vectors")
    if not boards or not all(isinstance(name, str) for name in boards):
        raise _error(where, "names no boards")
    if not set(map(str, data)) <= set(kinds):
        raise _error(where, f"key 'data': {data!r} is not valid", tried=kinds)
    if vectors is not None and vectors < 1:
        raise _error(where, f"key 'vectors': {vectors} is not valid")
    return Row(tuple(boards), tuple(data), vectors)


def _error(where: Path | str, what: str, tried: Sequence[str] = ()) -> AidgeError:
    hint = 'a row: boards = ["mps2-an386"], and if wanted data = ["int8"] and vectors = 1'
    return AidgeError(what, where=str(where), tried=sorted(tried), hint=hint, code="BENCH")
