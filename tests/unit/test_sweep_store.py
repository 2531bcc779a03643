# SPDX-License-Identifier: MIT
"""The file of a sweep: what is in it does not depend on the order of writing, and what is no such file is refused in one line."""

from __future__ import annotations

import os
import random
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.measure.sweep.rows import COLUMNS, Row
from aidge_build.measure.sweep.store import SCHEMA, opened

ROWS = [
    Row(f"m{number}", board, "default", "task", "", "waiting", "", evaluation=f"key{number}")
    for number in range(4)
    for board in ("b1", "b2")
]
KNOWN = [replace(row, state="fits", ram_bytes=10 + number, accuracy=0.1 * number) for number, row in enumerate(ROWS)]
VALUES = {f"key{number}": b"value %d" % number for number in range(4)}


def filled(path: Path, order: list[str], interrupted_after: int = 99) -> str:
    """The content after the answers came in this order, the file opened anew after some of them."""
    with opened(path) as store:
        store.begin(ROWS)
        for key in order[:interrupted_after]:
            store.add({key: VALUES[key]}, [row for row in KNOWN if row.evaluation == key])
    with opened(path) as store:
        there = store.answers(VALUES)
        assert set(there) == set(order[:interrupted_after])
        store.begin([new if new.evaluation in there else old for old, new in zip(ROWS, KNOWN, strict=True)])
        for key in order[interrupted_after:]:
            store.add({key: VALUES[key]}, [row for row in KNOWN if row.evaluation == key])
    with opened(path, is_new=False) as store:
        assert store.rows() == sorted(KNOWN, key=lambda row: (row.model, row.board))
        return store.content()


def refusal(path: Path, is_new: bool = True) -> str:
    with pytest.raises(AidgeError) as caught, opened(path, is_new) as store:
        store.rows()
        store.answers(VALUES)
    assert "\n" not in str(caught.value) and "Hint: " in str(caught.value) and caught.value.exit_code == 2
    return str(caught.value)


def test_the_content_is_that_of_the_rows_whatever_the_order_and_the_interruptions(tmp_path):
    found = set()
    for seed in range(4):
        order = sorted(VALUES)
        random.Random(seed).shuffle(order)
        found.add(filled(tmp_path / f"{seed}.sqlite", order, interrupted_after=seed))
    assert len(found) == 1


def test_one_figure_more_is_another_content(tmp_path):
    contents = set()
    for position in range(len(COLUMNS)):
        name, kind = COLUMNS[position]
        changed = replace(KNOWN[3], **{name: "other" if "TEXT" in kind else 77})
        with opened(tmp_path / f"{name}.sqlite") as store:
            store.begin([*KNOWN[:3], changed])
            contents.add(store.content())
    with opened(tmp_path / "same.sqlite") as store:
        store.begin(KNOWN[:4])
        contents.add(store.content())
    assert len(contents) == len(COLUMNS) + 1


def test_a_new_matrix_replaces_the_points_and_keeps_the_answers(tmp_path):
    filled(tmp_path / "a.sqlite", sorted(VALUES))
    with opened(tmp_path / "a.sqlite") as store:
        store.begin(ROWS[:1])
        assert store.rows() == ROWS[:1] and store.answers(VALUES) == VALUES
        assert store.keep_only(["key0", "key9"]) == 3
        assert store.answers(VALUES) == {"key0": VALUES["key0"]}
        assert store.keep_only(["key0"]) == 0


def test_answers_of_another_file_are_taken_over(tmp_path):
    filled(tmp_path / "a.sqlite", sorted(VALUES))
    with opened(tmp_path / "a.sqlite", is_new=False) as other, opened(tmp_path / "sub" / "b.sqlite") as store:
        store.add(other.answers(["key1", "key3", "unknown"]))
        assert sorted(store.answers(VALUES)) == ["key1", "key3"]


def test_an_answer_that_is_there_is_not_replaced(tmp_path):
    with opened(tmp_path / "a.sqlite") as store:
        store.add({"key": b"first"})
        store.add({"key": b"second"})
        assert store.answers(["key"]) == {"key": b"first"}


def test_a_writer_that_is_killed_in_a_transaction_leaves_what_was_there_before(tmp_path):
    path = tmp_path / "a.sqlite"
    wanted = filled(path, sorted(VALUES))
    child = os.fork()
    if child == 0:  # ends without a word to SQLite, as kill -9 does
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE point SET reason = zeroblob(200000)")
        os._exit(0)
    os.waitpid(child, 0)
    assert path.with_name("a.sqlite-journal").exists()
    with opened(path) as store:
        assert store.content() == wanted


def test_an_empty_file_is_one_that_was_being_made(tmp_path):
    (tmp_path / "a.sqlite").touch()
    assert "is an SQLite file of another program" in refusal(tmp_path / "a.sqlite", is_new=False)
    filled(tmp_path / "a.sqlite", sorted(VALUES))


def test_what_is_no_file_of_a_sweep_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "text").write_text("model,board\n")
    sqlite3.connect(tmp_path / "foreign").execute("CREATE TABLE t (a)")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        ("text", "is no SQLite file"),
        ("foreign", "is an SQLite file of another program"),
        ("folder", "cannot be read"),
        ("pipe", "this is not a regular file"),
    ):
        before = (tmp_path / name).read_bytes() if (tmp_path / name).is_file() else b""
        assert words in refusal(tmp_path / name)
        assert not before or (tmp_path / name).read_bytes() == before
    assert "cannot be read: No such file" in refusal(tmp_path / "none", is_new=False)
    assert "cannot be written" in refusal(tmp_path / "text" / "new.sqlite")


@pytest.mark.requirement("SWEEP")
def test_a_file_of_another_schema_and_one_with_other_tables_is_refused(tmp_path):
    path = tmp_path / "a.sqlite"
    for statement, words in (
        (f"PRAGMA user_version = {SCHEMA + 1}", f"has schema {SCHEMA + 1}, this version reads {SCHEMA}"),
        ("CREATE TRIGGER t AFTER INSERT ON point BEGIN DELETE FROM answer; END", "its tables are not the tables of a sweep"),
        ("DROP TABLE answer", "its tables are not the tables of a sweep"),
    ):
        path.unlink(missing_ok=True)
        filled(path, sorted(VALUES))
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.commit()
        connection.close()
        assert words in refusal(path)


@pytest.mark.requirement("SWEEP")
def test_a_damaged_file_is_refused_wherever_the_damage_is(tmp_path):
    filled(tmp_path / "a.sqlite", sorted(VALUES))
    whole = (tmp_path / "a.sqlite").read_bytes()
    cut = tmp_path / "cut.sqlite"
    for size in (17, 100, 4096, len(whole) - 4096):
        cut.write_bytes(whole[:size])
        refusal(cut)
    place = whole.index(b"value 2")
    cut.write_bytes(whole[:place] + b"Value 2" + whole[place + 7 :])
    assert "is damaged: the answer key2 is not what was written" in refusal(cut)
    noise = random.Random(0)
    for _ in range(40):
        damaged = bytearray(whole)
        begin = noise.randrange(len(whole) - 64)
        damaged[begin : begin + 64] = noise.randbytes(64)
        cut.write_bytes(damaged)
        try:
            with opened(cut) as store:
                store.rows()
                store.answers(VALUES)
        except AidgeError as error:
            assert "\n" not in str(error)
