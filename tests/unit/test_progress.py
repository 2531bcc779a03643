# SPDX-License-Identifier: MIT
"""The line that says where long work is."""

from __future__ import annotations

import sys

from aidge_build.cli.progress import with_progress


def test_kept_output_gets_a_line_for_each_item_and_none_of_it_on_stdout(capsys):
    assert list(with_progress("BENCH", range(10), lambda item: f"model {item}")) == list(range(10))
    kept = capsys.readouterr()
    assert kept.out == "" and kept.err.splitlines()[::9] == ["BENCH   1/10  model 0", "BENCH  10/10  model 9"]


def test_a_terminal_gets_one_line_that_is_written_over_and_goes_away(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    list(with_progress("CASES", ["a", "b"], str))
    assert capsys.readouterr().err == "\033[KCASES  1/2  a\r\033[KCASES  2/2  b\r\033[K"
