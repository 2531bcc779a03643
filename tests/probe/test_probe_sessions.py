# SPDX-License-Identifier: MIT
"""What real servers said once is understood as it was then, and they are asked what they were asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from tests.recorded_session import AT, CODE, DATA, Replaying, converse

SESSIONS = sorted((Path(__file__).parent / "sessions").glob("*.txt"))


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_recorded_session_goes_as_it_went(path):
    seen = converse(Replaying(lines(path)))
    assert seen["stops"] == (AT + 4, AT + 8)
    assert seen["registers"] == (2 * DATA + 4, DATA + 4 + 10, 2 * DATA + 4)
    assert (seen["code"], seen["word"]) == (CODE, DATA)
    assert seen["emulated"] is True


def test_there_is_a_session_to_go_through():
    assert SESSIONS


@pytest.mark.parametrize(
    "wanted, instead, says",
    [
        ("< +$vCont;c;C;s;S#62", "< +$E01#a6", ""),
        ("< +$T05thread:01;#07", "< +$W00#b7", "no halted core"),
        ("< +$T05thread:01;#07", "< +$#00", "no halted core"),
    ],
)
def test_what_a_server_might_have_said_instead(wanted, instead, says):
    found = lines(SESSIONS[0])
    position = found.index(wanted)
    with pytest.raises(
        AidgeError if says else AssertionError, match=says or None
    ):  # without vCont the next question is another one
        converse(Replaying([*found[:position], instead, *found[position + 1 :]]))


def test_an_answer_that_cannot_be_read_is_told():
    found = lines(SESSIONS[0])
    position = next(number for number, line in enumerate(found) if line.startswith("> $m20000204"))
    with pytest.raises(AidgeError, match=r"4 B at 0x20000204 cannot be read \(the server says E14\)"):
        converse(Replaying([*found[: position + 1], "< +$E14#aa", "> +", *found[position + 3 :]]))
