# SPDX-License-Identifier: MIT
"""The file of a sweep: answers by their keys, and a row for each point of the matrix, as SQLite.

An answer is in the file from the moment it arrives, even if the sweep is interrupted. The contents do not depend on times,
workers or the order in which they answered, except for the order of the pages; `content` is the digest of the rows.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import open_regular
from aidge_build.measure.sweep.rows import COLUMNS, Row
from aidge_build.measure.sweep.tasks import canonical

SCHEMA = 2
_APPLICATION = 0x61696467  # "aidg": `file` and others read it as the kind of an SQLite file
_MAGIC = b"SQLite format 3\0"
_WAIT_SECONDS = 30.0  # for another process that writes the same file

_TABLES = (
    "CREATE TABLE answer (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE point (%s, PRIMARY KEY (model, board, options)) WITHOUT ROWID"
    % ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS),
)


class Store:
    """An open file. Each change is a transaction."""

    def __init__(self, connection: sqlite3.Connection, where: str):
        self._connection = connection
        self._where = where

    def answers(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Returns the answers that are there; AidgeError if one was changed after it was written."""
        found = {}
        with self._damage_named():
            for key in keys:
                row = self._connection.execute("SELECT value, sha256 FROM answer WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    value = bytes(row[0])
                    if hashlib.sha256(value).hexdigest() != row[1]:
                        raise _damaged(self._where, f"the answer {key[:12]} is not what was written")
                    found[key] = value
        return found

    def all_answers(self) -> dict[str, bytes]:
        """Returns every answer; AidgeError if one was changed after it was written."""
        with self._damage_named():
            keys = [key for (key,) in self._connection.execute("SELECT key FROM answer ORDER BY key")]
        return self.answers(keys)

    def begin(self, rows: Iterable[Row]) -> None:
        """Stores the matrix: these points and no others, with the answers that are known."""
        with self._damage_named(), self._connection:
            self._connection.execute("DELETE FROM point")
            self._write(rows)

    def add(self, answers: Mapping[str, bytes], rows: Iterable[Row] = ()) -> None:
        """Adds answers by their keys, except answers that are there already, and writes the rows of their points."""
        with self._damage_named(), self._connection:
            for key, value in sorted(answers.items()):
                digest = hashlib.sha256(value).hexdigest()
                self._connection.execute("INSERT OR IGNORE INTO answer VALUES (?, ?, ?)", (key, value, digest))
            self._write(rows)

    def keep_only(self, keys: Iterable[str]) -> int:
        """Forgets all other answers, and returns how many it forgot."""
        with self._damage_named():
            there = {key for (key,) in self._connection.execute("SELECT key FROM answer")}
            others = sorted(there.difference(keys))
            with self._connection:
                self._connection.executemany("DELETE FROM answer WHERE key = ?", [(key,) for key in others])
            if others:
                self._connection.execute("VACUUM")
        return len(others)

    def rows(self) -> list[Row]:
        """Returns all points, sorted by model, board and options."""
        with self._damage_named():
            names = ", ".join(f'"{name}"' for name, _ in COLUMNS)
            return [Row(*values) for values in self._connection.execute(f"SELECT {names} FROM point ORDER BY 1, 2, 3")]

    def content(self) -> str:
        """The SHA-256 of all rows, sorted, one JSON text on a line each."""
        digest = hashlib.sha256()
        for row in self.rows():
            digest.update(canonical(row.values()) + b"\n")
        return digest.hexdigest()

    def _write(self, rows: Iterable[Row]) -> None:
        marks = ", ".join("?" * len(COLUMNS))
        self._connection.executemany(f"INSERT OR REPLACE INTO point VALUES ({marks})", [row.values() for row in rows])

    @contextlib.contextmanager
    def _damage_named(self) -> Iterator[None]:
        with _named(self._where):
            yield


@contextlib.contextmanager
def opened(path: Path, is_new: bool = True) -> Iterator[Store]:
    """The file at `path`; it is made if it is missing and `is_new` allows it. A file that is not a sweep's is refused."""
    if is_new and not os.path.lexists(path):
        _make_folder(path)
        fresh = True
    else:
        fresh = _is_fresh(path) and is_new
    with _named(str(path)):
        connection = sqlite3.connect(path, timeout=_WAIT_SECONDS)
    try:
        with _named(str(path)):
            connection.execute("PRAGMA trusted_schema = OFF")
            if fresh:
                _create(connection)
            _require_ours(connection, str(path))
        yield Store(connection, str(path))
    finally:
        connection.close()


def _create(connection: sqlite3.Connection) -> None:
    """Creates both tables or none; another process may be making them, too."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            for text in _TABLES:
                connection.execute(text)


def _is_fresh(path: Path) -> bool:
    """Whether the file is empty: its making was interrupted. A file that does not begin like an SQLite file is refused."""
    with open_regular(path, "SWEEP") as stream:
        head = stream.read(len(_MAGIC))
    if head and head != _MAGIC:
        raise AidgeError("is no SQLite file", where=str(path), code="SWEEP", hint="name a new file with --out")
    return not head


def _require_ours(connection: sqlite3.Connection, where: str) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise AidgeError("is an SQLite file of another program", where=where, code="SWEEP", hint="name a new file with --out")
    if version != SCHEMA:
        raise AidgeError(
            f"has schema {version}, this version reads {SCHEMA}", where=where, code="SWEEP", hint="name a new file with --out"
        )
    texts = {text for (text,) in connection.execute("SELECT sql FROM sqlite_schema")}
    if texts != set(_TABLES):
        raise _damaged(where, "its tables are not the tables of a sweep")
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise _damaged(where, str(verdict).splitlines()[-1])


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AidgeError(f"cannot be written: {error.strerror}", where=str(path), code="WRITE", hint="check --out") from error


def _damaged(where: str, what: str) -> AidgeError:
    return AidgeError(f"is damaged: {what}", where=where, code="SWEEP", hint="remove the file, and run the sweep again")


@contextlib.contextmanager
def _named(where: str) -> Iterator[None]:
    """Turns an exception of SQLite into a refusal of the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise AidgeError(
            f"cannot be read or written: {error}",
            where=where,
            code="SWEEP",
            hint="check space, permissions, and other programs that write it",
        ) from error
    except (sqlite3.DatabaseError, OverflowError, UnicodeDecodeError) as error:
        raise _damaged(where, str(error)) from error
