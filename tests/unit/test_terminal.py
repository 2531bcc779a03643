# SPDX-License-Identifier: MIT
"""What a terminal shows, and what is kept of it in a file or a pipe."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import time

import pytest

from aidge_build.base import terminal
from aidge_build.base.errors import MissingTool
from aidge_build.base.terminal import Drawn, fitted, print_error, print_lines, table, with_progress

ROWS = [("board", "a board with a long title"), ("b", "2,048")]


@pytest.fixture
def shown(monkeypatch):
    """A terminal of 20 columns that shows colour."""
    monkeypatch.setattr(terminal, "_is_shown", lambda stream: True)
    for name, value in (("COLUMNS", "20"), ("TERM", "xterm-256color")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_kept_output_gets_a_line_for_each_item_and_none_of_it_on_stdout(capsys):
    assert list(with_progress("BENCH", range(10), lambda item: f"model {item}")) == list(range(10))
    kept = capsys.readouterr()
    assert kept.out == "" and kept.err.splitlines()[::9] == ["BENCH   1/10  model 0", "BENCH  10/10  model 9"]


def test_a_terminal_gets_one_line_that_goes_away(capsys, shown):
    assert list(with_progress("CASES", ["[a]", "b"], str)) == ["[a]", "b"]
    shown = capsys.readouterr().err
    assert "\x1b[2K" in shown and "CASES  2/2  b" in shown.replace("\n", "")


@pytest.mark.parametrize("columns, has_room", [("100", True), ("59", False)])
def test_a_terminal_with_room_shows_how_long_the_rest_takes(capsys, shown, monkeypatch, columns, has_room):
    monkeypatch.setenv("COLUMNS", columns)
    assert list(with_progress("CASES", list("ab"), str)) == list("ab")
    assert ("-:--:--" in capsys.readouterr().err) == has_room  # at the start nobody knows


def test_a_kept_table_has_whole_lines_without_colour_or_padding():
    assert table(ROWS, numbers=(1,)) == ["board  a board with a long title", "b                          2,048"]


def test_a_table_is_as_wide_as_the_terminal(shown):
    assert max(map(len, table(ROWS))) <= 20


@pytest.mark.parametrize("text", ["[bold]x[/bold]", "a\x1b[31mred", ":smile:"])
def test_names_of_a_model_are_neither_markup_nor_control_sequences(text):
    assert table([(text,)]) == [text.replace("\x1b", "\\x1b")]


def test_an_error_is_one_line_whose_first_word_is_red_on_a_terminal_alone(capsys, shown, monkeypatch):
    print_error("aidge-build: a very long reason in [brackets]")
    assert capsys.readouterr().err == "\x1b[1;31maidge-build:\x1b[0m a very long reason in [brackets]\n"
    monkeypatch.setenv("NO_COLOR", "1")
    print_error("aidge-build: x")
    assert "31m" not in capsys.readouterr().err
    monkeypatch.setattr(terminal, "_is_shown", lambda stream: False)
    print_error("aidge-build: x")
    assert capsys.readouterr().err == "aidge-build: x\n"


LINES = [
    "a.elf: arena m   8 B = plan",
    "a.elf: error MEM01: x",
    "a.elf: warning STK02: y",
    "kept: --min-auc 0.9",
    "plain",
    "FAILED: z",
]


def test_the_words_that_decide_are_coloured_on_a_terminal_alone(shown, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    found = terminal.with_verdicts([*LINES, "n\x1b[2J: error MEM01: x"])
    assert found[0] == "a.elf: arena m   8 B \x1b[32m= plan\x1b[0m"
    assert [("\x1b[" in line) for line in found] == [True, True, True, True, False, True, True]
    assert "\\x1b[2J" in found[-1]  # the name's own is escaped
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
        assert terminal.with_verdicts(LINES) == LINES and terminal.emphasized("a") == "a"
        monkeypatch.delenv(name)
    monkeypatch.setattr(terminal, "_is_shown", lambda stream: False)
    assert terminal.with_verdicts(LINES) == LINES


def test_a_terminal_says_how_long_a_silent_command_has_been_at_work_and_takes_it_away(capsys, shown, monkeypatch):
    monkeypatch.setattr(terminal, "_PATIENCE_SECONDS", 0.01)
    with terminal.waited_for("PLAN"):
        for _ in range(500):
            time.sleep(0.002)
            if terminal._waiting._shown:
                break
        terminal.print_notes(["a note"])
        time.sleep(0.02)
    printed = capsys.readouterr().err
    assert printed == "\r\x1b[2KPLAN   0 s\r\x1b[2Ka note\n"


@pytest.mark.parametrize("waiting", [terminal.waited_for, contextlib.nullcontext])
def test_long_work_says_in_a_kept_output_how_far_it_is_however_few_its_parts_are(capsys, monkeypatch, waiting):
    monkeypatch.setattr(terminal, "_KEPT_SECONDS", 0.01)
    with waiting("FIT"), terminal.counting("FIT") as show:
        show("boards", 0, 1)
        for _ in range(500):
            time.sleep(0.002)
            if printed := capsys.readouterr().err:
                break
    assert re.match(r"FIT    0 s, 0/1  boards\n", printed)


def test_a_quick_command_and_a_kept_output_are_not_waited_for(capsys, shown, monkeypatch):
    with terminal.waited_for("PLAN"):
        pass
    monkeypatch.setattr(terminal, "_is_shown", lambda stream: False)
    monkeypatch.setattr(terminal, "_PATIENCE_SECONDS", 0.0)
    with terminal.waited_for("PLAN"):
        time.sleep(0.01)
    assert capsys.readouterr().err == ""


def test_lines_for_people_are_broken_at_words_where_columns_are_known(monkeypatch):
    line = "  a long line of words, and one/very/long/path/that/stays/whole with a\rcarriage return"
    monkeypatch.delenv("COLUMNS", raising=False)
    assert fitted([line, "b"]) == [line, "b"]
    monkeypatch.setenv("COLUMNS", "24")
    assert fitted([line, Drawn("x" * 30)]) == [
        "  a long line of words,",
        "      and",
        "      one/very/long/path/that/stays/whole",
        "      with a\\rcarriage",
        "      return",
        "x" * 30,
    ]


@pytest.mark.requirement("OUTPUT")
def test_an_output_that_cannot_be_written_is_an_error_and_a_reader_who_left_is_none(monkeypatch):
    def full(stream, lines):
        raise OSError(errno.ENOSPC, "No space left on device")

    def gone(stream, lines):
        raise BrokenPipeError

    with monkeypatch.context() as patch:  # pytest itself duplicates the streams between the steps of a test
        patch.setattr(terminal.os, "dup2", lambda old, new: os.close(old))
        patch.setattr(terminal, "_write", full)
        with pytest.raises(MissingTool, match="the output: cannot be written: No space left on device"):
            print_lines(["a line"])
        patch.setattr(terminal, "_write", gone)
        print_lines(["a line"])
