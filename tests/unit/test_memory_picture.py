# SPDX-License-Identifier: MIT
"""The picture of the arena in a terminal."""

from __future__ import annotations

from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.picture import render_text
from aidge_build.plan.memory.planner import plan


def test_the_picture_shows_who_owns_which_address_when():
    found = plan([Buffer("in", 4, 1, 0, 2, "io"), Buffer("mid", 2, 1, 1, 3), Buffer("out", 4, 1, 2, 4, "io")])
    assert (
        render_text(found, steps=4)
        == """\
5 |·bb·|
4 |·bb·|
3 |aacc|
2 |aacc|
1 |aacc|
0 |aacc|
    ^
peak: step 1, 6 B
  b  mid  2 B at 4  steps [1, 3)  activation
  a  in  4 B at 0  steps [0, 2)  io
"""
    )


def test_many_steps_and_buffers_fit_the_width():
    found = plan([Buffer(f"b{i}", 100 + i, 4, i, i + 3) for i in range(500)])
    text = render_text(found, steps=503, width=60)
    assert max(map(len, text.splitlines())) <= 60
    assert len(text.splitlines()) < 30


def test_a_name_cannot_write_to_the_terminal():
    found = plan([Buffer("\x1b[31m\n" + "x" * 500, 4, 1, 0, 1), Buffer("y" * 40, 4, 1, 0, 1), Buffer("z" * 41, 4, 1, 0, 1)])
    text = render_text(found, steps=1)
    assert "\x1b" not in text and "\\x1b[31m\\nxxx" in text
    assert f" {'y' * 40} " in text and f" {'z' * 37}... " in text
    assert max(map(len, text.splitlines())) < 100


def test_an_empty_plan_has_a_picture():
    assert render_text(plan([]), steps=0) == "the arena is empty\n"
