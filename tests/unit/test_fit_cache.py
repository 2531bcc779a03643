# SPDX-License-Identifier: MIT
"""Answers that are kept: found again by content alone, and never believed where they are damaged."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from aidge_build.measure.fit import cache as kept
from aidge_build.measure.fit.cache import Cache, cache_folder, is_lasting, key_of, tool_digest
from aidge_build.measure.fit.evaluation import FITS, IMAGE, INSTRUCTIONS, Evaluation, MemoryUse
from aidge_build.measure.fit.question import Question

KEY = "ab" * 32
ANSWER = Evaluation("m.onnx", "b", FITS, "cortex-m4", memories=(MemoryUse("FLASH", "flash", 5, 9),), image_bytes=5)
QUESTION = Question((("m.onnx", b"model"),), (), "stm32f4")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where answers are kept: below it lies one."""
    monkeypatch.setenv("AIDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "_compiler_versions", lambda prefix, packages: "gcc 1")
    Cache(cache_folder()).keep(KEY, ANSWER)
    return tmp_path / "cache"


def entry(folder: Path) -> Path:
    (path,) = folder.rglob("*.json")
    return path


def test_an_answer_is_found_again_and_no_other(folder):
    assert Cache(folder).find(KEY) == ANSWER
    assert Cache(folder).find("cd" * 32) is None


def test_an_answer_that_lies_under_another_key_is_not_believed(folder):
    path = entry(folder)
    other = path.parent.parent / "cd" / f"{'cd' * 32}.json"
    other.parent.mkdir()
    other.write_bytes(path.read_bytes())
    assert Cache(folder).find("cd" * 32) is None


@pytest.mark.parametrize("position", range(0, 500, 23))
def test_an_entry_with_a_changed_byte_is_not_believed(folder, position):
    path = entry(folder)
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    assert Cache(folder).find(KEY) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"schema": 1, "evaluation": {}}'])
def test_what_is_no_entry_is_no_answer_and_the_next_one_replaces_it(folder, data):
    entry(folder).write_bytes(data)
    assert Cache(folder).find(KEY) is None
    Cache(folder).keep(KEY, ANSWER)
    assert Cache(folder).find(KEY) == ANSWER


def test_an_entry_that_is_whole_and_no_evaluation_is_not_believed(folder):
    made = {"verdict": "fits"}
    entry(folder).write_text(json.dumps({"schema": 1, "evaluation": made, "sha256": kept._sealed(KEY, made)}))
    assert Cache(folder).find(KEY) is None


def test_an_entry_of_another_schema_is_not_believed(folder):
    entry(folder).write_text(entry(folder).read_text().replace('"schema": 1', '"schema": 2'))
    assert Cache(folder).find(KEY) is None


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(folder, tmp_path):
    (tmp_path / "file").write_text("no folder")
    found = Cache(tmp_path / "file")
    found.keep(KEY, ANSWER)
    found.tidy()
    assert found.find(KEY) is None


def test_without_a_folder_nothing_is_kept(monkeypatch):
    monkeypatch.setenv("AIDGE_CACHE", "")
    assert cache_folder() is None
    nowhere = Cache(None)
    nowhere.keep(KEY, ANSWER)
    nowhere.tidy()
    assert nowhere.find(KEY) is None


def test_the_folder_is_that_of_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("AIDGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "aidge-build"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "aidge-build"
    monkeypatch.setenv("AIDGE_CC", "clang")
    assert cache_folder() is None


def test_the_key_says_which_tool_and_which_compiler_answered(folder, monkeypatch):
    key = key_of(QUESTION)
    assert key == key_of(QUESTION) != key_of(replace(QUESTION, board="stm32f7"))
    monkeypatch.setattr(kept, "_compiler_versions", lambda prefix, packages: "gcc 2")
    other = key_of(QUESTION)
    assert other != key
    monkeypatch.setattr(kept, "tool_digest", lambda: "changed")
    assert key_of(QUESTION) not in (key, other)


def test_a_changed_file_of_the_tool_is_another_tool(monkeypatch, tmp_path):
    (tmp_path / "kernel.c").write_text("int a;")
    monkeypatch.setattr(kept, "kernel_folder", lambda: tmp_path)
    tool_digest.cache_clear()
    first = tool_digest()
    (tmp_path / "kernel.c").write_text("int b;")
    tool_digest.cache_clear()
    second = tool_digest()
    (tmp_path / "kernel.c").rename(tmp_path / "other.c")
    tool_digest.cache_clear()
    third = tool_digest()
    tool_digest.cache_clear()
    assert len({first, second, third}) == 3


def test_what_is_unknown_for_want_of_a_tool_is_asked_again_tomorrow():
    assert is_lasting(QUESTION, ANSWER)
    assert not is_lasting(QUESTION, replace(ANSWER, unknown=((IMAGE, "no compiler"),)))
    uncounted = replace(ANSWER, unknown=((INSTRUCTIONS, "not emulated"),))
    assert is_lasting(QUESTION, uncounted) and not is_lasting(replace(QUESTION, measure=True), uncounted)
    predicted = replace(ANSWER, instructions=5, instructions_error=2.0)
    assert is_lasting(QUESTION, predicted) and not is_lasting(replace(QUESTION, measure=True), predicted)
    counted = replace(ANSWER, instructions=5, instructions_error=0.0)
    assert is_lasting(replace(QUESTION, measure=True), counted)


def test_of_very_many_answers_the_older_half_goes(folder, monkeypatch):
    monkeypatch.setattr(kept, "_MOST_ENTRIES", 3)
    keys = [f"{number:02}" * 32 for number in range(4)]
    for age, key in enumerate(keys):
        Cache(folder).keep(key, ANSWER)
        path = folder / "fit" / key[:2] / f"{key}.json"
        os.utime(path, (age, age))
    Cache(folder).tidy()
    assert [Cache(folder).find(key) is not None for key in keys] == [False, False, True, True]
    Cache(folder).tidy()
    assert Cache(folder).find(keys[2]) == ANSWER
